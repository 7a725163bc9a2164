-- acquire: takes a free lock for a claim that was never used before; asked again, says the same again.
-- keys, args: as reentrant/acquire.lua
-- reply: token if granted now (a number, exact below 2^53); {token as text, count} if the claim holds already;
--        0 if it was cancelled; otherwise as holder.lua, which follows
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
  local value = ARGV[1] .. ' ' .. string.format('%d', token)
  if ARGV[5] then
    redis.call('ZADD', KEYS[4], token, string.match(ARGV[1], '^[^:]*'))
    redis.call('PEXPIRE', KEYS[4], 3000)
  elseif taken == 1 and ARGV[4] ~= '' then
    redis.call('ZREM', KEYS[4], string.match(ARGV[1], '^[^:]*'))
  end
  if taken == 1 or ARGV[5] then
    -- others wait: the release is to call one of them
    value = value .. ' line'
  end
  redis.call('SET', KEYS[1], value, 'PX', ARGV[2])
  return token
end
if redis.call('EXISTS', KEYS[3]) == 1 then
  return 0
end
local value = redis.call('GETRANGE', KEYS[1], 0, 255)
local mine = ARGV[1] .. ' '
if string.sub(value, 1, #mine) == mine then
  redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  return {string.match(value, '%d+', #mine), '1'}
end
-- only behind a lock of ours: another library's value is its own affair, and its release calls nobody
local marked = string.sub(value, -5) == ' line'
local held = marked and string.sub(value, 1, -6) or value
if ARGV[4] ~= '' and string.find(held, '^[%x-]+:%d+%^? %d+$') and string.find(held, ':', 1, true) == 37
  and #value < 128 then
  local since = tonumber(ARGV[4])
  if not since then
    local time = redis.call('TIME')
    since = time[1] * 1000000 + time[2]
  end
  redis.call('ZADD', KEYS[4], 'NX', since, string.match(ARGV[1], '^[^:]*'))
  redis.call('PEXPIRE', KEYS[4], 3000)
  if not marked then
    redis.call('SET', KEYS[1], value .. ' line', 'KEEPTTL')
  end
end
