-- release: a claim leaves for good, and everyone who waits is told.
-- keys: 1 the lock, 2 its channel, 3 (if an entry is cancelled) the entry's tombstone
-- args: 1 claim, 2 (if an entry is cancelled) how long to remember that, in ms
-- reply: 1 if released; 0 if the claim does not hold
if ARGV[2] then
  redis.call('SET', KEYS[3], '', 'PX', ARGV[2])
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '0')
return 1
