-- note: remembers that an entry was given up, when its claim has left: whatever it had been granted is free by now, and a
--       script that has written may write on when memory is full.
-- keys: the last (if an entry is cancelled) the entry's tombstone
-- args: 4 (if an entry is cancelled) how long to remember that, in ms
-- before: `reply`, how the claim left
-- reply: that; an error if the note could not be written, so that it is tried again
if ARGV[4] and redis.call('PTTL', KEYS[#KEYS]) < tonumber(ARGV[4]) then
  local noted = redis.pcall('SET', KEYS[#KEYS], '', 'PX', ARGV[4])
  if noted.err then
    return noted
  end
end
return reply
