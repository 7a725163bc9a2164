-- check: goes on only if no later holder has been here; what writes follows in the same script.
-- keys: what is written, its companion with the newest token seen
-- args: token, then what the write takes
-- reply: the newest token if it is a later one, and nothing was done; otherwise as what follows
local token = tonumber(ARGV[1])
local newest = redis.call('GET', KEYS[2]) or '0'
-- numbers are doubles here: from 2^53 on two tokens could look the same
if not string.find(ARGV[1], '^%d+$') or token >= 2^53 then
  return redis.error_reply('NOTOKEN the token is no number below 2^53')
end
if not string.find(newest, '^%d+$') or tonumber(newest) >= 2^53 then
  return redis.error_reply('NOTOKEN the companion key holds no number below 2^53')
end
if tonumber(newest) > token then
  return tonumber(newest)
end
-- a script that fails is not rolled back: a token without its write harms nobody, a write without its token would
redis.call('SET', KEYS[2], ARGV[1])
