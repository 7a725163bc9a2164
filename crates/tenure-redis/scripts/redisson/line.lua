-- line: those who wait for a fair lock, in Redisson's line. Its times are by clients' clocks, and it has no other sign of
--       life; ours ask again, and are passed over when they do not.
-- keys: `own` the line, a list; then until when Redisson waits for each, in ms; then since when, and until when, each place of
--       ours is kept
-- args: `notice`, what the channel of one who waits begins with
-- before: `own`, where its keys begin; `now`, the server's time in µs
local queue, patience, came, places = KEYS[own], KEYS[own + 1], KEYS[own + 2], KEYS[own + 3]
-- Redisson counts on each to hold the lock for this long, in ms. What is known of our places outlasts what it is told of them
-- by the other, so that those who died are told from Redisson's, who are waited for
local TURN, MEMORY = 300000, 60000
local ms = math.floor(now / 1000)

-- those who stand from a place on, counted from 0, have come nearer by so many turns; those far behind, when it concerns them
local function come_nearer(names, from, turns)
  local until_when = redis.call('ZMSCORE', patience, unpack(names))
  local ours = redis.call('ZMSCORE', places, unpack(names))
  local longest, nearer = math.max(redis.call('PTTL', KEYS[1]), TURN), {}
  for i = 1, #names do
    if until_when[i] then
      local own = ms + (from + i) * TURN
      local at = math.min(until_when[i] - turns * TURN, own + longest)
      -- one of Redisson's is waited for from when its turn comes, as it would be behind its own
      nearer[#nearer + 1] = string.format('%d', ours[i] and at or math.max(at, own))
      nearer[#nearer + 1] = names[i]
    end
  end
  if nearer[1] then
    redis.call('ZADD', patience, unpack(nearer))
  end
end

local function forget(claims)
  redis.call('ZREM', patience, unpack(claims))
  redis.call('ZREM', came, unpack(claims))
  redis.call('ZREM', places, unpack(claims))
end

-- takes one out, wherever it stands; those behind it come nearer
local function leave_line(claim)
  if not redis.call('ZSCORE', patience, claim) and not redis.call('ZSCORE', places, claim) then
    return false
  end
  local at = redis.call('LPOS', queue, claim)
  if at then
    redis.call('LREM', queue, 1, claim)
  end
  forget({claim})
  local behind = at and redis.call('LRANGE', queue, at, at + 99) or {}
  if behind[1] then
    come_nearer(behind, at, 1)
  end
  return at and true or false
end

local enter_from_line = leave_line

-- takes those out of the first of the line who are gone: ours whose places have ended, and at its head Redisson's that were
-- waited for long enough, or of which only the name is left. How many that were
local function sweep()
  local all = redis.call('LRANGE', queue, 0, 99)
  if not all[1] then
    return 0
  end
  local place, until_when = redis.call('ZMSCORE', places, unpack(all)), redis.call('ZMSCORE', patience, unpack(all))
  local gone, stay, turns = {}, {}, 0
  for i = 1, #all do
    local is_gone
    if place[i] then
      is_gone = tonumber(place[i]) <= now
      turns = turns + (is_gone and 1 or 0)
    else
      is_gone = not stay[1] and not (until_when[i] and tonumber(until_when[i]) > ms)
    end
    local into = is_gone and gone or stay
    into[#into + 1] = all[i]
  end
  if gone[1] then
    redis.call('LTRIM', queue, #all, -1)
    for i = #stay, 1, -1 do
      redis.call('LPUSH', queue, stay[i])
    end
    forget(gone)
    local behind = redis.call('LRANGE', queue, 0, 99)
    if behind[1] and turns > 0 then
      come_nearer(behind, 0, turns)
    end
  end
  return #gone
end

-- whoever comes first, when those whose places have ended are gone; and whether any had to go
local function first_in_line()
  local dead = redis.call('ZCOUNT', places, '-inf', now)
  if dead > 100 and dead == redis.call('ZCARD', places) and dead == redis.call('LLEN', queue) then
    -- nobody else is left
    redis.call('UNLINK', queue, patience, came, places)
    return nil, true
  end
  local passed = false
  for _ = 1, 10 do
    local first = redis.call('LINDEX', queue, 0)
    local place = first and redis.call('ZSCORE', places, first)
    local until_when = first and not place and redis.call('ZSCORE', patience, first)
    local comes = (place and tonumber(place) > now) or (until_when and tonumber(until_when) > ms)
    if comes and dead == 0 then
      break
    end
    local gone = first and sweep() or 0
    passed = passed or gone > 0
    if gone == 0 then
      break
    end
    dead = 0
  end
  if redis.call('LLEN', queue) <= 100 and redis.call('ZCOUNT', places, '-inf', now) > 0 then
    -- Redisson took them out of its line
    local out = redis.call('ZRANGE', places, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)
    passed = true
    forget(out)
  end
  return redis.call('LINDEX', queue, 0) or nil, passed
end

-- where a claim stands, counted from 0, or -1; the line is gone through only for one that came to it
local function ahead_of(claim)
  local came_to_it = redis.call('ZSCORE', patience, claim) or redis.call('ZSCORE', places, claim)
  return came_to_it and redis.call('LPOS', queue, claim) or -1
end

-- takes a place at the end, or keeps the one it has, for so many ms
local function stand(claim, keep)
  local ahead = ahead_of(claim)
  if ahead < 0 then
    ahead = redis.call('RPUSH', queue, claim) - 1
  end
  redis.call('ZADD', came, 'NX', now, claim)
  redis.call('ZADD', places, 'GT', now + keep * 1000, claim)
  redis.call('ZADD', patience, string.format('%d', ms + ahead * TURN + keep), claim)
  local known = string.format('%d', ahead * TURN + keep + MEMORY)
  for _, key in ipairs({came, places}) do
    if redis.call('PTTL', key) < tonumber(known) then
      redis.call('PEXPIRE', key, known)
    end
  end
end

-- µs for which a place is kept
local function kept(claim)
  local place = redis.call('ZSCORE', places, claim)
  if place then
    return place - now
  end
  return math.max((redis.call('ZSCORE', patience, claim) or ms) - ms, 0) * 1000
end

local function call(claim)
  redis.pcall('PUBLISH', notice .. ':' .. claim, '0')
end
