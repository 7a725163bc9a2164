-- first: who comes first of those who stand in line.

-- the first of a line whose place is kept, and since when it stands there; those before it are gone, and whether there were any.
-- Of very many who are gone, some still stand there, and one of them comes first until all are out
local function first_of(line, places, now)
  local found, gone = redis.pcall('ZRANGE', line, 0, 0, 'WITHSCORES'), false
  local kept = found[1] and redis.pcall('ZSCORE', places, found[1])
  for _ = 1, 10 do
    if not found[1] or (type(kept) == 'string' and tonumber(kept) > now) then
      break
    end
    gone = true
    local names = redis.pcall('ZRANGE', line, 0, 99)
    local until_when, out = redis.pcall('ZMSCORE', places, unpack(names)), {}
    for i = 1, #names do
      if until_when[i] and tonumber(until_when[i]) > now then
        break
      end
      out[i] = names[i]
    end
    redis.pcall('ZREM', line, unpack(out))
    redis.pcall('ZREM', places, unpack(out))
    found = redis.pcall('ZRANGE', line, 0, 0, 'WITHSCORES')
    kept = found[1] and redis.pcall('ZSCORE', places, found[1])
  end
  return found[1], found[2], gone
end
