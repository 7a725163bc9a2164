-- release: a claim leaves for good; the client that has waited longest is called, and everyone who waits is told.
-- keys: 1 the lock, 2 its channel, 3 the line of clients that wait, 4 (if an entry is cancelled) the entry's tombstone
-- args: 1 claim, 2 what a client's own channel begins with, 3 how long the lock stays taken all the same, in ms, or '',
--       4 (if an entry is cancelled) how long to remember that, in ms
-- reply: 1 if released; 0 if the claim does not hold; 3 if it stays taken for as long as was asked; otherwise as
--        rest.lua, which follows for a lock with claims under its holder's; note.lua comes last
local reply
local held = redis.pcall('HMGET', KEYS[1], ARGV[1], 'line', 'nested')
if not held[1] then
  -- what was given up is noted also if the key is in use for something else by now
  reply = held.err and held or 0
elseif not held[3] then
  if ARGV[3] ~= '' then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    reply = 3
  else
    redis.call('DEL', KEYS[1])
    -- the lock is free by now, and an error would say that it is not: whoever cannot be told looks by itself
    if held[2] then
      local first = redis.pcall('ZPOPMIN', KEYS[3])
      if first[1] then
        redis.pcall('PUBLISH', ARGV[2] .. first[1], 'turn ' .. KEYS[1])
      end
    end
    redis.pcall('PUBLISH', KEYS[2], '0')
    reply = 1
  end
end
