-- renew: makes many holds of claims that stand under others last; a lease is only ever made longer.
-- keys, args, reply: as reentrant/renew.lua
local n = #KEYS
local gone = {}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i = 1, n do
  local lease = ARGV[n + i] or ARGV[n + 1]
  local held = redis.pcall('HGET', KEYS[i], ARGV[i])
  if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then
    return held
  end
  local entered, ends = string.match(type(held) == 'string' and held or '', '^(%d+ %d+) (%d+)$')
  if entered and tonumber(ends) > now then
    ends = math.max(tonumber(ends), now + lease * 1000)
    redis.call('HSET', KEYS[i], ARGV[i], entered .. ' ' .. string.format('%d', ends))
    redis.call('PEXPIRE', KEYS[i], lease, 'GT')
  else
    gone[#gone + 1] = i
  end
end
return gone
