-- acquire: takes a lock that token.lua, which comes before, found free; asked again, says the same again.
-- keys, args: as reentrant/acquire.lua
-- reply: token if granted now (a number, exact below 2^53); {token as text, count} if the claim holds already;
--        0 if it was cancelled; otherwise as holder.lua, which follows
if token then
  redis.call('SET', KEYS[1], ARGV[1] .. string.format(line and ' %d line' or ' %d', token), 'PX', ARGV[2])
  return token
end
if refused then
  return 0
end
local value = redis.call('GETRANGE', KEYS[1], 0, 255)
local mine = ARGV[1] .. ' '
if string.sub(value, 1, #mine) == mine then
  redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  return {string.match(value, '%d+', #mine), '1'}
end
-- only behind a lock of ours: another library's value is its own affair, and its release calls nobody
local marked = string.sub(value, -5) == ' line'
local held = marked and string.sub(value, 1, -6) or value
local stands = ARGV[4] ~= '' and #value < 128 and string.find(held, ':', 1, true) == 37
  and string.find(held, '^[%x-]+:%d+%^? %d+$')
if stands and not marked then
  redis.call('SET', KEYS[1], value .. ' line', 'KEEPTTL')
end
