-- sight: who has permits of a semaphore or of those with names. The first lines of `force` as well, which follows it there.
-- keys: 1 the count, 2 the channel of semaphores, 3 who has permits of a semaphore, 4 by when leases end, 5 the line for it, 6
--       until when each place in it is kept, 7 how many each of them wants, 8 the names of permits that are taken, 9 the round
--       of a latch, 10 where those are kept whom force has put out until they are told
-- args: 1 what a client's own channel begins with, 2 how many of those who hold, and of those who stand in line, are shown
-- reply: {what is counted: 'semaphore', 'permits' or 'latch', 'count' if there is no telling, 'none' if nothing is, server
--        time in µs as text, {claim, what it has, …} or {name, when it ends in ms, …} of those that last longest, {claim or
--        name, when it ends in µs, …} of the same, how many wait, {claim, kind, since when in µs, …} of the first of those who
--        stand in line, how many claims have permits, or permits are taken, if not all are shown}
local time = redis.call('TIME')
local now, most = time[1] * 1000000 + time[2], tonumber(ARGV[2])
local from_now = '(' .. string.format('%d', now)
local count = redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GETRANGE', KEYS[1], 0, 11) or ''
local what, held, ends, waiting, line, hold = 'none', {}, {}, 0, {}, 0
-- what lies beside a count tells of what it is one; another's of that name tells nothing
local function beside(key, kind)
  return redis.call('TYPE', key).ok == kind
end
-- the first of each pair
local function names_of(pairs)
  local names = {}
  for i = 1, #pairs, 2 do
    names[#names + 1] = pairs[i]
  end
  return names
end
local function number(reply)
  return type(reply) == 'number' and reply or 0
end
if count == '0' or string.find(count, '^%-?[1-9]%d*$') then
  if beside(KEYS[3], 'hash') then
    what = 'semaphore'
    ends = redis.pcall('ZRANGE', KEYS[4], '+inf', from_now, 'BYSCORE', 'REV', 'LIMIT', 0, most, 'WITHSCORES')
    local names = names_of(ends)
    local has = names[1] and redis.call('HMGET', KEYS[3], unpack(names)) or {}
    for i, name in ipairs(names) do
      if has[i] then
        held[#held + 1] = name
        held[#held + 1] = has[i]
      end
    end
    hold = number(redis.pcall('ZCOUNT', KEYS[4], from_now, '+inf'))
    local found = redis.pcall('ZRANGE', KEYS[5], 0, 2 * most - 1, 'WITHSCORES')
    names = names_of(found)
    local kept = names[1] and redis.pcall('ZMSCORE', KEYS[6], unpack(names)) or {}
    for i, name in ipairs(names) do
      if #line < 3 * most and kept[i] and tonumber(kept[i]) > now then
        line[#line + 1] = name
        line[#line + 1] = what
        line[#line + 1] = found[2 * i]
      end
    end
    waiting = redis.pcall('ZCOUNT', KEYS[6], from_now, '+inf')
  elseif beside(KEYS[8], 'zset') then
    what, held = 'permits', redis.call('ZRANGE', KEYS[8], 0, most - 1, 'REV', 'WITHSCORES')
    local names = names_of(held)
    local last = redis.pcall('ZMSCORE', KEYS[4], unpack(names))
    for i, name in ipairs(names) do
      if last[i] then
        ends[#ends + 1] = name
        ends[#ends + 1] = last[i]
      end
    end
    hold = redis.call('ZCARD', KEYS[8])
    if hold > most then
      -- by the clocks of Redisson's clients, as permits/look.lua says; of ours, those that are shown to last for longer
      local ended = math.floor(now / 1000) - 1000
      hold = hold - redis.call('ZCOUNT', KEYS[8], '-inf', ended)
        - number(redis.pcall('ZCOUNT', KEYS[4], string.format('(%d', (ended - 1000) * 1000), now))
    else
      hold = 0
    end
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
  number(waiting),
  line,
  hold
}
