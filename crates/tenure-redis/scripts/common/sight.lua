-- sight: a lock of whichever kind, as others see it. The first lines of `force` as well, which follows it there. Before:
--        short.lua.
-- keys: 1 the lock, 2 its channel, 3 the line of clients that wait; of a fair lock, 4 the line and 5 until when each place in
--       it is kept; of a read-write lock, 6 its channel, 7 and 8 who reads and who writes, by when their leases end, 9 and 10
--       who waits to write and to read, 11 until when each place is kept, 12 by when readers have come who go first; in
--       Redisson's layout, 13 what our claims on a read-write lock are; 14 where those are kept whom force has put out until
--       they are told; in Redisson's layout, 15 the line for a fair lock
-- args: 1 what a client's own channel begins with, 2 how many of those who hold, and of those who stand in line, are shown
-- reply: {time to live in ms, server time in µs as text, {field, value, …} of a hash or the first of a string, how many
--        wait, {claim, when its lease ends in µs, …} of a read-write lock, {claim, kind, since when in µs, …} of the first of
--        those who stand in line, {claim, what it is, …} of ours in Redisson's read-write lock, how many hold a read-write
--        lock}; no fields if it is free
local kind = redis.call('TYPE', KEYS[1]).ok
local time = redis.call('TIME')
local now, most = time[1] * 1000000 + time[2], tonumber(ARGV[2])
local from_now = '(' .. string.format('%d', now)
local value, mode, fair = {}, nil, false
if kind == 'string' then
  value = redis.call('GETRANGE', KEYS[1], 0, 255)
elseif kind == 'hash' then
  mode = word_of(KEYS[1], 'mode')
  if type(mode) == 'table' then
    return mode
  end
  if mode == 'tenure' or mode == 'read' or mode == 'write' then
    value = is_short(KEYS[1], redis.call('HLEN', KEYS[1]), 2^20)
  else
    value = not mode and fields_of(KEYS[1])
  end
  if not value then
    return redis.error_reply('NOTALOCK the key is in use for something that is no lock')
  end
  fair = not mode and redis.call('HEXISTS', KEYS[1], 'fair') == 1
elseif kind ~= 'none' then
  return redis.error_reply('NOTALOCK the key is in use for something that is no lock')
end
local ends, line, shares, hold = {}, {}, {}, 0
local function count(verb, ...)
  local number = redis.pcall(verb, ...)
  return type(number) == 'number' and number or 0
end
local function in_line(claim, what, since)
  line[#line + 1] = claim
  line[#line + 1] = what
  line[#line + 1] = since and string.format('%d', math.abs(since)) or ''
end
-- the first of those of a line whose places are still kept
local function stand(queue, places, what)
  local found, names = redis.pcall('ZRANGE', queue, 0, 2 * most - 1, 'WITHSCORES'), {}
  for i = 1, #found, 2 do
    names[#names + 1] = found[i]
  end
  local kept, shown = names[1] and redis.pcall('ZMSCORE', places, unpack(names)) or {}, 0
  for i = 1, #names do
    if shown < most and kept[i] and tonumber(kept[i]) > now then
      in_line(names[i], what, found[2 * i])
      shown = shown + 1
    end
  end
end
-- who holds a read-write lock: of ours those who write, and those whose leases last longest; then as many of others as one
-- look at the hash shows
local function look_inside()
  value = {'mode', mode}
  local names = {}
  for i = 8, 7, -1 do
    hold = hold + count('ZCOUNT', KEYS[i], from_now, '+inf')
    local found = #names < most
      and redis.pcall('ZRANGE', KEYS[i], '+inf', from_now, 'BYSCORE', 'REV', 'LIMIT', 0, most - #names, 'WITHSCORES') or {}
    for j = 1, #found, 2 do
      names[#names + 1] = found[j]
      ends[#ends + 1] = found[j]
      ends[#ends + 1] = found[j + 1]
    end
  end
  local known = names[1] and redis.pcall('HMGET', mode == 'tenure' and KEYS[1] or KEYS[13], unpack(names)) or {}
  local into = mode == 'tenure' and value or shares
  for i = 1, #names do
    if known[i] then
      into[#into + 1] = names[i]
      into[#into + 1] = known[i]
    end
  end
  if mode == 'tenure' then
    if redis.call('HLEN', KEYS[1]) - 1 ~= count('ZCARD', KEYS[7]) + count('ZCARD', KEYS[8]) then
      -- what is not ours shows what it is
      local shown, fields = {mode = true}, redis.call('HSCAN', KEYS[1], 0, 'COUNT', most)[2]
      for i = 1, #names do
        shown[names[i]] = true
      end
      for i = 1, math.min(#fields, 2000), 2 do
        if not shown[fields[i]] then
          value[#value + 1] = fields[i]
          value[#value + 1] = fields[i + 1]
        end
      end
    end
    return
  end
  local ours = count('ZCARD', KEYS[7]) + count('ZCARD', KEYS[8])
  hold = hold + math.max(redis.call('HLEN', KEYS[1]) - 1 - ours, 0)
  local fields, claims = redis.call('HSCAN', KEYS[1], 0, 'COUNT', most)[2], {}
  -- a small hash is shown as a whole
  for i = 1, math.min(#fields, 2000), 2 do
    claims[#claims + 1] = (string.gsub(fields[i], ':write$', ''))
  end
  known = claims[1] and redis.pcall('HMGET', KEYS[13], unpack(claims)) or {}
  for i = 1, #claims do
    if not known[i] and claims[i] ~= 'mode' and #names < most then
      names[#names + 1] = claims[i]
      value[#value + 1] = fields[2 * i - 1]
      value[#value + 1] = fields[2 * i]
    end
  end
end
local waiting
local shared = KEYS[15] and redis.pcall('LRANGE', KEYS[15], 0, 2 * most - 1) or {}
if kind == 'hash' and not mode and shared[1] then
  -- a lock that is Java's does not say whether it is a fair one, but its line does
  local came, kept = redis.pcall('ZMSCORE', KEYS[4], unpack(shared)), redis.pcall('ZMSCORE', KEYS[5], unpack(shared))
  for i = 1, #shared do
    local ours = came[i] and kept[i]
    if #line < 3 * most and (not ours or tonumber(kept[i]) > now) then
      in_line(shared[i], 'fair', ours and came[i])
    end
  end
  -- those of ours who have died stand there until they come first
  waiting = math.max(count('LLEN', KEYS[15]) - count('ZCOUNT', KEYS[5], '-inf', now), #line / 3)
elseif fair then
  stand(KEYS[4], KEYS[5], 'fair')
  waiting = count('ZCOUNT', KEYS[5], from_now, '+inf')
elseif mode then
  look_inside()
  stand(KEYS[9], KEYS[11], 'write')
  stand(KEYS[10], KEYS[11], 'read')
  waiting = count('ZCOUNT', KEYS[11], from_now, '+inf')
else
  waiting = count('ZCARD', KEYS[3])
end
local sight = {
  redis.call('PTTL', KEYS[1]),
  time[1] .. string.format('%06d', time[2]),
  value,
  waiting,
  ends,
  line,
  shares,
  hold
}
