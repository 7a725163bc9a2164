-- hset: follows check.lua.
-- args: token, field, value
-- reply: 0
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
return 0
