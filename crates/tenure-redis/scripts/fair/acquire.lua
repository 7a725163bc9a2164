-- acquire: takes a fair lock that is free if nobody comes first, or lets a claim in beside those it stands under. Asked
--          again, says the same. Whoever stays when it is turned away has a place in line.
-- keys: 1 the lock, 2 the store's watermark, 3 what of its client's is over, from 4 on those of the line, as its line.lua has them
-- args: 1 claim, 2 lease in ms, 3 what a client's own channel begins with, 4 for how long a place is kept, in ms, or '' for
--       none, 5 the claims it stands under, one after the other with a '/' between them
-- reply: {token as text, count} if the claim is in; 0 if it was cancelled; otherwise {time to live in ms, server time in µs
--        as text, {field, value, …}, how many stand before it or -1, µs for which the place of the first is kept}
if not redis.REDIS_VERSION_NUM then
  return redis.error_reply('TOOOLD this server is older than Redis 7.0')
end
local claim, under = ARGV[1], '/' .. ARGV[5] .. '/'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ends = string.format('%d', now + ARGV[2] * 1000)
local taken = redis.call('EXISTS', KEYS[1], KEYS[3], KEYS[4])
if taken > 0 and redis.call('EXISTS', KEYS[3]) == 1 and given_up(KEYS[3], claim, 0) then
  return 0
end
local fields = {}
local fence, fair, mine, others, strangers, no_lock
local over, claims = {}, 0
if taken > 0 then
  fields = fields_of(KEYS[1])
  if not fields then
    return redis.error_reply('NOTALOCK the key holds a hash that is no lock, or that too many have entered')
  end
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
    elseif name == 'fair' then
      fair = true
    elseif name ~= 'line' and name ~= 'change' and name ~= 'nested' then
      no_lock = true
    end
  end
  -- another library's lock has no fence, and there is no telling whether it is a fair one
  if no_lock or (fence and not fair) or (#fields > 0 and not (mine or others or strangers or over[1])) then
    return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
  end
  -- it is a lock, so that what has ended in it is ours to remove
  for i = 1, #over do
    redis.call('HDEL', KEYS[1], over[i])
  end
end
local own, notice = 4, ARGV[3]
