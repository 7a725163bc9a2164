-- stand: whether a client that stays is to stand in line, behind a holder that will call it.
-- keys: 1 the lock
-- args: 1 and 4 as acquire.lua
-- before: `fields`, all that is in the hash, and its `fence`; another library's lock has none, and calls nobody; `mark`, a field
--         more that locks of this kind have, or none
-- after: `stands`; line.lua and holder.lua follow
-- reply: an error if the hash is no lock, of which nothing was changed
local stands = ARGV[4] ~= '' and fence
if stands then
  -- only in a lock of ours: a field more would change what another key means
  local claims, marked = 0, false
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if string.find(name, ':', 1, true) == 37 and string.find(name, '^[%x-]+:.')
      and string.find(value, string.sub(name, -1) == '^' and '^%d+ %d+ %d+$' or '^%d+$') then
      claims = claims + 1
    elseif name == 'line' then
      marked = true
    elseif not (name == 'fence' or name == 'change' or name == 'nested' or name == mark) or not string.find(value, '^%d+$') then
      claims = 0
      break
    end
  end
  if claims == 0 then
    return redis.error_reply('NOTALOCK the key holds a hash that is no lock of this kind')
  end
  if not marked then
    redis.call('HSET', KEYS[1], 'line', '1')
  end
end
