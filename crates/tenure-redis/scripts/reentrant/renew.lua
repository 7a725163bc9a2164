-- renew: makes many holds last; a lease is only ever made longer.
-- keys: the locks
-- args: for each lock its claim, then one lease in ms for all, or one for each
-- reply: the positions, counted from 1, of those that do not hold any more
local call, pcall, n = redis.call, redis.pcall, #KEYS
local first = ARGV[n + 1]
local gone = {}
for i = 1, n do
  local held = pcall('HEXISTS', KEYS[i], ARGV[i])
  if held == 1 then
    call('PEXPIRE', KEYS[i], ARGV[n + i] or first, 'GT')
  elseif held == 0 or string.find(held.err, 'WRONGTYPE', 1, true) then
    gone[#gone + 1] = i
  else
    return held
  end
end
return gone
