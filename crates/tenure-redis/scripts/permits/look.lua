-- look: permits that have names, as they are now, when all that has ended was given back.
-- keys: 1 how many are to be had, 2 their channel, 3 the names of those that are taken, by when they end: in ms, as Redisson's
--       clients have it by their own clocks; 4 which of them are ours, by when they end: in µs of the server's time; 5 and 6
--       what semaphores and latches have beside their counts
-- before: number.lua, `no_lock`
-- after: `count`, none if there are no permits; `taken`; `total`; `shown`, what Redisson's clients are shown of an end; `news`,
--        always false: nobody stands in line; `unsettled`, whether more has ended than was given back
-- reply: what `no_lock` makes of an error if the keys are in use for something else, of which nothing was changed
local sizes = {}
for i = 3, 4 do
  sizes[i] = redis.pcall('ZCARD', KEYS[i])
  if type(sizes[i]) == 'table' then
    return no_lock(sizes[i])
  end
end
if count and sizes[3] == 0 and redis.call('EXISTS', KEYS[5], KEYS[6]) > 0 then
  return no_lock(redis.error_reply('NOTALOCK the key holds a count of another kind'))
end
local news, taken, total, unsettled = false, 0, nil, false

-- a second later, so that a client whose clock is ahead by less does not take what is not over
local function shown(ends)
  return math.ceil(ends / 1000) + 1000
end

-- says how many are to be had now; to none or fewer nobody need be woken
local function tell()
  if count > 0 then
    redis.pcall('PUBLISH', KEYS[2], string.format('%d', count))
  end
end

local function give_back(permits)
  if permits > 0 then
    taken = taken - permits
    count = redis.call('INCRBY', KEYS[1], permits)
    if taken == 0 then
      -- what another library gave back may still stand among ours
      redis.call('UNLINK', KEYS[4])
    end
    tell()
  end
end

if not count or sizes[3] == 0 then
  -- whoever removed the count, or gave all back, has made void what is beside it
  if sizes[4] > 0 then
    redis.call('UNLINK', KEYS[4])
  end
else
  taken = sizes[3]
  local permits = 0
  -- takes out of both sets, of those that have ended, whatever `is_over` says so of; whether more may be left
  local function sweep(ended_by, latest, is_over)
    for _ = 1, 10 do
      local ended = redis.call('ZRANGEBYSCORE', ended_by, '-inf', latest, 'WITHSCORES', 'LIMIT', 0, 100)
      if not ended[1] then
        return false
      end
      local ids, over = {}, {}
      for at = 1, #ended, 2 do
        ids[#ids + 1] = ended[at]
      end
      local others = redis.call('ZMSCORE', ended_by == KEYS[4] and KEYS[3] or KEYS[4], unpack(ids))
      for at, id in ipairs(ids) do
        if is_over(ended[2 * at], others[at]) then
          over[#over + 1] = id
        end
      end
      if over[1] then
        permits = permits + redis.call('ZREM', KEYS[3], unpack(over))
      end
      if ended_by == KEYS[4] then
        redis.call('ZREM', KEYS[4], unpack(ids))
      elseif not over[1] then
        return false
      end
      if not ids[100] then
        return false
      end
    end
    return true
  end
  -- one that lasts longer than was shown was renewed by another library, and is its affair from now on
  local ours_left = sizes[4] > 0 and sweep(KEYS[4], now, function(ends, told)
    return told and tonumber(told) <= shown(ends)
  end)
  -- by its clients' clocks, which are taken to be behind by less than a second
  local others_left = sweep(KEYS[3], math.floor(now / 1000) - 1000, function(_, ends)
    return not ends
  end)
  unsettled = ours_left or others_left
  give_back(permits)
end
if count then
  total = count + taken
end

-- makes a permit that is taken last until then at least
local function last_until(id, ends)
  if redis.call('ZSCORE', KEYS[4], id) then
    redis.call('ZADD', KEYS[4], 'GT', ends, id)
  end
  redis.call('ZADD', KEYS[3], 'GT', shown(ends), id)
end

-- lets there be so many
local function begin(permits)
  if permits > most or permits < least then
    return redis.error_reply('TOOMANY permits=' .. string.format('%.0f', permits))
  end
  -- names of a count that is gone, and a latch that another library has opened
  redis.call('UNLINK', KEYS[3], KEYS[4], KEYS[6])
  redis.call('SET', KEYS[1], string.format('%d', permits))
  count, total = permits, permits
  tell()
end

-- so many more, or fewer
local function change(more)
  for _, number in ipairs({count + more, total + more}) do
    if number > most or number < least then
      return redis.error_reply('TOOMANY permits=' .. string.format('%.0f', number))
    end
  end
  count = redis.call('INCRBY', KEYS[1], string.format('%d', more))
  total = total + more
  if more > 0 then
    tell()
  end
end

-- nobody stands in line
local function call()
end
