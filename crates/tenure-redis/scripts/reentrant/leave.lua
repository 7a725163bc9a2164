-- leave: a claim leaves once and stays in; the lease is only ever made longer.
-- keys: 1 the lock, 2 (if an entry is cancelled) the entry's tombstone
-- args: 1 claim, 2 how often it is then in, 3 lease in ms, 4 (if an entry is cancelled) how long to remember that, in ms
-- reply: how often the claim is in; 0 if it does not hold
if ARGV[4] then
  redis.call('SET', KEYS[2], '', 'PX', ARGV[4])
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return tonumber(ARGV[2])
