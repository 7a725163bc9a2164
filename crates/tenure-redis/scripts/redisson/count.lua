-- count: sets how often a claim that holds is in; its lease is only ever made longer.
-- keys: 1 the lock; the last three what our claims are, what readers' keys begin with, and its side: who is in, by when
--       their leases end
-- args: as rw/count.lua
-- reply: {token as text, how often the claim is in}; 0 if it does not hold
local shares, prefix, side = KEYS[#KEYS - 2], KEYS[#KEYS - 1], KEYS[#KEYS]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local held, last = redis.call('HGET', shares, ARGV[1]), redis.call('ZSCORE', side, ARGV[1])
if not held or not last or tonumber(last) <= now then
  return 0
end
local kind, token, since, count, change = string.match(held, '^(%S+) (%d+) (%d+) (%d+) (%d+)$')
local field = kind == 'write' and ARGV[1] .. ':write' or ARGV[1]
if redis.call('HEXISTS', KEYS[1], field) == 0 then
  return 0
end
-- a later change may have arrived first
if tonumber(ARGV[3]) >= tonumber(change) then
  count = ARGV[2]
  redis.call('HSET', shares, ARGV[1], table.concat({kind, token, since, count, ARGV[3]}, ' '))
  redis.call('HSET', KEYS[1], field, count)
end
local ends = now + ARGV[4] * 1000
redis.call('ZADD', side, 'GT', ends, ARGV[1])
local at = string.format('%d', math.ceil(ends / 1000))
for _, key in ipairs({KEYS[1], shares, side, prefix .. ':' .. ARGV[1] .. ':rwlock_timeout:1'}) do
  redis.call('PEXPIREAT', key, at, 'GT')
end
return {token, count}
