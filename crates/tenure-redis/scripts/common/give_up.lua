-- give_up: remembers that more of a client's is over, as given_up.lua says.

-- adds stretches, with spaces between them, and has all be remembered for so many ms at least; an error if that could not be
-- written, so that it is tried again
local function give_up(key, remember, stretches)
  for last, first in string.gmatch(stretches, '([%d/]+)-([%d/]+)') do
    -- those that end inside of it, and the next, which may begin there
    local met = redis.pcall('ZRANGE', key, '[' .. first, '(' .. last .. '.', 'BYLEX')
    if met.err then
      return met
    end
    met[#met + 1] = redis.call('ZRANGE', key, '[' .. last .. '.', '+', 'BYLEX', 'LIMIT', 0, 1)[1]
    local till, since, over = last, first, {}
    for _, stretch in ipairs(met) do
      local ends, begins = string.match(stretch, '(.*)-(.*)')
      if begins <= last then
        over[#over + 1] = stretch
        till, since = ends > till and ends or till, begins < since and begins or since
      end
    end
    local all = till .. '-' .. since
    if over[1] ~= all then
      local added = redis.pcall('ZADD', key, 0, all)
      if type(added) == 'table' then
        return added
      end
      for _, stretch in ipairs(over) do
        if stretch ~= all then
          redis.call('ZREM', key, stretch)
        end
      end
    end
  end
  if redis.call('PTTL', key) < tonumber(remember) then
    redis.call('PEXPIRE', key, remember)
  end
end
