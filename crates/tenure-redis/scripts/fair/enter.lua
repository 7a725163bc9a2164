-- enter: takes the lock, or a place in line.
-- keys, args, reply: as acquire.lua
-- before: all that acquire.lua has found out, and line.lua
local first, passed
if taken > 0 then
  first, passed = first_in_line()
end
local nested = string.sub(claim, -1) == '^'
local free = not (mine or others or strangers)
if free and #fields > 0 then
  -- all who were in have ended
  redis.call('DEL', KEYS[1])
end
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
if (free and (not first or first == claim)) or (others and fence and not strangers) then
  -- whoever counts adds a mark, and nobody reads a lock of more than 64 fields
  if claims > 55 then
    return redis.error_reply('TOODEEP claims=' .. claims)
  end
  if free then
    local token, failed = count_up(KEYS[2], 1)
    if failed then
      return failed
    end
    if token < now then
      token = now
      redis.call('SET', KEYS[2], string.format('%d', now))
    end
    fence = string.format('%d', token)
  end
  if nested then
    redis.call('HSET', KEYS[1], claim, '1 0 ' .. ends, 'fence', fence, 'fair', '1', 'nested', '1')
  else
    redis.call('HSET', KEYS[1], claim, '1', 'fence', fence, 'fair', '1')
  end
  local lasts
  if free then
    lasts = redis.pcall('PEXPIRE', KEYS[1], ARGV[2])
  else
    lasts = redis.pcall('PEXPIRE', KEYS[1], ARGV[2], 'GT')
  end
  -- a script that fails is not rolled back
  if type(lasts) == 'table' then
    if free then
      redis.call('DEL', KEYS[1])
    else
      redis.call('HDEL', KEYS[1], claim)
    end
    return lasts
  end
  if first then
    enter_from_line(claim)
  end
  return {fence, '1'}
end
if ARGV[4] ~= '' then
  stand(claim, ARGV[4])
  first = first or claim
end
local left = 0
if free and first then
  left = kept(first)
  if passed then
    call(first)
  end
end
return {redis.call('PTTL', KEYS[1]), time[1] .. string.format('%06d', time[2]), free and {} or fields, ahead_of(claim), left}
