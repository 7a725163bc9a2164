-- count: sets how often a claim that stands under others is in; its lease is only ever made longer.
-- keys, args: as reentrant/count.lua
-- reply: {token as text, how often the claim is in}; 0 if it does not hold
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local count, change, ends = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%d+) (%d+) (%d+)$')
if not count or tonumber(ends) <= now then
  return 0
end
-- a later change may have arrived first
if tonumber(ARGV[3]) >= tonumber(change) then
  count, change = ARGV[2], ARGV[3]
end
ends = math.max(tonumber(ends), now + ARGV[4] * 1000)
redis.call('HSET', KEYS[1], ARGV[1], count .. ' ' .. change .. ' ' .. string.format('%d', ends))
redis.call('PEXPIRE', KEYS[1], ARGV[4], 'GT')
return {redis.call('HGET', KEYS[1], 'fence'), count}
