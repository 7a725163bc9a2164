-- renew: makes many simple locks last; a lease is only ever made longer.
-- keys, args, reply: as reentrant/renew.lua
local n = #KEYS
local gone = {}
for i = 1, n do
  local value, mine = redis.pcall('GETRANGE', KEYS[i], 0, 255), ARGV[i] .. ' '
  if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then
    return value
  end
  if type(value) == 'string' and string.sub(value, 1, #mine) == mine then
    redis.call('PEXPIRE', KEYS[i], ARGV[n + i] or ARGV[n + 1], 'GT')
  else
    gone[#gone + 1] = i
  end
end
return gone
