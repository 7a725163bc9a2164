-- count: sets how often a claim that holds is in; the lease is only ever made longer.
-- keys: 1 the lock
-- args: 1 claim, 2 how often it is then in, 3 which of its changes of count this is, 4 lease in ms
-- reply: {token as text, how often the claim is in}; 0 if it does not hold
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
-- a later change may have arrived first
if tonumber(ARGV[3]) >= tonumber(redis.call('HGET', KEYS[1], 'change') or 0) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], 'change', ARGV[3])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4], 'GT')
return redis.call('HMGET', KEYS[1], 'fence', ARGV[1])
