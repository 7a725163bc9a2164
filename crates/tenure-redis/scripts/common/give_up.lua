-- give_up: remembers that more of a client's is over, as given_up.lua says.

-- adds stretches, with spaces between them, and has all be remembered for so many ms at least; an error if that could not be
-- written, so that it is tried again
local function give_up(key, remember, stretches)
  for last, first in string.gmatch(stretches, '([%d/]+)-([%d/]+)') do
    -- they lie in order: of those that end inside of it the first begins first, and the next may begin inside of it
    local met = redis.pcall('ZRANGE', key, '[' .. first, '(' .. last .. '.', 'BYLEX', 'LIMIT', 0, 1)
    if met.err then
      return met
    end
    local next = redis.call('ZRANGE', key, '[' .. last .. '.', '+', 'BYLEX', 'LIMIT', 0, 1)[1]
    local till, since = last, first
    local begins = met[1] and string.match(met[1], '-(.*)')
    if begins and begins < since then
      since = begins
    end
    if next and string.match(next, '-(.*)') <= last then
      till, begins = string.match(next, '(.*)-(.*)')
      since = begins < since and begins or since
    else
      next = nil
    end
    local all = till .. '-' .. since
    if (next or met[1]) ~= all then
      local added = redis.pcall('ZADD', key, 0, all)
      if type(added) == 'table' then
        return added
      end
    end
    if next and next ~= all then
      redis.call('ZREM', key, next)
    end
    if met[1] and met[1] ~= all then
      redis.call('ZREMRANGEBYLEX', key, '[' .. first, '(' .. (till == last and all or last .. '.'))
      if till == last then
        redis.call('ZREMRANGEBYLEX', key, '(' .. all, '(' .. last .. '.')
      end
    end
  end
  if redis.call('PTTL', key) < tonumber(remember) then
    redis.call('PEXPIRE', key, remember)
  end
end
