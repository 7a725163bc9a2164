-- renew: makes many permits last; what they end by is only ever made longer.
-- keys: for each how many are to be had, the names of those that are taken, and which of them are ours, as look.lua has them
-- args: for each its name, then one lease in ms for all, or one for each
-- reply: the positions, counted from 1, of those that are not taken any more
local n = #KEYS / 3
local gone = {}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i = 1, n do
  local names, own, id = KEYS[3 * i - 1], KEYS[3 * i], ARGV[i]
  local told, last = redis.pcall('ZSCORE', names, id), redis.pcall('ZSCORE', own, id)
  for _, failed in ipairs({told or '', last or ''}) do
    if type(failed) == 'table' and not string.find(failed.err, 'WRONGTYPE', 1, true) then
      return failed
    end
  end
  local is_taken = type(told) == 'string' and type(last) ~= 'table' and redis.call('EXISTS', KEYS[3 * i - 2]) == 1
  -- of ours by the server's clock, unless another library made it last longer; of its own a second later than it says
  if is_taken and last and tonumber(told) <= math.ceil(last / 1000) + 1000 then
    is_taken = tonumber(last) > now
  elseif is_taken then
    is_taken = told + 1000 > now / 1000
  end
  if is_taken then
    local ends = now + (ARGV[n + i] or ARGV[n + 1]) * 1000
    if last then
      redis.call('ZADD', own, 'GT', ends, id)
    end
    redis.call('ZADD', names, 'GT', math.ceil(ends / 1000) + 1000, id)
  else
    gone[#gone + 1] = i
  end
end
return gone
