-- sight: who has permits of a semaphore or of those with names. The first lines of `force` as well, which follows it there.
-- keys: 1 the count, 2 the channel of semaphores, 3 who has permits of a semaphore, 4 by when leases end, 5 the line for it, 6
--       until when each place in it is kept, 7 how many each of them wants, 8 the names of permits that are taken, 9 the round
--       of a latch
-- reply: {what is counted: 'semaphore', 'permits' or 'latch', 'count' if there is no telling, 'none' if nothing is, server
--        time in µs as text, {claim, what it has, …} or {name, when it ends in ms, …}, {claim or name, when it ends in µs,
--        …}, how many wait, {claim, kind, since when in µs, …} of the first of those who stand in line}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local count = redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GETRANGE', KEYS[1], 0, 11) or ''
local what, held, ends, waiting, line = 'none', {}, {}, 0, {}
-- what lies beside a count tells of what it is one; another's of that name tells nothing
local function beside(key, kind)
  return redis.call('TYPE', key).ok == kind
end
if count == '0' or string.find(count, '^%-?[1-9]%d*$') then
  if beside(KEYS[3], 'hash') then
    what, held, ends = 'semaphore', redis.call('HGETALL', KEYS[3]), redis.pcall('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES')
    local found = redis.pcall('ZRANGE', KEYS[5], 0, 199, 'WITHSCORES')
    for i = 1, #found, 2 do
      local kept = redis.pcall('ZSCORE', KEYS[6], found[i])
      if type(kept) == 'string' and tonumber(kept) > now then
        line[#line + 1] = found[i]
        line[#line + 1] = what
        line[#line + 1] = found[i + 1]
      end
    end
    waiting = redis.pcall('ZCOUNT', KEYS[6], '(' .. string.format('%d', now), '+inf')
  elseif beside(KEYS[8], 'zset') then
    what, held = 'permits', redis.call('ZRANGE', KEYS[8], 0, -1, 'WITHSCORES')
    ends = redis.pcall('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES')
  elseif beside(KEYS[9], 'string') and string.find(redis.call('GETRANGE', KEYS[9], 0, 63), '^%d+ %d+$') then
    what = 'latch'
  else
    what = 'count'
  end
elseif redis.call('EXISTS', KEYS[1]) == 1 then
  what = 'other'
end
local sight = {
  what,
  time[1] .. string.format('%06d', time[2]),
  held,
  ends.err and {} or ends,
  type(waiting) == 'number' and waiting or 0,
  line
}
