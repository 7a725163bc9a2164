-- acquire: lets a claim in beside those it stands under; if nobody is in, it takes the lock. Asked again, says the same.
-- keys: 1 the lock, 2 the store's watermark, 3 what of its client's is over, 4 the line of clients that wait
-- args: 1 to 4 as reentrant/acquire.lua, 5 the claims it stands under, one after the other with a '/' between them
-- reply: {token as text, count} if the claim is in; 0 if it was cancelled; otherwise as holder.lua, which follows
--        after stand.lua
if not redis.REDIS_VERSION_NUM then
  return redis.error_reply('TOOOLD this server is older than Redis 7.0')
end
if redis.call('EXISTS', KEYS[3]) == 1 and given_up(KEYS[3], ARGV[1], 0) then
  return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ends = string.format('%d', now + ARGV[2] * 1000)
local fields = fields_of(KEYS[1])
if not fields then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock, or that too many have entered')
end
local under = '/' .. ARGV[5] .. '/'
local fence, mine, others, strangers, no_lock, mark
local over, claims = {}, 0
for i = 1, #fields, 2 do
  local name, value = fields[i], fields[i + 1]
  if string.find(name, ':', 1, true) == 37 and string.find(name, '^[%x-]+:.') then
    local last = string.sub(name, -1) == '^' and string.match(value, '^%d+ %d+ (%d+)$')
    if last == nil or not (last or string.find(value, '^%d+$')) then
      no_lock = true
    elseif last and tonumber(last) <= now then
      over[#over + 1] = name
    elseif name == ARGV[1] then
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
  elseif name ~= 'line' and name ~= 'change' and name ~= 'nested' then
    no_lock = true
  end
end
if no_lock or (#fields > 0 and not (mine or others or strangers or over[1])) then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
end
-- it is a lock, so that what has ended in it is ours to remove
for i = 1, #over do
  redis.call('HDEL', KEYS[1], over[i])
end
if mine then
  local count, change, last = string.match(mine, '^(%d+) (%d+) (%d+)$')
  if tonumber(last) < tonumber(ends) then
    redis.call('HSET', KEYS[1], ARGV[1], count .. ' ' .. change .. ' ' .. ends)
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  return {fence, count}
end
if not strangers and (not others or fence) then
  -- whoever waits, or counts, adds a mark, and nobody reads a lock of more than 64 fields
  if claims > 55 then
    return redis.error_reply('TOODEEP claims=' .. claims)
  end
  if not others then
    local token, failed = count_up(KEYS[2], 1)
    if failed then
      return failed
    end
    if token < now then
      token = now
      redis.call('SET', KEYS[2], string.format('%d', now))
    end
    fence = string.format('%d', token)
    redis.call('DEL', KEYS[1])
  end
  if ARGV[4] ~= '' then
    redis.call('ZREM', KEYS[4], string.match(ARGV[1], '^[^:]*'))
  end
  redis.call('HSET', KEYS[1], ARGV[1], '1 0 ' .. ends, 'fence', fence, 'nested', '1')
  local lasts
  if others then
    lasts = redis.pcall('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  else
    lasts = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
  end
  -- a script that fails is not rolled back
  if type(lasts) == 'table' then
    if others then
      redis.call('HDEL', KEYS[1], ARGV[1])
    else
      redis.call('DEL', KEYS[1])
    end
    return lasts
  end
  return {fence, '1'}
end
