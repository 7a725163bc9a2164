-- line: those who wait for a fair lock, in sets of our own.
-- keys: `own` the line, by when each came to it; the next until when each place in it is kept
-- args: `notice`, what a client's own channel begins with
-- before: first.lua; `own`, where its keys begin; `now`, the server's time in µs
local queue, places = KEYS[own], KEYS[own + 1]

-- whoever comes first, when those whose places have ended are gone; and whether any had to go
local function first_in_line()
  local dead = redis.pcall('ZRANGEBYSCORE', places, '-inf', now, 'LIMIT', 0, 100)
  if dead[1] then
    redis.pcall('ZREM', queue, unpack(dead))
    redis.pcall('ZREM', places, unpack(dead))
  end
  if dead[100] and redis.pcall('ZCOUNT', places, '(' .. string.format('%d', now), '+inf') == 0 then
    -- nobody else is left
    redis.pcall('UNLINK', queue, places)
    return nil, true
  end
  local first, _, gone = first_of(queue, places, now)
  return first, gone or dead[1] ~= nil
end

-- takes a place at the end, or keeps the one it has, for so many ms
local function stand(claim, keep)
  if not redis.call('ZSCORE', queue, claim) then
    local since, last = now, redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
    -- no two come at the same time
    if last and tonumber(last) >= since then
      since = tonumber(last) + 1
    end
    redis.call('ZADD', queue, since, claim)
  end
  redis.call('ZADD', places, 'GT', now + keep * 1000, claim)
  -- the line is gone when the last place in it is
  for _, key in ipairs({queue, places}) do
    if redis.call('PTTL', key) < tonumber(keep) then
      redis.call('PEXPIRE', key, keep)
    end
  end
end

-- goes, because it is in; and whether it stood there
local function enter_from_line(claim)
  return redis.call('ZREM', queue, claim) + redis.call('ZREM', places, claim) > 0
end

-- goes, because it gave up
local leave_line = enter_from_line

local function ahead_of(claim)
  local rank = redis.call('ZRANK', queue, claim)
  -- some of those who are gone may still stand there
  return rank and math.min(rank, redis.call('ZCOUNT', places, '(' .. string.format('%d', now), '+inf') - 1) or -1
end

-- µs for which a place is kept
local function kept(claim)
  return math.max((redis.call('ZSCORE', places, claim) or now) - now, 0)
end

local function call(claim)
  redis.pcall('PUBLISH', notice .. string.match(claim, '^[^:]*'), 'call ' .. claim)
end
