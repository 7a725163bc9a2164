-- holder: who holds a simple lock.
-- keys: 1 the lock
-- reply: {time to live in ms, server time in µs as text, the first of its value}; nothing of it if it is free
local now = redis.call('TIME')
return {redis.call('PTTL', KEYS[1]), now[1] .. string.format('%06d', now[2]), redis.call('GETRANGE', KEYS[1], 0, 255)}
