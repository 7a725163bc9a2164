-- count: sets how often a claim that holds is in; its lease is only ever made longer.
-- keys: 1 the lock, the last its side: who is in, by when their leases end
-- args: 1 claim, 2 how often it is then in, 3 which of its changes of count this is, 4 lease in ms
-- reply: {token as text, how often the claim is in}; 0 if it does not hold
local side = KEYS[#KEYS]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local held, last = redis.call('HGET', KEYS[1], ARGV[1]), redis.call('ZSCORE', side, ARGV[1])
if not held or not last or tonumber(last) <= now then
  return 0
end
local kind, token, since, count, change = string.match(held, '^(%S+) (%d+) (%d+) (%d+) (%d+)$')
-- a later change may have arrived first
if tonumber(ARGV[3]) >= tonumber(change) then
  count = ARGV[2]
  redis.call('HSET', KEYS[1], ARGV[1], table.concat({kind, token, since, count, ARGV[3]}, ' '))
end
local ends = now + ARGV[4] * 1000
redis.call('ZADD', side, 'GT', ends, ARGV[1])
for _, key in ipairs({KEYS[1], side}) do
  redis.call('PEXPIREAT', key, string.format('%d', math.ceil(ends / 1000)), 'GT')
end
return {token, count}
