-- acquire: takes a free lock for a claim that was never used before; asked again, says the same again.
-- keys: 1 the lock, 2 the store's watermark, 3 the claim's tombstone
-- args: 1 claim, 2 lease in ms, 3 (now and then) 'time': bring the watermark up to the server's clock
-- reply: token if granted now (a number, exact below 2^53); {token as text, count} if the claim holds already; 0 if it was cancelled;
--        otherwise as holder.lua, which follows
if redis.call('EXISTS', KEYS[1], KEYS[3]) == 0 then
  local token = redis.call('INCR', KEYS[2])
  -- a watermark that starts anew, or was not looked after for a while, goes on from the clock; it never goes back
  if ARGV[3] or token < 1e15 then
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    if token < now then
      token = now
      redis.call('SET', KEYS[2], now)
    end
  end
  redis.call('HSET', KEYS[1], ARGV[1], '1', 'fence', token)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return token
end
if redis.call('EXISTS', KEYS[3]) == 1 then
  return 0
end
local count = redis.call('HGET', KEYS[1], ARGV[1])
if count then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return {redis.call('HGET', KEYS[1], 'fence'), count}
end
