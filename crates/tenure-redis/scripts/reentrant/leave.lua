-- leave: a claim leaves once and stays in; the lease is only ever made longer.
-- keys: 1 the lock, 2 (if an entry is cancelled) the entry's tombstone
-- args: 1 claim, 2 how often it is then in, 3 which of its changes of count this is, 4 lease in ms,
--       5 (if an entry is cancelled) how long to remember that, in ms
-- reply: how often the claim is in; 0 if it does not hold
if ARGV[5] and redis.call('PTTL', KEYS[2]) < tonumber(ARGV[5]) then
  redis.call('SET', KEYS[2], '', 'PX', ARGV[5])
end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
-- a later change may have arrived first
if tonumber(ARGV[3]) >= tonumber(redis.call('HGET', KEYS[1], 'change') or 0) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2], 'change', ARGV[3])
end
redis.call('PEXPIRE', KEYS[1], ARGV[4], 'GT')
return tonumber(redis.call('HGET', KEYS[1], ARGV[1]))
