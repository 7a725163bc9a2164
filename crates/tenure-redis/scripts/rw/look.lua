-- look: a read-write lock as it is now, when all that has ended is gone from it.
-- before: `keys`, by name: lock, reading and writing (who is in, by when their leases end), writers and readers (who wait,
--         by when they came; one that reads already is counted backwards, and so comes first), places (until when each place
--         in line is kept), pass (readers who came by then go before the next writer)
-- after: `now`, the server's time in µs; `mode`, 'tenure' if anybody of ours is in, another library's, or none; `reads` and
--        `writes`, how many are in; `news`, whether anything had ended
-- reply: an error if the key is in use for something else, of which nothing was changed
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local mode = redis.call('HGET', keys.lock, 'mode')
if not mode and redis.call('EXISTS', keys.lock) == 1 then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
end
if mode and mode ~= 'tenure' and mode ~= 'read' and mode ~= 'write' then
  return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
end
local news = false
local function forget(ended_by, ...)
  local ended = redis.call('ZRANGEBYSCORE', ended_by, '-inf', now, 'LIMIT', 0, 100)
  while ended[1] do
    news = true
    redis.call('ZREM', ended_by, unpack(ended))
    for i = 1, select('#', ...) do
      local key = select(i, ...)
      redis.call(key == keys.lock and 'HDEL' or 'ZREM', key, unpack(ended))
    end
    ended = redis.call('ZRANGEBYSCORE', ended_by, '-inf', now, 'LIMIT', 0, 100)
  end
end
local reads, writes = 0, 0
if mode == 'tenure' then
  forget(keys.reading, keys.lock)
  forget(keys.writing, keys.lock)
  reads, writes = redis.call('ZCARD', keys.reading), redis.call('ZCARD', keys.writing)
  if reads + writes == 0 then
    redis.call('DEL', keys.lock)
    mode = false
  end
elseif redis.call('EXISTS', keys.reading, keys.writing) > 0 then
  -- somebody removed the lock itself
  redis.call('DEL', keys.reading, keys.writing)
end
forget(keys.places, keys.writers, keys.readers)

-- takes a claim out of line; with the last, all that was kept for them goes
local function leave_line(claim)
  local left = redis.call('ZREM', keys.places, claim) == 1
  if left then
    redis.call('ZREM', keys.writers, claim)
    redis.call('ZREM', keys.readers, claim)
    if redis.call('EXISTS', keys.places) == 0 then
      redis.call('DEL', keys.pass)
    end
  end
  return left
end

-- the last to come to the line, if there is one
local function last_in_line()
  local last
  for _, key in ipairs({keys.writers, keys.readers}) do
    -- one that is counted backwards comes first, and is the only one of its sort
    local found = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
    local other = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if found then
      last = math.max(last or 0, math.abs(found), math.abs(other))
    end
  end
  return last
end

-- remembers that a writer is in: readers who wait by now have waited for one
local function note_writers()
  if writes > 0 then
    local last = last_in_line()
    if last then
      local kept = redis.call('PTTL', keys.places)
      redis.call('SET', keys.pass, string.format('%d', math.max(now, last)), 'PX', math.max(kept, 1))
    end
  end
end

-- everything lasts as long as whoever stays in for longest
local function last_until_all_end()
  local latest = 0
  for _, key in ipairs({keys.reading, keys.writing}) do
    latest = math.max(latest, tonumber(redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] or 0))
  end
  for _, key in ipairs({keys.lock, keys.reading, keys.writing}) do
    redis.call('PEXPIREAT', key, string.format('%d', math.ceil(latest / 1000)))
  end
  return latest
end

-- calls those whose turn it is; readers all at once, unless that was said already
local function call(notice, channel, said)
  if writes > 0 then
    return
  end
  local pass = redis.pcall('GET', keys.pass)
  local writer = redis.pcall('ZRANGE', keys.writers, 0, 0, 'WITHSCORES')
  local readers = not writer[1] and '+inf' or (type(pass) == 'string' and pass) or '-inf'
  if redis.pcall('ZCOUNT', keys.readers, '-inf', readers) ~= 0 then
    if not said then
      redis.pcall('PUBLISH', channel, '1')
    end
  elseif writer[1] and reads == 0 then
    redis.pcall('PUBLISH', notice .. string.match(writer[1], '^[^:]*'), 'call ' .. writer[1])
  end
  if writer[2] and tonumber(writer[2]) < 0 and reads > 0 then
    redis.pcall('PUBLISH', notice .. string.match(writer[1], '^[^:]*'), 'call ' .. writer[1])
  end
end
