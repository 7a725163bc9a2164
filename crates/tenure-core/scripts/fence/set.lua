-- set: follows check.lua.
-- args: token, value
-- reply: 0
redis.call('SET', KEYS[1], ARGV[2])
return 0
