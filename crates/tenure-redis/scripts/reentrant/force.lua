-- force: frees a lock whoever holds it, and tells those who wait and the one who held it.
-- keys: 1 the lock, 2 its channel
-- args: 1 what a client's own channel begins with
-- reply: as holder.lua, of before
if redis.call('HLEN', KEYS[1]) > 16 then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock')
end
local now = redis.call('TIME')
local fields = redis.call('HGETALL', KEYS[1])
local before = {redis.call('PTTL', KEYS[1]), now[1] .. string.format('%06d', now[2]), fields}
local clients = {}
for i = 1, #fields, 2 do
  local client = string.match(fields[i], '^(%x+%-%x+%-%x+%-%x+%-%x+):')
  if client then
    clients[#clients + 1] = {client, fields[i]}
  elseif fields[i] ~= 'fence' then
    return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
  end
end
if #fields > 0 then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', KEYS[2], '0')
  for i = 1, #clients do
    redis.call('PUBLISH', ARGV[1] .. clients[i][1], clients[i][2])
  end
end
return before
