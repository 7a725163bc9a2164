-- line: those who wait for a fair lock, in Redisson's line. Its times are by clients' clocks, and it has no other sign of
--       life; ours ask again, and are passed over when they do not.
-- keys: `own` the line, a list; then until when Redisson waits for each, in ms; then since when, and until when, each place of
--       ours is kept
-- args: `notice`, what the channel of one who waits begins with
-- before: `own`, where its keys begin; `now`, the server's time in µs
local queue, patience, came, places = KEYS[own], KEYS[own + 1], KEYS[own + 2], KEYS[own + 3]
-- Redisson counts on each to hold the lock for this long, in ms. What is known of our places outlasts them by the other, so
-- that those who died are told from Redisson's, who are waited for
local TURN, MEMORY = 300000, 60000
local ms = math.floor(now / 1000)

-- takes a claim out, wherever it stands; those behind it come nearer
local function leave_line(claim)
  if not redis.call('ZSCORE', patience, claim) and not redis.call('ZSCORE', places, claim) then
    return false
  end
  local all, behind = redis.call('LRANGE', queue, 0, -1), false
  for i = 1, #all do
    if all[i] == claim then
      behind = true
    elseif behind and redis.call('ZSCORE', patience, all[i]) then
      redis.call('ZINCRBY', patience, -TURN, all[i])
    end
  end
  redis.call('LREM', queue, 0, claim)
  redis.call('ZREM', patience, claim)
  redis.call('ZREM', came, claim)
  redis.call('ZREM', places, claim)
  return true
end

local enter_from_line = leave_line

-- whoever comes first, when those whose places have ended are gone; and whether any had to go
local function first_in_line()
  local passed = false
  local dead = redis.call('ZRANGEBYSCORE', places, '-inf', now)
  for i = 1, #dead do
    passed = leave_line(dead[i]) or passed
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
  for _, key in ipairs({came, places}) do
    if redis.call('PTTL', key) < keep + MEMORY then
      redis.call('PEXPIRE', key, keep + MEMORY)
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
