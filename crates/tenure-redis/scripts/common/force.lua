-- force: frees a lock whoever holds it, and tells those who wait and those who held it. Of many who did, those who are left are
--        told by forced.lua.
-- keys, args: as sight.lua, which comes before, after put_out.lua
-- reply: as sight.lua, of before; then 'claims' if those who held it are still to be told, 'readers' if there are Redisson's
--        among them, or ''
local fields, hash = value, kind == 'hash'
if kind == 'string' then
  if string.find(value, '^%-?%d+$') and #value < 12 then
    -- a count: who has some of it is told elsewhere
    sight[9] = ''
    return sight
  end
  local held = string.sub(value, -5) == ' line' and string.sub(value, 1, -6) or value
  local client, number = string.match(held, '^([%x-]+):(%d+%^?) %d+$')
  if not client or #client ~= 36 or #value >= 128 then
    return redis.error_reply('NOTALOCK the key holds a string that is no lock of this library: look what it is first')
  end
  fields = {client .. ':' .. number, ''}
elseif mode then
  -- of many, some show what it is; a small hash is shown as a whole
  fields = redis.call('HSCAN', KEYS[1], 0, 'COUNT', most)[2]
  for i = #fields, 2001, -1 do
    fields[i] = nil
  end
end
if hash then
  local marks = {fence = true, line = true, change = true, nested = true, fair = true, fenced = true}
  local claims = 0
  for i = 1, #fields, 2 do
    local name, entry = fields[i], fields[i + 1]
    local client = string.match(name, '^([%x-]+):.')
    local shape = string.sub(name, -1) == '^' and '^%d+ %d+ %d+$' or '^%d+$'
    if mode then
      shape = mode == 'tenure' and '^%l+ %d+ %d+ %d+ %d+$' or '^%d+$'
    end
    if client and #client == 36 and string.find(entry, shape) then
      claims = claims + 1
    elseif not (mode and name == 'mode') and not (marks[name] and string.find(entry, '^%d+$')) then
      return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
    end
  end
  if claims == 0 then
    return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
  end
end
sight[9] = ''
if fields[1] then
  local redissons = mode and mode ~= 'tenure'
  if hash and redis.call('HLEN', KEYS[1]) > #fields / 2 then
    sight[9] = redissons and 'readers' or 'claims'
    redis.call('UNLINK', KEYS[14])
    redis.call('RENAME', KEYS[1], KEYS[14])
    redis.call('PEXPIRE', KEYS[14], 60000)
    fields = {}
  end
  redis.call('UNLINK', KEYS[1], KEYS[7], KEYS[8], KEYS[13])
  -- the lock is free by now, and an error would say that it is not: whoever cannot be told looks by itself
  put_out(ARGV[1], redissons and (string.find(KEYS[1], '{', 1, true) and KEYS[1] or '{' .. KEYS[1] .. '}'), fields)
  if mode then
    -- all who read, and the first to write; the lock itself knows whose turn it is
    for i = 1, #line, 3 do
      if line[i + 1] == 'write' then
        redis.pcall('PUBLISH', ARGV[1] .. string.match(line[i], '^[^:]*'), 'call ' .. line[i])
        break
      end
    end
    redis.pcall('PUBLISH', KEYS[6], '1')
  else
    if shared[1] then
      if line[1] then
        redis.pcall('PUBLISH', KEYS[2] .. ':' .. line[1], '0')
      end
    elseif fair and line[1] then
      redis.pcall('PUBLISH', ARGV[1] .. string.match(line[1], '^[^:]*'), 'call ' .. line[1])
    elseif not fair then
      local first = redis.pcall('ZPOPMIN', KEYS[3])
      if first[1] then
        redis.pcall('PUBLISH', ARGV[1] .. first[1], 'turn ' .. KEYS[1])
      end
    end
    redis.pcall('PUBLISH', KEYS[2], '0')
  end
end
return sight
