-- sight: a lock of whichever kind, as others see it. The first lines of `force` as well, which follows it there.
-- keys: 1 the lock, 2 its channel, 3 the line of clients that wait; of a fair lock, 4 the line and 5 until when each place in
--       it is kept; of a read-write lock, 6 its channel, 7 and 8 who reads and who writes, by when their leases end, 9 and 10
--       who waits to write and to read, 11 until when each place is kept, 12 by when readers have come who go first; in
--       Redisson's layout, 13 what our claims on a read-write lock are, and 14 the line for a fair one
-- reply: {time to live in ms, server time in µs as text, {field, value, …} of a hash or the first of a string, how many
--        wait, {claim, when its lease ends in µs, …} of a read-write lock, {claim, kind, since when in µs, …} of the first of
--        those who stand in line, {claim, what it is, …} of ours in Redisson's read-write lock}; no fields if it is free
local kind = redis.call('TYPE', KEYS[1]).ok
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local value, mode, fair = {}, nil, false
if kind == 'string' then
  value = redis.call('GETRANGE', KEYS[1], 0, 255)
elseif kind == 'hash' then
  mode = redis.call('HGET', KEYS[1], 'mode')
  local known = not mode or mode == 'tenure' or mode == 'read' or mode == 'write'
  if not known or (mode ~= 'tenure' and redis.call('HLEN', KEYS[1]) > (mode and 10000 or 64)) then
    return redis.error_reply('NOTALOCK the key is in use for something that is no lock')
  end
  value = redis.call('HGETALL', KEYS[1])
  fair = redis.call('HEXISTS', KEYS[1], 'fair') == 1
elseif kind ~= 'none' then
  return redis.error_reply('NOTALOCK the key is in use for something that is no lock')
end
local ends, line = {}, {}
local function in_line(claim, what, since)
  line[#line + 1] = claim
  line[#line + 1] = what
  line[#line + 1] = since and string.format('%d', math.abs(since)) or ''
end
-- those of a line whose places are still kept
local function stand(queue, places, what)
  local found = redis.pcall('ZRANGE', queue, 0, 199, 'WITHSCORES')
  for i = 1, #found, 2 do
    local kept = redis.pcall('ZSCORE', places, found[i])
    if type(kept) == 'string' and tonumber(kept) > now then
      in_line(found[i], what, found[i + 1])
    end
  end
end
local waiting
local shared = KEYS[14] and redis.pcall('LRANGE', KEYS[14], 0, -1) or {}
if kind == 'hash' and not mode and shared[1] then
  -- a lock that is Java's does not say whether it is a fair one, but its line does
  waiting = 0
  for i = 1, #shared do
    local since, kept = redis.pcall('ZSCORE', KEYS[4], shared[i]), redis.pcall('ZSCORE', KEYS[5], shared[i])
    local ours = type(since) == 'string' and type(kept) == 'string'
    if not ours or tonumber(kept) > now then
      waiting = waiting + 1
      if waiting <= 100 then
        in_line(shared[i], 'fair', ours and since)
      end
    end
  end
elseif fair then
  stand(KEYS[4], KEYS[5], 'fair')
  waiting = redis.pcall('ZCOUNT', KEYS[5], '(' .. string.format('%d', now), '+inf')
elseif mode then
  for i = 7, 8 do
    local found = redis.pcall('ZRANGE', KEYS[i], 0, -1, 'WITHSCORES')
    for j = 1, #found do
      ends[#ends + 1] = found[j]
    end
  end
  stand(KEYS[9], KEYS[11], 'write')
  stand(KEYS[10], KEYS[11], 'read')
  waiting = redis.pcall('ZCOUNT', KEYS[11], '(' .. string.format('%d', now), '+inf')
else
  waiting = redis.pcall('ZCARD', KEYS[3])
end
local sight = {
  redis.call('PTTL', KEYS[1]),
  time[1] .. string.format('%06d', time[2]),
  value,
  type(waiting) == 'number' and waiting or 0,
  ends,
  line,
  mode and mode ~= 'tenure' and redis.pcall('HGETALL', KEYS[13]) or {}
}
