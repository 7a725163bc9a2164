-- release, continued: look.lua comes before, note.lua follows.
local claim, reply = ARGV[1], 0
news = leave_line({claim}) or news
if count and redis.call('ZSCORE', KEYS[4], claim) then
  if ARGV[3] ~= '' then
    redis.call('ZADD', KEYS[4], now + ARGV[3] * 1000, claim)
    reply = 3
  else
    give_back(take_away({claim}))
    reply = redis.call('ZCARD', KEYS[4]) == 0 and 1 or 2
  end
end
if news then
  call()
end
