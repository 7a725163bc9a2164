-- acquire, continued: look.lua comes before.
local claim, lease, kind = ARGV[1], tonumber(ARGV[2]) * 1000, ARGV[3]
local side = kind == 'read' and keys.reading or keys.writing
local ends = now + lease
local mine = lease_end(side, claim)
if mine then
  if mine < ends then
    redis.call('ZADD', side, ends, claim)
    moved(claim, ends)
    last_until(latest_end())
  end
  local _, token, _, count = string.match(value_of(claim), '^(%S+) (%d+) (%d+) (%d+)')
  return {token, count}
end
local kin = {}
local kin_reads, kin_writes, inherited = 0, 0, nil
for other in string.gmatch(ARGV[5], '[^/]+') do
  if not kin[other] and lease_end(keys.writing, other) then
    kin_writes = kin_writes + 1
    inherited = inherited or string.match(value_of(other), '^%S+ (%d+)')
  elseif not kin[other] and lease_end(keys.reading, other) then
    kin_reads = kin_reads + 1
  end
  kin[other] = true
end
local in_the_way, foreign = writes - kin_writes, others_write
if kind == 'write' then
  in_the_way, foreign = in_the_way + reads - kin_reads, foreign + others_read
end
local blocked = in_the_way + foreign > 0
local upgrades = blocked and kind == 'write' and kin_reads > 0 and kin_writes == 0
local own_line = kind == 'read' and keys.readers or keys.writers
local since = redis.call('ZSCORE', own_line, claim)
since = since and math.abs(since)
local writer, came = first_in(keys.writers)
if upgrades and writer and writer ~= claim and came < 0 then
  return {writer}
end
if not blocked and kin_reads + kin_writes == 0 then
  local pass = tonumber(redis.call('GET', keys.pass) or 0)
  if kind == 'read' then
    blocked = writer and not (since and since <= pass)
  else
    local reader, waits_since = first_in(keys.readers)
    blocked = (writer and writer ~= claim) or (reader and waits_since <= pass)
  end
end
if not blocked then
  local token = inherited
  if not token then
    local failed
    token, failed = count_up(KEYS[2], 1)
    if failed then
      return failed
    end
    if token < now then
      token = now
      redis.call('SET', KEYS[2], string.format('%d', now))
    end
    token = string.format('%d', token)
  end
  put(claim, kind, kind .. ' ' .. token .. ' ' .. string.format('%d', now) .. ' 1 0', ends)
  redis.call('ZADD', side, ends, claim)
  last_until(latest_end())
  if since then
    leave_line(claim)
  end
  if kind == 'write' then
    writes = writes + 1
    note_writers()
  else
    reads = reads + 1
  end
  if news then
    call(ARGV[6], KEYS[4])
  end
  return {token, '1'}
end
if ARGV[4] ~= '' then
  since = since or math.max(now, (last_in_line() or 0) + 1)
  redis.call('ZADD', own_line, string.format('%d', upgrades and -since or since), claim)
  redis.call('ZADD', keys.places, 'GT', now + ARGV[4] * 1000, claim)
  -- the line is gone when the last place in it is
  for _, key in ipairs({own_line, keys.places}) do
    if redis.call('PTTL', key) < tonumber(ARGV[4]) then
      redis.call('PEXPIRE', key, ARGV[4])
    end
  end
  note_writers()
end
if news then
  call(ARGV[6], KEYS[4])
end
local ahead = -1
if since then
  ahead = 0
  if not upgrades then
    local before = '(' .. string.format('%d', since)
    ahead = redis.call('ZCOUNT', keys.writers, '-inf', before) + redis.call('ZCOUNT', keys.readers, '-inf', before)
    if crowded then
      -- some of those who are gone may still stand there
      ahead = math.min(ahead, math.max(alive(keys.places) - 1, 0))
    end
  end
end
local stamp = time[1] .. string.format('%06d', time[2])
if foreign > 0 and (stranger or in_the_way == 0) then
  local lasts = unsure and 0 or redis.call('PTTL', keys.lock) * 1000
  return {lasts, stamp, {'mode', mode, stranger and stranger[1], stranger and stranger[2]}, '', ahead, 0}
end
-- of those in the way, the one that stays for longest
local longest, until_when
for _, key in ipairs({keys.reading, keys.writing}) do
  local found = redis.call('ZRANGE', key, 0, kin_reads + kin_writes, 'REV', 'WITHSCORES')
  for i = 1, #found, 2 do
    local other, last = found[i], tonumber(found[i + 1])
    if last <= now then
      break
    elseif not kin[other] then
      if not longest or last > until_when or (last == until_when and other > longest) then
        longest, until_when = other, last
      end
      break
    end
  end
end
if longest then
  local fields = {longest, value_of(longest)}
  return {latest_end() - now, stamp, fields, string.format('%d', until_when), ahead, 0}
end
-- free, or among readers: who comes first
local first, first_came = first_in(keys.writers)
local reader, reader_came = first_in(keys.readers)
if reader and (not first or reader_came < first_came) then
  first = reader
end
local kept = first and redis.call('ZSCORE', keys.places, first)
return {-2, stamp, {}, '', ahead, kept and math.max(kept - now, 0) or 0}
