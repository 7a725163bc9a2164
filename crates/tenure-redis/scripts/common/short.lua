-- short: how large a hash is, before any of it is read. Reading what somebody keeps in a few large fields would keep the server
--        from everybody else. A user who has not the rights to look reads it all the same.

-- what stands in a field of which locks make one word; false if nothing does
local function word_of(key, field)
  local length = redis.pcall('HSTRLEN', key, field)
  if length == 0 then
    return false
  elseif type(length) == 'number' and length > 16 then
    return 'no word'
  end
  return redis.pcall('HGET', key, field)
end

-- whether the fields of a hash are as short as those of locks; of many, some tell. `room` is for what the server itself needs, in
-- bytes
local function is_short(key, fields, room)
  local bytes = redis.pcall('MEMORY', 'USAGE', key, 'SAMPLES', fields <= 64 and 0 or 100)
  return type(bytes) ~= 'number' or bytes <= room + 512 * fields
end

-- all that is in a lock that one at a time can have: field, value, …; nil if the hash is larger than any
local function fields_of(key)
  local fields = redis.call('HLEN', key)
  if fields == 0 then
    return {}
  elseif fields <= 64 and is_short(key, fields, 4096) then
    return redis.call('HGETALL', key)
  end
end
