-- take: takes permits of a semaphore if those who came before leave enough. Asked again, says the same. Whoever stays when it
--       is turned away has a place in line.
-- keys: 1 to 9 as look.lua, 10 the store's watermark, 11 what of its client's is over
-- args: 1 claim, 2 what a client's own channel begins with, 3 how many, 4 how many there are, if nobody said so yet, or '', 5
--       lease in ms, 6 for how long a place is kept, in ms, or '' for none
-- reply: {token as text, how many} if the claim has them; 0 if it was cancelled; {how many there are} if there are never enough;
--        otherwise {server time in µs as text, of the claim that keeps some for longest its name, what it has and when its lease
--        ends, when the first lease ends, how many stand before the asker or -1}, or '' where there is none; number.lua and
--        look.lua come in between
if not redis.REDIS_VERSION_NUM then
  return redis.error_reply('TOOOLD this server is older than Redis 7.0')
end
if redis.call('EXISTS', KEYS[11]) == 1 and given_up(KEYS[11], ARGV[1], 0) then
  return 0
end
-- the key is in use for something else
local function no_lock(said)
  return said
end
local notice, least, most = ARGV[2], -2147483648, 2147483647
