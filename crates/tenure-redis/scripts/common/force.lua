-- force: frees a lock whoever holds it, and tells those who wait and those who held it.
-- keys: as sight.lua
-- args: 1 what a client's own channel begins with
-- reply: as sight.lua, of before
local claims = {}
if kind == 'string' then
  if string.find(value, '^%-?%d+$') and #value < 12 then
    -- a count: who has some of it is told elsewhere
    return sight
  end
  local held = string.sub(value, -5) == ' line' and string.sub(value, 1, -6) or value
  local client, number = string.match(held, '^([%x-]+):(%d+%^?) %d+$')
  if not client or #client ~= 36 or #value >= 128 then
    return redis.error_reply('NOTALOCK the key holds a string that is no lock of this library: look what it is first')
  end
  claims[1] = {client, client .. ':' .. number}
elseif kind == 'hash' then
  local marks = {fence = true, line = true, change = true, nested = true, fair = true, fenced = true}
  for i = 1, #value, 2 do
    local name, entry = value[i], value[i + 1]
    local client = string.match(name, '^([%x-]+):.')
    local shape = string.sub(name, -1) == '^' and '^%d+ %d+ %d+$' or '^%d+$'
    if mode then
      shape = mode == 'tenure' and '^%l+ %d+ %d+ %d+ %d+$' or '^%d+$'
    end
    if client and #client == 36 and string.find(entry, shape) then
      -- Redisson marks those who write
      claims[#claims + 1] = {client, (string.gsub(name, ':write$', ''))}
    elseif not (mode and name == 'mode') and not (marks[name] and string.find(entry, '^%d+$')) then
      return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
    end
  end
  if #claims == 0 then
    return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
  end
end
if #claims > 0 then
  redis.call('DEL', KEYS[1], KEYS[7], KEYS[8], KEYS[13])
  -- the lock is free by now, and an error would say that it is not: whoever cannot be told looks by itself
  for i = 1, #claims do
    redis.pcall('PUBLISH', ARGV[1] .. claims[i][1], 'forced ' .. claims[i][2])
  end
  if mode and mode ~= 'tenure' then
    -- what tells how long readers' leases last
    local prefix = string.find(KEYS[1], '{', 1, true) and KEYS[1] or '{' .. KEYS[1] .. '}'
    for i = 1, #value, 2 do
      for lease = 1, math.min(tonumber(value[i + 1]) or 0, 1000) do
        redis.pcall('DEL', prefix .. ':' .. value[i] .. ':rwlock_timeout:' .. lease)
      end
    end
  end
  if mode then
    -- all who read, and the first to write; the lock itself knows whose turn it is
    for i = 1, #line, 3 do
      if line[i + 1] == 'write' then
        redis.pcall('PUBLISH', ARGV[1] .. string.match(line[i], '^[^:]*'), 'call ' .. line[i])
        break
      end
    end
    redis.pcall('PUBLISH', KEYS[6], '1')
  else
    if shared[1] then
      if line[1] then
        redis.pcall('PUBLISH', KEYS[2] .. ':' .. line[1], '0')
      end
    elseif fair and line[1] then
      redis.pcall('PUBLISH', ARGV[1] .. string.match(line[1], '^[^:]*'), 'call ' .. line[1])
    elseif not fair then
      local first = redis.pcall('ZPOPMIN', KEYS[3])
      if first[1] then
        redis.pcall('PUBLISH', ARGV[1] .. first[1], 'turn ' .. KEYS[1])
      end
    end
    redis.pcall('PUBLISH', KEYS[2], '0')
  end
end
return sight
