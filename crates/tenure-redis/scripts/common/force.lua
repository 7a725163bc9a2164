-- force: frees a lock whoever holds it, and tells those who wait and those who held it.
-- keys: 1 the lock, 2 its channel, 3 the line of clients that wait
-- args: 1 what a client's own channel begins with
-- reply: as sight.lua, of before
local claims = {}
if kind == 'string' then
  local held = string.sub(value, -5) == ' line' and string.sub(value, 1, -6) or value
  local client, number = string.match(held, '^([%x-]+):(%d+%^?) %d+$')
  if not client or #client ~= 36 or #value >= 128 then
    return redis.error_reply('NOTALOCK the key holds a string that is no lock of this library: look what it is first')
  end
  claims[1] = {client, client .. ':' .. number}
elseif kind == 'hash' then
  for i = 1, #value, 2 do
    local name = value[i]
    local client = string.match(name, '^([%x-]+):.')
    if client and #client == 36
      and string.find(value[i + 1], string.sub(name, -1) == '^' and '^%d+ %d+ %d+$' or '^%d+$') then
      claims[#claims + 1] = {client, name}
    elseif not (name == 'fence' or name == 'line' or name == 'change' or name == 'nested')
      or not string.find(value[i + 1], '^%d+$') then
      return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
    end
  end
  if #claims == 0 then
    return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
  end
end
if #claims > 0 then
  redis.call('DEL', KEYS[1])
  -- the lock is free by now, and an error would say that it is not: whoever cannot be told looks by itself
  for i = 1, #claims do
    redis.pcall('PUBLISH', ARGV[1] .. claims[i][1], 'forced ' .. claims[i][2])
  end
  local first = redis.pcall('ZPOPMIN', KEYS[3])
  if first[1] then
    redis.pcall('PUBLISH', ARGV[1] .. first[1], 'turn ' .. KEYS[1])
  end
  redis.pcall('PUBLISH', KEYS[2], '0')
end
return sight
