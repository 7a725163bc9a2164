-- raise: no token that this server hands out from now on is below this one.
-- keys: 2 the store's watermark
-- before: `token`
-- reply: 1
if tonumber(redis.call('GET', KEYS[2]) or 0) < token then
  redis.call('SET', KEYS[2], ARGV[2])
end
return 1
