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

-- takes claims out, wherever they stand; those behind them come nearer
local function take_out(claims)
  local gone, stay, left = {}, {}, 0
  for i = 1, #claims do
    gone[claims[i]] = true
  end
  local all = redis.call('LRANGE', queue, 0, -1)
  for i = 1, #all do
    local name = all[i]
    if gone[name] then
      left = left + 1
    else
      stay[#stay + 1] = name
      local until_when = left > 0 and redis.call('ZSCORE', patience, name)
      if until_when then
        local nearer = until_when - left * TURN
        if not redis.call('ZSCORE', places, name) then
          -- one of Redisson's is waited for from when its turn comes, as it would be behind its own
          nearer = math.max(nearer, ms + #stay * TURN)
        end
        redis.call('ZADD', patience, string.format('%d', nearer), name)
      end
    end
  end
  if left > 8 then
    redis.call('DEL', queue)
    for i = 1, #stay, 100 do
      redis.call('RPUSH', queue, unpack(stay, i, math.min(i + 99, #stay)))
    end
  end
  for i = 1, #claims, 100 do
    local some = {unpack(claims, i, math.min(i + 99, #claims))}
    redis.call('ZREM', patience, unpack(some))
    redis.call('ZREM', came, unpack(some))
    redis.call('ZREM', places, unpack(some))
  end
  for i = 1, left > 8 and 0 or #claims do
    redis.call('LREM', queue, 0, claims[i])
  end
  return left > 0
end

local function leave_line(claim)
  if not redis.call('ZSCORE', patience, claim) and not redis.call('ZSCORE', places, claim) then
    return false
  end
  return take_out({claim})
end

local enter_from_line = leave_line

-- whoever comes first, when those whose places have ended are gone; and whether any had to go
local function first_in_line()
  local passed = false
  local dead = redis.call('ZRANGEBYSCORE', places, '-inf', now)
  if dead[1] then
    passed = take_out(dead)
  end
  local first = redis.call('LINDEX', queue, 0)
  while first do
    local until_when = redis.call('ZSCORE', patience, first)
    if redis.call('ZSCORE', places, first) or (until_when and tonumber(until_when) > ms) then
      break
    end
    -- one of Redisson's that was waited for long enough, or of which only the name is left
    passed = true
    redis.call('LPOP', queue)
    redis.call('ZREM', patience, first)
    first = redis.call('LINDEX', queue, 0)
  end
  return first or nil, passed
end

local function ahead_of(claim)
  return redis.call('LPOS', queue, claim) or -1
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
