-- renew: makes many shares of read-write locks last; a lease is only ever made longer.
-- keys: for each the lock and its side: who is in, by when their leases end
-- args: for each its claim, then one lease in ms for all, or one for each
-- reply: the positions, counted from 1, of those that do not hold any more
local n = #KEYS / 2
local gone = {}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i = 1, n do
  local lock, side, claim = KEYS[2 * i - 1], KEYS[2 * i], ARGV[i]
  local held = redis.pcall('HEXISTS', lock, claim)
  if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then
    return held
  end
  local last = held == 1 and redis.call('ZSCORE', side, claim)
  if last and tonumber(last) > now then
    local ends = now + (ARGV[n + i] or ARGV[n + 1]) * 1000
    redis.call('ZADD', side, 'GT', ends, claim)
    local at = string.format('%d', math.ceil(ends / 1000))
    redis.call('PEXPIREAT', lock, at, 'GT')
    redis.call('PEXPIREAT', side, at, 'GT')
  else
    gone[#gone + 1] = i
  end
end
return gone
