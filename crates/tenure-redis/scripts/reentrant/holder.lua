-- holder: who holds a re-entrant lock.
-- keys: 1 the lock
-- before: `fields`, all that is in the hash
-- reply: {time to live in ms, server time in µs as text, {field, value, …}}
local now = redis.call('TIME')
return {redis.call('PTTL', KEYS[1]), now[1] .. string.format('%06d', now[2]), fields}
