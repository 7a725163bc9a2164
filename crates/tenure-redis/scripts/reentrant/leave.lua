-- leave: a claim leaves once and stays in.
-- keys: 1 the lock, 2 (if an entry is cancelled) the entry's tombstone
-- args: 1 to 4 as count.lua, 5 (if an entry is cancelled) how long to remember that, in ms
-- reply: as count.lua, which follows
if ARGV[5] and redis.call('PTTL', KEYS[2]) < tonumber(ARGV[5]) then
  redis.call('SET', KEYS[2], '', 'PX', ARGV[5])
end
