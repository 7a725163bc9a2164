-- acquire: takes a lock that token.lua, which comes before, found free; asked again, says the same again.
-- keys: 1 the lock, 2 the store's watermark, 3 what of its client's is over, 4 the line of clients that wait
-- args: 1 claim, 2 lease in ms, 3 'time' now and then: bring the watermark up to the server's clock,
--       4 '' if the asker goes away when the lock is busy, 'waits' if it stays, since when (server time in µs) if it has
--       been staying, 5 'more' if others of its client stay behind it
-- reply: token if granted now (a number, exact below 2^53); {token as text, count} if the claim holds already;
--        0 if it was cancelled; otherwise as held.lua, which follows after short.lua
if token then
  -- as text, because the server would write so large a number by the slow way of fractions
  local fence = string.format('%d', token)
  if line then
    redis.call('HSET', KEYS[1], ARGV[1], '1', 'fence', fence, 'line', '1')
  else
    redis.call('HSET', KEYS[1], ARGV[1], '1', 'fence', fence)
  end
  local lasts = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
  if lasts ~= 1 then
    redis.call('DEL', KEYS[1])
    return lasts
  end
  return token
end
if refused then
  return 0
end
