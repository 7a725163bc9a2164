-- holder: who holds a re-entrant lock.
-- keys: 1 the lock
-- reply: {time to live in ms, server time in µs as text, {field, value, …}}; no fields if it is free
if redis.call('HLEN', KEYS[1]) > 64 then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock')
end
local now = redis.call('TIME')
return {redis.call('PTTL', KEYS[1]), now[1] .. string.format('%06d', now[2]), redis.call('HGETALL', KEYS[1])}
