-- given_up: what of a client's is over on this lock: a sorted set of stretches `<last>-<first>`, all with the score 0, that have
--           nothing in common; each end is the number of a claim and of an entry, as long as any other, so that texts sort as
--           numbers do.

-- whether an entry of a claim is; a claim without a number was made by another library
local function given_up(key, claim, entry)
  local number = string.match(claim, '^[^:]*:(%d+)%^?$')
  if not number then
    return false
  end
  local spot = string.format('%016d/%010d', number, entry)
  local stretch = redis.call('ZRANGE', key, '[' .. spot, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
  return stretch and string.match(stretch, '-(.*)') <= spot
end
