-- force: gives all permits back whoever has them, and tells those who wait and those who had them. Java's permits of a
--        semaphore have no owner, and stay. Of many who had some, all are told by forced.lua.
-- keys, args: as sight.lua, which comes before, after put_out.lua
-- reply: as sight.lua, of before; then 'claims' if those who had permits are still to be told, or ''
local back, forced = 0, {}
sight[8] = ''
if what == 'semaphore' then
  local known, lasts = redis.call('HMGET', KEYS[3], 'taken', 'total'), redis.call('PTTL', KEYS[3])
  local size = redis.call('HLEN', KEYS[3])
  if size > (known[1] and 1 or 0) + (known[2] and 1 or 0) then
    back = tonumber(known[1]) or 0
    if size > most + 2 then
      sight[8] = 'claims'
      redis.call('UNLINK', KEYS[10])
      redis.call('RENAME', KEYS[3], KEYS[10])
      redis.call('PEXPIRE', KEYS[10], 60000)
    else
      forced = redis.call('HGETALL', KEYS[3])
      redis.call('UNLINK', KEYS[3])
    end
    if known[2] then
      redis.call('HSET', KEYS[3], 'total', known[2], 'taken', '0')
      if lasts > 0 then
        redis.call('PEXPIRE', KEYS[3], lasts)
      end
    end
  end
elseif what == 'permits' then
  back = redis.call('ZCARD', KEYS[8])
  redis.call('UNLINK', KEYS[8])
end
if back > 0 then
  redis.call('UNLINK', KEYS[4])
  local left = redis.call('INCRBY', KEYS[1], string.format('%d', back))
  -- they are back by now, and an error would say that they are not: whoever cannot be told looks by itself
  put_out(ARGV[1], nil, forced)
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
