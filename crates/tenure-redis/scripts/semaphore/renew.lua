-- renew: makes the leases of many claims on semaphores last; a lease is only ever made longer.
-- keys: for each how many permits are to be had, and the claims by when their leases end
-- args: for each its claim, then one lease in ms for all, or one for each
-- reply: the positions, counted from 1, of those that have no permits any more
local n = #KEYS / 2
local gone = {}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i = 1, n do
  local ends, claim = KEYS[2 * i], ARGV[i]
  local last = redis.pcall('ZSCORE', ends, claim)
  if type(last) == 'table' and not string.find(last.err, 'WRONGTYPE', 1, true) then
    return last
  end
  -- without a count, what is beside it is void
  if type(last) == 'string' and tonumber(last) > now and redis.call('EXISTS', KEYS[2 * i - 1]) == 1 then
    redis.call('ZADD', ends, 'GT', now + (ARGV[n + i] or ARGV[n + 1]) * 1000, claim)
  else
    gone[#gone + 1] = i
  end
end
return gone
