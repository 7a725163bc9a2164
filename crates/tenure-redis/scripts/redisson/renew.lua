-- renew: makes many shares of read-write locks last; a lease is only ever made longer.
-- keys: for each the lock, what our claims are, what readers' keys begin with, and its side: who is in, by when their
--       leases end
-- args: for each its claim, then one lease in ms for all, or one for each
-- reply: the positions, counted from 1, of those that do not hold any more
local n = #KEYS / 4
local gone = {}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i = 1, n do
  local lock, shares, prefix, side = unpack(KEYS, 4 * i - 3, 4 * i)
  local claim = ARGV[i]
  local value, last = redis.call('HGET', shares, claim), redis.call('ZSCORE', side, claim)
  local field = value and string.find(value, '^write') and claim .. ':write' or claim
  local held = redis.pcall('HEXISTS', lock, field)
  if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then
    return held
  end
  if held == 1 and value and last and tonumber(last) > now then
    local ends = now + (ARGV[n + i] or ARGV[n + 1]) * 1000
    redis.call('ZADD', side, 'GT', ends, claim)
    local at = string.format('%d', math.ceil(ends / 1000))
    for _, key in ipairs({lock, shares, side, prefix .. ':' .. claim .. ':rwlock_timeout:1'}) do
      redis.call('PEXPIREAT', key, at, 'GT')
    end
  else
    gone[#gone + 1] = i
  end
end
return gone
