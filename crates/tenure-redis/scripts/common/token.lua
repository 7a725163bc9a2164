-- token: counts a token for a lock that is free, and keeps its asker's client in line or takes it out.
-- keys, args: as reentrant/acquire.lua, which follows, or simple/acquire.lua
-- before: given_up.lua, watermark.lua
-- after: `token`, none if the lock is not free; `refused`, whether the claim was cancelled; `line`, whether others wait, so that the release is to call one of them
if not redis.REDIS_VERSION_NUM then
  return redis.error_reply('TOOOLD this server is older than Redis 7.0')
end
local token, line, refused
local taken = redis.call('EXISTS', KEYS[1], KEYS[3], KEYS[4])
-- that some of the client's is over does not say that this is
if taken > 0 and redis.call('EXISTS', KEYS[3]) == 1 then
  refused, taken = given_up(KEYS[3], ARGV[1], 0), taken - 1
end
if refused then
  taken = 3
end
if taken == 0 or (taken == 1 and redis.call('EXISTS', KEYS[4]) == 1) then
  local failed
  token, failed = count_up(KEYS[2], 1)
  if failed then
    return failed
  end
  line = taken == 1 or ARGV[5]
  -- a watermark that starts anew, or was not looked after for a while, goes on from the clock; it never goes back
  if ARGV[3] ~= '' or token < 1e15 then
    local time = redis.call('TIME')
    local now = time[1] * 1000000 + time[2]
    if token < now then
      token = now
      redis.call('SET', KEYS[2], now)
    end
  end
  -- a script that fails is not rolled back: what may fail comes before the lock is taken
  if ARGV[5] then
    redis.call('ZADD', KEYS[4], token, string.match(ARGV[1], '^[^:]*'))
    redis.call('PEXPIRE', KEYS[4], 3000)
  elseif taken == 1 and ARGV[4] ~= '' then
    redis.call('ZREM', KEYS[4], string.match(ARGV[1], '^[^:]*'))
  end
end
