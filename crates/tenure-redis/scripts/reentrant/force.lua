-- force: frees a lock whoever holds it, and tells those who wait and the one who held it.
-- keys: 1 the lock, 2 its channel, 3 the line of clients that wait
-- args: 1 what a client's own channel begins with
-- reply: as holder.lua, of before
if redis.call('HLEN', KEYS[1]) > 16 then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock')
end
local now = redis.call('TIME')
local fields = redis.call('HGETALL', KEYS[1])
local before = {redis.call('PTTL', KEYS[1]), now[1] .. string.format('%06d', now[2]), fields}
local claims = {}
for i = 1, #fields, 2 do
  local client = string.match(fields[i], '^([%x-]+):.')
  if not string.find(fields[i + 1], '^%d+$') then
    client = nil
  elseif fields[i] == 'fence' or fields[i] == 'line' or fields[i] == 'change' then
    client = ''
  elseif client and #client == 36 then
    claims[#claims + 1] = {client, fields[i]}
  else
    client = nil
  end
  if not client then
    return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
  end
end
if #fields > 0 and #claims == 0 then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
end
if #fields > 0 then
  redis.call('DEL', KEYS[1])
  for i = 1, #claims do
    redis.pcall('PUBLISH', ARGV[1] .. claims[i][1], 'forced ' .. claims[i][2])
  end
  local first = redis.pcall('ZPOPMIN', KEYS[3])
  if first[1] then
    redis.pcall('PUBLISH', ARGV[1] .. first[1], 'turn ' .. KEYS[1])
  end
  redis.call('PUBLISH', KEYS[2], '0')
end
return before
