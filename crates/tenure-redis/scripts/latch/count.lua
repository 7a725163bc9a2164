-- count, continued: number.lua comes before.
local was, what = count or 0, ARGV[1]
if count and redis.call('EXISTS', KEYS[6], KEYS[7]) > 0 then
  return redis.error_reply('NOTALOCK the key holds a count of another kind')
end
local known = redis.call('GET', KEYS[3])
local round, lowest = string.match(known or '', '^(%d+) (%d+)$')
if known and not round then
  return redis.error_reply('NOTALOCK what lies beside the key is no part of a latch')
end
-- ids of a round that is over, or that nobody knows, count for nothing: Java may have opened the latch and shut it again
local anew = was == 0 or not round or was > tonumber(lowest)
if what == 'look' then
  return {was, was, not anew and round or ''}
end
local after, message = was, nil
if what == 'begin' or what == 'set' then
  local number = tonumber(ARGV[2])
  if what == 'set' or was == 0 then
    after = number
    message = (after > 0 and '1') or (was > 0 and '0')
    anew = anew and 'round' or 'ids'
  end
elseif what == 'delete' then
  after, message = 0, count and '1'
elseif what == 'down' and was > 0 then
  if ARGV[2] == '' or anew or redis.call('SISMEMBER', KEYS[4], ARGV[2]) == 0 then
    after = was - 1
    message = after == 0 and '0'
  end
end
-- as the last of all that may fail for what lies there
redis.call('SCARD', KEYS[4])
if after == 0 then
  if count or known then
    redis.call('UNLINK', KEYS[1], KEYS[3], KEYS[4])
  end
  round = ''
else
  if not round and what == 'wait' and ARGV[2] ~= '' then
    -- it was forgotten, which says nothing of whether the latch has been open
    round = ARGV[2]
  elseif not round or (anew and anew ~= 'ids') then
    local failed
    round, failed = count_up(KEYS[5], 1)
    if failed then
      return failed
    end
    if round < now then
      round = now
      redis.call('SET', KEYS[5], string.format('%d', now))
    end
    round = string.format('%d', round)
  end
  if anew then
    redis.call('UNLINK', KEYS[4])
  end
  if what == 'down' and after < was and ARGV[2] ~= '' then
    -- before it is counted, so that it cannot be counted twice
    redis.call('SADD', KEYS[4], ARGV[2])
    redis.call('EXPIRE', KEYS[4], 86400)
  end
  if after ~= was then
    redis.call('SET', KEYS[1], string.format('%d', after), 'KEEPTTL')
  end
  -- never sooner than the ids
  redis.call('SET', KEYS[3], round .. string.format(' %d', after), 'PX', 86400000)
end
if message then
  redis.pcall('PUBLISH', KEYS[2], message)
end
return {was, after, round}
