-- shares: who is in, as Redisson's layout has them: in the lock's hash, with a key of its own for the lease of each reader.
--         What that cannot hold of ours is kept beside it.
-- before: `keys`, as look.lua names them, and besides shares (what our claims are: side, token, since when, count, change)
--         and prefix (what readers' keys begin with)
local function is_ours(mode)
  return mode ~= 'tenure'
end

local function value_of(claim)
  return redis.call('HGET', keys.shares, claim)
end

-- as what a claim of ours stands in the hash
local function field_of(claim)
  local writes = string.find(value_of(claim) or '', '^write')
  return writes and claim .. ':write' or claim
end

-- the key that lasts as long as a reader's lease
local function lease_of(claim)
  return keys.prefix .. ':' .. claim .. ':rwlock_timeout:1'
end

local function moved(claim, ends)
  if field_of(claim) == claim then
    redis.call('SET', lease_of(claim), '1', 'PXAT', string.format('%d', math.ceil(ends / 1000)))
  end
end

local function put(claim, kind, value, ends)
  redis.call('HSET', keys.shares, claim, value)
  redis.call('HSET', keys.lock, field_of(claim), '1')
  if kind == 'write' then
    redis.call('HSET', keys.lock, 'mode', 'write')
  else
    redis.call('HSETNX', keys.lock, 'mode', 'read')
    moved(claim, ends)
  end
end

local function take_away(claims)
  for i = 1, #claims do
    redis.call('HDEL', keys.lock, field_of(claims[i]))
    redis.call('DEL', lease_of(claims[i]))
    redis.call('HDEL', keys.shares, claims[i])
  end
end

-- whether a reader of Redisson's has a lease that still runs
local function reads_on(name, count)
  for i = 1, math.min(tonumber(count) or 0, 1000) do
    if redis.call('EXISTS', keys.prefix .. ':' .. name .. ':rwlock_timeout:' .. i) == 1 then
      return true
    end
  end
  return false
end

local function strangers(mode)
  if mode == 'tenure' then
    return 1, 1
  end
  if not mode then
    return 0, 0
  end
  local ours = redis.call('ZCARD', keys.reading) + redis.call('ZCARD', keys.writing)
  if redis.call('HLEN', keys.lock) - 1 == ours and ours > 0 then
    return 0, 0
  end
  local reads, writes = 0, 0
  local fields = redis.call('HGETALL', keys.lock)
  for i = 1, #fields, 2 do
    local name, count = fields[i], fields[i + 1]
    local writer = string.match(name, '^(.*):write$')
    if name ~= 'mode' and redis.call('HEXISTS', keys.shares, writer or name) == 0 then
      if writer then
        writes = writes + 1
      elseif mode == 'write' or reads_on(name, count) then
        reads = reads + 1
      else
        -- it died, and Redisson would find out when the last of the others leaves
        redis.call('HDEL', keys.lock, name)
      end
    end
  end
  return reads, writes
end

-- ours of whom the hash knows nothing any more were put out
local function reconcile()
  local ours = redis.call('ZCARD', keys.reading) + redis.call('ZCARD', keys.writing)
  if redis.call('HLEN', keys.lock) - 1 == ours then
    return
  end
  for _, side in ipairs({keys.reading, keys.writing}) do
    local all = redis.call('ZRANGE', side, 0, -1)
    for i = 1, #all do
      if redis.call('HEXISTS', keys.lock, field_of(all[i])) == 0 then
        redis.call('ZREM', side, all[i])
        redis.call('HDEL', keys.shares, all[i])
      end
    end
  end
end

local function forget_all()
  redis.call('DEL', keys.reading, keys.writing, keys.shares)
end

local function settle()
  if redis.call('HLEN', keys.lock) <= 1 then
    redis.call('DEL', keys.lock)
  elseif redis.call('ZCARD', keys.writing) == 0 and redis.call('HGET', keys.lock, 'mode') == 'write' then
    local _, writes = strangers('write')
    if writes == 0 then
      redis.call('HSET', keys.lock, 'mode', 'read')
    end
  end
end

local function last_until(latest)
  local at = string.format('%d', math.ceil(latest / 1000))
  for _, key in ipairs({keys.shares, keys.reading, keys.writing}) do
    redis.call('PEXPIREAT', key, at)
  end
  local reads, writes = strangers(redis.call('HGET', keys.lock, 'mode'))
  if reads + writes > 0 then
    -- others may need it for longer
    redis.call('PEXPIREAT', keys.lock, at, 'GT')
  else
    redis.call('PEXPIREAT', keys.lock, at)
  end
end
