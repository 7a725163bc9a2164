-- sight: a lock of whichever kind, as others see it. The first line of `force` as well, which follows it there.
-- keys: 1 the lock, 3 the line of clients that wait
-- reply: {time to live in ms, server time in µs as text, {field, value, …} of a hash or the first of a string, how many
--        clients stand in line}; no fields if it is free
local kind = redis.call('TYPE', KEYS[1]).ok
local now = redis.call('TIME')
local value = {}
if kind == 'string' then
  value = redis.call('GETRANGE', KEYS[1], 0, 255)
elseif kind == 'hash' and redis.call('HLEN', KEYS[1]) <= 64 then
  value = redis.call('HGETALL', KEYS[1])
elseif kind ~= 'none' then
  return redis.error_reply('NOTALOCK the key is in use for something that is no lock')
end
local waiting = redis.pcall('ZCARD', KEYS[3])
local sight = {
  redis.call('PTTL', KEYS[1]),
  now[1] .. string.format('%06d', now[2]),
  value,
  type(waiting) == 'number' and waiting or 0
}
