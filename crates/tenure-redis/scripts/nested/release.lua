-- release: a claim that stands under others leaves for good.
-- keys, args: as reentrant/release.lua
-- reply: 0 if the claim does not hold; otherwise as rest.lua, which follows; note.lua comes last
local reply, line
local held = redis.pcall('HGET', KEYS[1], ARGV[1])
if type(held) == 'table' then
  -- what was given up is noted also if the key is in use for something else by now
  reply = held
elseif not held then
  reply = 0
else
  local time = redis.call('TIME')
  if tonumber(string.match(held, '%d+$')) <= time[1] * 1000000 + time[2] then
    redis.call('HDEL', KEYS[1], ARGV[1])
    reply = 0
  end
end
