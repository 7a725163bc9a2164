-- rest: a claim leaves a lock that others, above it or under it, may be in.
-- keys, args: as reentrant/release.lua
-- before: `reply`, if it has left already
-- reply: 1 if the lock is free; 2 if others are still in; 3 if it stays taken for as long as was asked; tell.lua and
--        note.lua follow
-- after: `line`, as reentrant/release.lua
if not reply then
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  -- what is larger was made so by others, and is theirs
  local size = redis.call('HLEN', KEYS[1])
  local bytes = size <= 128 and redis.pcall('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 0)
  local larger = size > 128 or (type(bytes) == 'number' and bytes > 4096 + 512 * size)
  local fields = larger and {} or redis.call('HGETALL', KEYS[1])
  -- how long the lock must last for those who are still in; 'ever' for as long as it does
  local need, own = larger and 'ever' or 0, '1 0'
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if name == ARGV[1] then
      own = string.match(value, '^%d+ %d+') or own
    elseif string.find(name, ':', 1, true) then
      if string.sub(name, -1) ~= '^' then
        need = 'ever'
      elseif need ~= 'ever' then
        need = math.max(need, tonumber(string.match(value, '%d+$')) - now)
      end
    end
  end
  if need == 0 and ARGV[3] ~= '' then
    if string.sub(ARGV[1], -1) == '^' then
      redis.call('HSET', KEYS[1], ARGV[1], own .. string.format(' %d', now + ARGV[3] * 1000))
    end
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    redis.pcall('PUBLISH', KEYS[2], '0')
    reply = 3
  else
    if need ~= 0 then
      redis.call('HDEL', KEYS[1], ARGV[1])
      if need ~= 'ever' then
        -- nobody is left whose renewals speak for all
        redis.call('PEXPIRE', KEYS[1], math.ceil(need / 1000))
      end
    else
      redis.call('DEL', KEYS[1])
    end
    -- those who wait for a claim beside theirs to go are told too
    reply, line = need == 0 and 1 or 2, true
  end
end
