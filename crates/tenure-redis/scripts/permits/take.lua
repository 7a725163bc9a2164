-- take, continued: look.lua comes before.
local want, ends = #ARGV - 3, now + ARGV[2] * 1000
if not count and ARGV[1] ~= '' then
  local failed = begin(tonumber(ARGV[1]))
  if failed then
    return failed
  end
end
local has = 0
for i = 4, #ARGV do
  if count and redis.call('ZSCORE', KEYS[3], ARGV[i]) then
    has = has + 1
    last_until(ARGV[i], ends)
  end
end
if has > 0 then
  return {'0', has}
end
if total and total > 0 and total < want then
  return {total}
end
if count and count >= want then
  for i = 4, #ARGV do
    redis.call('ZADD', KEYS[3], shown(ends), ARGV[i])
    redis.call('ZADD', KEYS[4], ends, ARGV[i])
  end
  redis.call('DECRBY', KEYS[1], want)
  last_as_the_count()
  return {'0', want}
end
-- the first or last that ends; what another library gave back by its name may still stand among ours
local function outmost(at)
  local ours = redis.call('ZRANGE', KEYS[4], at, at, 'WITHSCORES')
  for _ = 1, 100 do
    if not ours[1] or redis.call('ZSCORE', KEYS[3], ours[1]) then
      break
    end
    redis.call('ZREM', KEYS[4], ours[1])
    ours = redis.call('ZRANGE', KEYS[4], at, at, 'WITHSCORES')
  end
  local all = redis.call('ZRANGE', KEYS[3], at, at, 'WITHSCORES')
  if all[1] and not redis.call('ZSCORE', KEYS[4], all[1]) then
    -- for ever
    if tonumber(all[2]) >= 922337203685477 then
      return all[1], ''
    end
    -- as we go by it
    return all[1], string.format('%d', (all[2] + 1000) * 1000)
  end
  return ours[1] or '', ours[2] or ''
end
local last, latest = outmost(-1)
local _, earliest = outmost(0)
return {time[1] .. string.format('%06d', time[2]), last, latest, earliest}
