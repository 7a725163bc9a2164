-- stamp: gives a claim that holds a re-entrant lock the token that a majority agreed on.
-- keys: 1 the lock, 2 the store's watermark
-- args: 1 claim, 2 token, 3 'late' if a majority has it already, and this one is only to say the same
-- reply: 0 if the claim does not hold, or was granted later than the token was counted; otherwise as raise.lua, which follows
local token = tonumber(ARGV[2])
local fence = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 and (redis.call('HGET', KEYS[1], 'fence') or 0)
-- a grant's own token is above all that this server has seen of the key, so that one below it comes too late
if not fence or (tonumber(fence) > token and ARGV[3] ~= 'late') then
  return 0
end
redis.call('HSET', KEYS[1], 'fence', ARGV[2])
