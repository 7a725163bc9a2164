-- release: a claim that stands under others leaves for good.
-- keys, args: as reentrant/release.lua
-- reply: 0 if the claim does not hold; otherwise as rest.lua, which follows
if ARGV[4] and redis.call('PTTL', KEYS[4]) < tonumber(ARGV[4]) then
  redis.call('SET', KEYS[4], '', 'PX', ARGV[4])
end
local held = redis.call('HGET', KEYS[1], ARGV[1])
if not held then
  return 0
end
do
  local time = redis.call('TIME')
  if tonumber(string.match(held, '%d+$')) <= time[1] * 1000000 + time[2] then
    redis.call('HDEL', KEYS[1], ARGV[1])
    return 0
  end
end
