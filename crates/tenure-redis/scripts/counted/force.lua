-- force: gives all permits back whoever has them, and tells those who wait and those who had them. Java's permits of a
--        semaphore have no owner, and stay.
-- keys: as sight.lua
-- args: 1 what a client's own channel begins with
-- reply: as sight.lua, of before
local back, forced = 0, {}
if what == 'semaphore' then
  for i = 1, #held, 2 do
    local permits = string.match(held[i + 1], '^(%d+) %d+ %d+$')
    if permits then
      back = back + permits
      forced[#forced + 1] = held[i]
      redis.call('HDEL', KEYS[3], held[i])
    end
  end
  if forced[1] then
    redis.call('HSET', KEYS[3], 'taken', '0')
    if redis.call('HEXISTS', KEYS[3], 'total') == 0 then
      redis.call('DEL', KEYS[3])
    end
  end
elseif what == 'permits' then
  back = #held / 2
  redis.call('DEL', KEYS[8])
end
if back > 0 or forced[1] then
  redis.call('DEL', KEYS[4])
  local left = redis.call('INCRBY', KEYS[1], string.format('%d', back))
  -- they are back by now, and an error would say that they are not: whoever cannot be told looks by itself
  for i = 1, #forced do
    redis.pcall('PUBLISH', ARGV[1] .. string.match(forced[i], '^[^:]*'), 'forced ' .. forced[i])
  end
  if left > 0 then
    redis.pcall('PUBLISH', KEYS[2], string.format('%d', left))
  end
  for i = 1, #line, 3 do
    local wants = redis.pcall('HGET', KEYS[7], line[i])
    left = left - (tonumber(string.match(type(wants) == 'string' and wants or '', '%d+')) or 1)
    if left < 0 then
      break
    end
    redis.pcall('PUBLISH', ARGV[1] .. string.match(line[i], '^[^:]*'), 'call ' .. line[i])
  end
end
return sight
