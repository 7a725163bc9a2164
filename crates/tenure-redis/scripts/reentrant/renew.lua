-- renew: makes many holds last; a lease is only ever made longer.
-- keys: the locks
-- args: for each lock its claim and its lease in ms
-- reply: the positions, counted from 1, of those that do not hold any more
local gone = {}
for i = 1, #KEYS do
  local held = redis.pcall('HEXISTS', KEYS[i], ARGV[2 * i - 1])
  if held == 1 then
    redis.call('PEXPIRE', KEYS[i], ARGV[2 * i], 'GT')
  elseif held == 0 or string.find(held.err, 'WRONGTYPE', 1, true) then
    gone[#gone + 1] = i
  else
    return held
  end
end
return gone
