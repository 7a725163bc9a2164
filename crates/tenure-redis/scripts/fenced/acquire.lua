-- acquire: takes a fenced lock that is free, or lets a claim in beside those it stands under. Asked again, says the same.
-- keys: 1 the lock, 2 the count of its tokens, 3 what of its client's is over, 4 the line of clients that wait, 5 the store's
--       watermark
-- args: 1 claim, 2 lease in ms, 3 the claims it stands under, one after the other with a '/' between them, 4 and 5 as
--       reentrant/acquire.lua
-- reply: {token as text, count} if the claim is in; 0 if it was cancelled; otherwise as holder.lua, which follows
--        after stand.lua
if not redis.REDIS_VERSION_NUM then
  return redis.error_reply('TOOOLD this server is older than Redis 7.0')
end
if redis.call('EXISTS', KEYS[3]) == 1 and given_up(KEYS[3], ARGV[1], 0) then
  return 0
end
local claim, under, mark = ARGV[1], '/' .. ARGV[3] .. '/', 'fenced'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ends = string.format('%d', now + ARGV[2] * 1000)
local fields = fields_of(KEYS[1])
if not fields then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock, or that too many have entered')
end
local fence, fenced, mine, others, strangers, no_lock
local over, claims = {}, 0
for i = 1, #fields, 2 do
  local name, value = fields[i], fields[i + 1]
  if string.find(name, ':', 1, true) == 37 and string.find(name, '^[%x-]+:.') then
    local last = string.sub(name, -1) == '^' and string.match(value, '^%d+ %d+ (%d+)$')
    if last == nil or not (last or string.find(value, '^%d+$')) then
      no_lock = true
    elseif last and tonumber(last) <= now then
      over[#over + 1] = name
    elseif name == claim then
      mine = value
    elseif string.find(under, '/' .. name .. '/', 1, true) then
      others, claims = true, claims + 1
    else
      strangers = true
    end
  elseif not string.find(value, '^%d+$') then
    no_lock = true
  elseif name == 'fence' then
    fence = value
  elseif name == mark then
    fenced = true
  elseif name ~= 'line' and name ~= 'change' and name ~= 'nested' then
    no_lock = true
  end
end
-- another library's lock has no fence, and there is no telling whether it is a fenced one
if no_lock or (fence and not fenced) or (#fields > 0 and not (mine or others or strangers or over[1])) then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
end
-- it is a lock, so that what has ended in it is ours to remove
for i = 1, #over do
  redis.call('HDEL', KEYS[1], over[i])
end
local nested = string.sub(claim, -1) == '^'
if mine then
  local count = mine
  if nested then
    local entered, change, last = string.match(mine, '^(%d+) (%d+) (%d+)$')
    if tonumber(last) < tonumber(ends) then
      redis.call('HSET', KEYS[1], claim, entered .. ' ' .. change .. ' ' .. ends)
    end
    count = entered
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  return {fence, count}
end
local free = not (others or strangers)
if free or (others and fence and not strangers) then
  -- whoever waits, or counts, adds a mark, and nobody reads a lock of more than 64 fields
  if claims > 55 then
    return redis.error_reply('TOODEEP claims=' .. claims)
  end
  local entry = {claim, nested and '1 0 ' .. ends or '1'}
  if nested then
    entry[3], entry[4] = 'nested', '1'
  end
  if free then
    -- a token is larger than those of every kind: the watermark is counted up as well, and the clock makes up for what a
    -- restart or a fail-over forgot of either
    local watermark, failed = count_up(KEYS[5], 1)
    if failed then
      return failed
    end
    local count = redis.pcall('INCR', KEYS[2])
    -- what is above the watermark was not counted here, and one key's count is not to bring every lock's tokens to where they
    -- end: it may be a year ahead of the clock
    if type(count) == 'number' and (count < 1 or (count > watermark and count > now + 31536000000000)) then
      redis.call('DECR', KEYS[2])
      count = {err = 'not an integer'}
    end
    if type(count) == 'table' then
      for _, reason in ipairs({'not an integer', 'overflow', 'WRONGTYPE'}) do
        if string.find(count.err, reason, 1, true) then
          return redis.error_reply('NOTOKEN ' .. KEYS[2])
        end
      end
      return count
    end
    -- as text, because the server would write so large a number by the slow way of fractions
    fence = string.format('%d', math.max(watermark, count, now))
    redis.call('SET', KEYS[2], fence, 'KEEPTTL')
    redis.call('SET', KEYS[5], fence)
    -- all who were in have ended
    redis.call('DEL', KEYS[1])
    -- a count that is ahead of the clock tells nothing of time: since when it is held stands in the mark itself
    for _, word in ipairs({'fence', fence, mark, string.format('%d', now)}) do
      entry[#entry + 1] = word
    end
    if ARGV[5] or redis.call('EXISTS', KEYS[4]) == 1 then
      entry[#entry + 1] = 'line'
      entry[#entry + 1] = '1'
    end
  end
  -- a script that fails is not rolled back: what may fail comes before the lock is taken
  local client = string.match(claim, '^[^:]*')
  if ARGV[5] then
    redis.call('ZADD', KEYS[4], now, client)
    redis.call('PEXPIRE', KEYS[4], 3000)
  elseif ARGV[4] ~= '' then
    redis.call('ZREM', KEYS[4], client)
  end
  redis.call('HSET', KEYS[1], unpack(entry))
  local lasts
  if free then
    lasts = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
  else
    lasts = redis.pcall('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  end
  if type(lasts) == 'table' then
    if free then
      redis.call('DEL', KEYS[1])
    else
      redis.call('HDEL', KEYS[1], claim)
    end
    return lasts
  end
  return {fence, '1'}
end
