-- reenter: a claim that holds goes in once more; the lease is only ever made longer.
-- keys: 1 the lock, 2 the entry's tombstone
-- args: 1 claim, 2 how often it is then in, 3 which of its changes of count this is, 4 lease in ms
-- reply: {token as text, how often the claim is in} if granted; -1 if the entry was cancelled; 0 if the claim does not hold
if redis.call('EXISTS', KEYS[2]) == 1 then
  return -1
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
-- a later change may have arrived first
if tonumber(ARGV[3]) >= tonumber(redis.call('HGET', KEYS[1], 'change') or 0) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], 'change', ARGV[3])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4], 'GT')
return redis.call('HMGET', KEYS[1], 'fence', ARGV[1])
