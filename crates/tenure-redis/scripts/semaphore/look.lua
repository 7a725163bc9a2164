-- look: a semaphore as it is now, when all that has ended was given back.
-- keys: 1 how many permits are to be had, 2 its channel, 3 who has some: claim → how many, token, since when; `taken` → how
--       many that is together, `total` → how many there are, if that was said; 4 the claims by when their leases end, 5 the
--       line, by when each came to it, 6 until when each place in it is kept, 7 how many each of them wants, 8 and 9 what
--       permits with names and latches have beside their counts
-- before: first.lua, number.lua, `no_lock`; `notice`, what a client's own channel begins with
-- after: `count`, none if there is no semaphore; `taken`; `total`, none if nobody said; `news`, whether anybody in line may
--        have come nearer; `unsettled`, whether more has ended than was given back
-- reply: what `no_lock` makes of an error if the keys are in use for something else, of which nothing was changed
local sizes = {}
for i, verb in ipairs({'HLEN', 'ZCARD', 'ZCARD', 'ZCARD', 'HLEN'}) do
  local size = redis.pcall(verb, KEYS[i + 2])
  if type(size) == 'table' then
    return no_lock(size)
  end
  sizes[i + 2] = size
end
if count and sizes[3] == 0 and redis.call('EXISTS', KEYS[8], KEYS[9]) > 0 then
  return no_lock(redis.error_reply('NOTALOCK the key holds a count of another kind'))
end
local news, taken, total, unsettled = false, 0, nil, false

-- says how many are to be had now; to none or fewer nobody need be woken
local function tell()
  news = true
  if count > 0 then
    redis.pcall('PUBLISH', KEYS[2], string.format('%d', count))
  end
end

-- permits of ours come back
local function give_back(permits)
  taken = taken - permits
  redis.call('HSET', KEYS[3], 'taken', string.format('%d', taken))
  count = redis.call('INCRBY', KEYS[1], permits)
  if not total and redis.call('ZCARD', KEYS[4]) == 0 then
    -- nothing of ours is left beside a count that another library began
    redis.call('DEL', KEYS[3])
  end
  tell()
end

-- takes claims out of those who have some, and says how many that were
local function take_away(claims)
  local permits = 0
  for _, held in ipairs(redis.call('HMGET', KEYS[3], unpack(claims))) do
    permits = permits + (tonumber(string.match(held or '', '^%d+')) or 0)
  end
  redis.call('HDEL', KEYS[3], unpack(claims))
  redis.call('ZREM', KEYS[4], unpack(claims))
  return permits
end

if not count then
  -- whoever removed the count has made void what is beside it
  if sizes[3] + sizes[4] > 0 then
    redis.call('UNLINK', KEYS[3], KEYS[4])
  end
else
  local known = redis.call('HMGET', KEYS[3], 'total', 'taken')
  total, taken = tonumber(known[1]), tonumber(known[2]) or 0
  local permits = 0
  unsettled = sizes[4] > 0
  for _ = 1, unsettled and 10 or 0 do
    local ended = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, 100)
    unsettled = ended[100] ~= nil
    if ended[1] then
      permits = permits + take_away(ended)
    end
    if not unsettled then
      break
    end
  end
  if permits > 0 then
    give_back(permits)
  end
  -- another library may have added some
  if total and count + taken > total then
    total = count + taken
    redis.call('HSET', KEYS[3], 'total', string.format('%d', total))
  end
end

-- takes claims out of line; whether any stood there
local function leave_line(claims)
  redis.call('HDEL', KEYS[7], unpack(claims))
  return redis.call('ZREM', KEYS[5], unpack(claims)) + redis.call('ZREM', KEYS[6], unpack(claims)) > 0
end

if sizes[5] + sizes[6] > 0 then
  local dead = redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', now, 'LIMIT', 0, 100)
  if dead[1] then
    news = true
    leave_line(dead)
  end
  if redis.call('ZCOUNT', KEYS[6], '(' .. string.format('%d', now), '+inf') == 0 then
    -- nobody else is left
    redis.call('UNLINK', KEYS[5], KEYS[6], KEYS[7])
  else
    local _, _, gone = first_of(KEYS[5], KEYS[6], now)
    news = news or gone
  end
end

-- goes along the line from its head for as long as the permits last, and as `each` says so of a claim; whoever wants more than
-- there are takes none, and neither do those who are gone. Nobody comes after very many
local function along_the_line(permits, each)
  local at = 0
  while permits >= 0 do
    local claims = redis.pcall('ZRANGE', KEYS[5], at, at + 99)
    if not claims[1] then
      return permits
    elseif at >= 1000 then
      return -1
    end
    local wants = redis.pcall('HMGET', KEYS[7], unpack(claims))
    local kept = redis.pcall('ZMSCORE', KEYS[6], unpack(claims))
    for i, claim in ipairs(claims) do
      local want = tonumber(string.match(wants[i] or '', '%d+')) or 1
      local is_gone = not kept[i] or tonumber(kept[i]) <= now
      local left = (is_gone or (total and total > 0 and total < want)) and permits or permits - want
      if not is_gone and not each(claim, left) then
        return permits
      end
      permits = left
    end
    at = at + 100
  end
  return permits
end

-- calls those in line who can be served now, or be told that they never will, or the first of them alone; of many, those who
-- come first: each of them calls the next, and all look by themselves
local function call(first)
  local called = 0
  if count then
    along_the_line(math.max(count, 0), function(claim, left)
      if left >= 0 then
        redis.pcall('PUBLISH', notice .. string.match(claim, '^[^:]*'), 'call ' .. claim)
        called = called + 1
      end
      return left >= 0 and not first and called < 100
    end)
  end
end

-- lets there be so many
local function begin(permits)
  if permits > most or permits < least then
    return redis.error_reply('TOOMANY permits=' .. string.format('%.0f', permits))
  end
  redis.call('HSET', KEYS[3], 'total', string.format('%d', permits), 'taken', '0')
  -- of a latch that another library has opened
  redis.call('DEL', KEYS[9])
  redis.call('SET', KEYS[1], string.format('%d', permits))
  count, total = permits, permits
  tell()
end

-- so many more, or fewer, of which there are then so many, if that is known
local function change(more, all)
  for _, number in ipairs({count + more, all or 0}) do
    if number > most or number < least then
      return redis.error_reply('TOOMANY permits=' .. string.format('%.0f', number))
    end
  end
  if all then
    redis.call('HSET', KEYS[3], 'total', string.format('%d', all))
    total = all
  end
  count = redis.call('INCRBY', KEYS[1], string.format('%d', more))
  -- with fewer, somebody in line may want too many now
  news = true
  if more > 0 then
    tell()
  end
end
