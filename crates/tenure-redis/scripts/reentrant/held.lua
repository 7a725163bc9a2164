-- held: what is in a lock that is not free; asked again, a claim that holds hears the same again.
-- keys, args: as acquire.lua
-- before: short.lua
-- after: `fields`, all that is in the hash, and its `fence`
-- reply: {token as text, count} if the claim holds already; otherwise as holder.lua, which follows after stand.lua
local fence, entered, mark
local fields = fields_of(KEYS[1])
if not fields then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock')
end
for i = 1, #fields, 2 do
  if fields[i] == 'fence' then
    fence = fields[i + 1]
  elseif fields[i] == ARGV[1] then
    entered = fields[i + 1]
  end
end
if entered then
  redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  return {fence, entered}
end
