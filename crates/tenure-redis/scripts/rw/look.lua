-- look: a read-write lock as it is now, when all that has ended is gone from it.
-- before: first.lua, short.lua, now.lua, shares.lua of the layout, `no_lock`, and `keys`, by name: lock, reading and writing (who is in,
--         by when their leases end), writers and readers (who wait, by when they came; one that reads already is counted
--         backwards, and so comes first), places (until when each place in line is kept), pass (readers who came by then go before the next writer)
-- after: `mode`, the hash's, or none; `reads` and `writes`, how many of ours are in; `others_read` and `others_write`, how many of others; `news`, whether anything had ended
-- reply: what `no_lock` makes of an error if the key is in use for something else, of which nothing was changed
local mode = word_of(keys.lock, 'mode')
if type(mode) == 'table' then
  return no_lock(mode)
end
if not mode and redis.call('EXISTS', keys.lock) == 1 then
  return no_lock(redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind'))
end
if mode and mode ~= 'tenure' and mode ~= 'read' and mode ~= 'write' then
  return no_lock(redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind'))
end
-- whether what the hash has is what locks have; of many fields, some show it
local function is_lock()
  local size = redis.call('HLEN', keys.lock)
  if not is_short(keys.lock, size, 2^20) then
    return false
  end
  local fields = redis.call('HSCAN', keys.lock, 0, 'COUNT', 100)[2]
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    local claim = string.find(name, ':', 1, true) == 37 and string.find(name, '^[%x-]+:.')
    if name ~= 'mode' and not (claim and (string.find(value, '^%d+$') or string.find(value, '^%l+ %d+ %d+ %d+ %d+$'))) then
      return false
    end
  end
  return size > 1
end
local news = false
-- takes out of a set what has ended in it: of much, some; whether more may be left
local function forget(ended_by, gone)
  local ended = redis.call('ZRANGEBYSCORE', ended_by, '-inf', now, 'LIMIT', 0, 100)
  if ended[1] then
    news = true
    redis.call('ZREM', ended_by, unpack(ended))
    gone(ended)
  end
  return ended[100] ~= nil
end
local reads, writes = 0, 0
-- whatever is not all ours is looked at before anything is changed
if mode and redis.call('ZCARD', keys.reading) + redis.call('ZCARD', keys.writing) ~= redis.call('HLEN', keys.lock) - 1
  and not is_lock() then
  return no_lock(redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind'))
end
if mode and is_ours(mode) then
  reconcile()
  forget(keys.reading, take_away)
  forget(keys.writing, take_away)
  reads, writes = alive(keys.reading), alive(keys.writing)
  if news then
    settle()
  end
elseif not mode and redis.call('EXISTS', keys.reading, keys.writing) > 0 then
  -- somebody removed the lock itself
  forget_all()
end
local others_read, others_write = strangers(mode)
-- nobody is in any more: whatever is left of them goes
local function be_free()
  redis.call('UNLINK', keys.lock)
  forget_all()
end
if mode and reads + writes + others_read + others_write == 0 then
  be_free()
  mode = false
end
local crowded = forget(keys.places, function(ended)
  redis.call('ZREM', keys.writers, unpack(ended))
  redis.call('ZREM', keys.readers, unpack(ended))
end)
local places = redis.call('EXISTS', keys.places)
if (crowded and alive(keys.places) == 0) or (places == 0 and redis.call('EXISTS', keys.writers, keys.readers) > 0) then
  -- nobody is left, or only names are
  redis.call('UNLINK', keys.places, keys.writers, keys.readers, keys.pass)
end

-- who comes first of a line, and since when
local function first_in(line)
  local first, since, gone = first_of(line, keys.places, now)
  news = news or gone
  return first, tonumber(since)
end

-- takes a claim out of line; with the last, all that was kept for them goes
local function leave_line(claim)
  local left = redis.call('ZREM', keys.places, claim)
  left = left + redis.call('ZREM', keys.writers, claim) + redis.call('ZREM', keys.readers, claim)
  if left > 0 and redis.call('EXISTS', keys.places) == 0 then
    redis.call('DEL', keys.pass)
  end
  return left > 0
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

-- when the last of ours ends
local function latest_end()
  local latest = 0
  for _, key in ipairs({keys.reading, keys.writing}) do
    latest = math.max(latest, tonumber(redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] or 0))
  end
  return latest
end

-- calls those whose turn it is; readers all at once, unless that was said already
local function call(notice, channel, said)
  if writes + others_write > 0 then
    return
  end
  local pass = redis.pcall('GET', keys.pass)
  local writer, came = first_in(keys.writers)
  local reader, since = first_in(keys.readers)
  if reader and (not writer or since <= (tonumber(type(pass) == 'string' and pass or 0) or 0)) then
    if not said then
      redis.pcall('PUBLISH', channel, '1')
    end
  elseif writer and reads + others_read == 0 then
    redis.pcall('PUBLISH', notice .. string.match(writer, '^[^:]*'), 'call ' .. writer)
  end
  if writer and came < 0 and reads > 0 then
    redis.pcall('PUBLISH', notice .. string.match(writer, '^[^:]*'), 'call ' .. writer)
  end
end
