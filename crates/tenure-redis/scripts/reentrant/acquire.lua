-- acquire: takes a free lock for a claim that was never used before; asked again, says the same again.
-- keys: 1 the lock, 2 the store's watermark, 3 the claim's tombstone
-- args: 1 claim, 2 lease in ms
-- reply: token as text if granted now; {token, count} if the claim holds already; -1 if it was cancelled;
--        otherwise as holder.lua, which follows
if redis.call('EXISTS', KEYS[1], KEYS[3]) == 0 then
  local time = redis.call('TIME')
  local token = time[1] .. string.format('%06d', time[2])
  local last = redis.call('GETSET', KEYS[2], token)
  if last and tonumber(last) >= tonumber(token) then
    -- the server's clock was set back: the watermark goes on from where it was
    token = string.format('%.0f', tonumber(last) + 1)
    redis.call('SET', KEYS[2], token)
  end
  redis.call('HSET', KEYS[1], ARGV[1], '1', 'fence', token)
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return token
end
if redis.call('EXISTS', KEYS[3]) == 1 then
  return -1
end
local count = redis.call('HGET', KEYS[1], ARGV[1])
if count then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return {redis.call('HGET', KEYS[1], 'fence'), count}
end
