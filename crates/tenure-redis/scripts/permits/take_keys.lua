-- take: takes permits under names, all of them or none. Asked again, says the same.
-- keys: 1 to 6 as look.lua, 7 what is over of the client's whose claim asks
-- args: 1 how many there are, if nobody said so yet, or '', 2 lease in ms, 3 claim, from 4 on the names
-- reply: {token as text, how many} if they are taken; 0 if that was cancelled; {how many there are} if there are never enough;
--        otherwise {server time in µs as text, the name of the one that is taken for longest, when it ends, when the first ends},
--        in µs, or '' where there is none; number.lua and look.lua come in between
if not redis.REDIS_VERSION_NUM then
  return redis.error_reply('TOOOLD this server is older than Redis 7.0')
end
if redis.call('EXISTS', KEYS[7]) == 1 and given_up(KEYS[7], ARGV[3], 0) then
  return 0
end
-- the key is in use for something else
local function no_lock(said)
  return said
end
local least, most = -2147483648, 2147483647
