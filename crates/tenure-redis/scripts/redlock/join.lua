-- join: puts a claim that holds on a majority into a re-entrant lock that is free here, as after a restart.
-- keys: 1 the lock, 2 the store's watermark, 3 the claim's tombstone
-- args: 1 claim, 2 token, 3 lease in ms, 4 how often it is in, 5 which of its changes of count that was
-- reply: 0 if somebody holds it, or the claim has left; otherwise as raise.lua, which follows
if redis.call('EXISTS', KEYS[1], KEYS[3]) ~= 0 then
  return 0
end
local token = tonumber(ARGV[2])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4], 'fence', ARGV[2], 'change', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
