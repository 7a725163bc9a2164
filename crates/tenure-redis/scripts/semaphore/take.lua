-- take, continued: look.lua comes before.
local claim, want = ARGV[1], tonumber(ARGV[3])
if not count and ARGV[4] ~= '' then
  local failed = begin(tonumber(ARGV[4]))
  if failed then
    return failed
  end
end
local ends = now + ARGV[5] * 1000
local held = redis.call('HGET', KEYS[3], claim)
if held then
  redis.call('ZADD', KEYS[4], 'GT', ends, claim)
  if news then
    call()
  end
  local permits, token = string.match(held, '^(%d+) (%d+)')
  return {token, permits}
end
if total and total > 0 and total < want then
  if leave_line({claim}) or news then
    call()
  end
  return {total}
end
-- whether those who came before leave so many
local enough = count and along_the_line(count - want, function(other, left)
  return other ~= claim
end) >= 0
if enough then
  local token, failed = count_up(KEYS[10], 1)
  if failed then
    return failed
  end
  if token < now then
    token = now
    redis.call('SET', KEYS[10], string.format('%d', now))
  end
  token, taken = string.format('%d', token), taken + want
  local has = string.format('%d ', want) .. token .. string.format(' %d', now)
  redis.call('HSET', KEYS[3], claim, has, 'taken', string.format('%d', taken))
  redis.call('ZADD', KEYS[4], ends, claim)
  count = redis.call('DECRBY', KEYS[1], want)
  last_as_the_count()
  local stood = leave_line({claim})
  -- what another library gave back nobody was called for: one of ours passes it on to the next
  if news or stood then
    call(not news)
  end
  return {token, want}
end
if ARGV[6] ~= '' then
  if not redis.call('ZSCORE', KEYS[5], claim) then
    local since, last = now, redis.call('ZRANGE', KEYS[5], -1, -1, 'WITHSCORES')[2]
    -- no two come at the same time
    if last and tonumber(last) >= since then
      since = tonumber(last) + 1
    end
    redis.call('ZADD', KEYS[5], since, claim)
  end
  redis.call('ZADD', KEYS[6], 'GT', now + ARGV[6] * 1000, claim)
end
local ahead = redis.call('ZRANK', KEYS[5], claim)
if ahead then
  -- some of those who are gone may still stand there
  ahead = math.min(ahead, redis.call('ZCOUNT', KEYS[6], '(' .. string.format('%d', now), '+inf') - 1)
end
if ahead then
  -- in words, so that this is not taken for a lock
  redis.call('HSET', KEYS[7], claim, string.format('wants %d', want))
  -- the line is gone when the last place in it is
  local keep = tonumber(ARGV[6]) or 1
  for i = 5, 7 do
    keep = math.max(keep, redis.call('PTTL', KEYS[i]))
  end
  for i = 5, 7 do
    redis.call('PEXPIRE', KEYS[i], keep)
  end
end
if news then
  call()
end
local last = redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')
local first = redis.call('ZRANGE', KEYS[4], 0, 0, 'WITHSCORES')
return {
  time[1] .. string.format('%06d', time[2]),
  last[1] or '',
  last[1] and redis.call('HGET', KEYS[3], last[1]) or '',
  last[2] or '',
  first[2] or '',
  ahead or -1
}
