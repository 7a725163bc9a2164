-- reenter: a claim that holds goes in once more; the lease is only ever made longer.
-- keys: 1 the lock, 2 the entry's tombstone
-- args: 1 claim, 2 how often it is then in, 3 lease in ms
-- reply: token as text if granted; -1 if the entry was cancelled; 0 if the claim does not hold
if redis.call('EXISTS', KEYS[2]) == 1 then
  return -1
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return redis.call('HGET', KEYS[1], 'fence')
