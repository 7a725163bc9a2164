-- acquire: takes a free lock for a claim that was never used before; asked again, says the same again.
-- keys: 1 the lock, 2 the store's watermark, 3 the claim's tombstone, 4 the line of clients that wait
-- args: 1 claim, 2 lease in ms, 3 'time' now and then: bring the watermark up to the server's clock,
--       4 '' if the asker goes away when the lock is busy, 'waits' if it stays, since when (server time in µs) if it has
--       been staying, 5 'more' if others of its client stay behind it
-- reply: token if granted now (a number, exact below 2^53); {token as text, count} if the claim holds already;
--        0 if it was cancelled; otherwise as holder.lua, which follows after stand.lua
if not redis.REDIS_VERSION_NUM then
  return redis.error_reply('TOOOLD this server is older than Redis 7.0')
end
local taken = redis.call('EXISTS', KEYS[1], KEYS[3], KEYS[4])
if taken == 0 or (taken == 1 and redis.call('EXISTS', KEYS[4]) == 1) then
  local token = redis.call('INCR', KEYS[2])
  -- from there on one more is the same number to a script, and a token would be handed out twice
  if token >= 2^53 then
    return redis.error_reply('NOCOUNT the watermark is beyond 2^53')
  end
  -- a watermark that starts anew, or was not looked after for a while, goes on from the clock; it never goes back
  if ARGV[3] ~= '' or token < 1e15 then
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    if token < now then
      token = now
      redis.call('SET', KEYS[2], now)
    end
  end
  -- as text, because the server would write so large a number by the slow way of fractions
  local fence = string.format('%d', token)
  -- a script that fails is not rolled back: what may fail comes before the lock is taken
  if ARGV[5] then
    redis.call('ZADD', KEYS[4], token, string.match(ARGV[1], '^[^:]*'))
    redis.call('PEXPIRE', KEYS[4], 3000)
  elseif taken == 1 and ARGV[4] ~= '' then
    redis.call('ZREM', KEYS[4], string.match(ARGV[1], '^[^:]*'))
  end
  if taken == 0 and not ARGV[5] then
    redis.call('HSET', KEYS[1], ARGV[1], '1', 'fence', fence)
  else
    -- others wait: the release is to call one of them
    redis.call('HSET', KEYS[1], ARGV[1], '1', 'fence', fence, 'line', '1')
  end
  local lasts = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
  if lasts ~= 1 then
    redis.call('DEL', KEYS[1])
    return lasts
  end
  return token
end
if redis.call('EXISTS', KEYS[3]) == 1 then
  return 0
end
local held = redis.call('HMGET', KEYS[1], ARGV[1], 'fence')
if held[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  return {held[2], held[1]}
end
if redis.call('HLEN', KEYS[1]) > 64 then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock')
end
local fence, fields = held[2], redis.call('HGETALL', KEYS[1])
