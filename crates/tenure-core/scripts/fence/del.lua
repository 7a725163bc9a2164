-- del: follows check.lua. The companion stays, so that who comes too late does not bring the key back.
-- args: token
-- reply: 0
redis.call('DEL', KEYS[1])
return 0
