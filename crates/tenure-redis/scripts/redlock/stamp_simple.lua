-- stamp: gives a claim that holds a simple lock the token that a majority agreed on.
-- keys, args, reply: as stamp.lua
local value, mine = redis.call('GETRANGE', KEYS[1], 0, 255), ARGV[1] .. ' '
local token = tonumber(ARGV[2])
if string.sub(value, 1, #mine) ~= mine then
  return 0
end
if tonumber(string.match(value, '%d+', #mine) or 0) > token and ARGV[3] ~= 'late' then
  return 0
end
redis.call('SET', KEYS[1], mine .. ARGV[2], 'KEEPTTL')
