-- shares: who is in, as Redisson's layout has them: in the lock's hash, with a key of its own for the lease of each reader.
--         What that cannot hold of ours is kept beside it.
-- before: now.lua; `keys`, as look.lua names them, and besides shares (what our claims are: side, token, since when, count, change)
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
  local known, fields, leases = redis.call('HMGET', keys.shares, unpack(claims)), {}, {}
  for i, claim in ipairs(claims) do
    fields[i] = string.find(known[i] or '', '^write') and claim .. ':write' or claim
    leases[i] = lease_of(claim)
  end
  redis.call('HDEL', keys.lock, unpack(fields))
  redis.call('UNLINK', unpack(leases))
  redis.call('HDEL', keys.shares, unpack(claims))
end

-- how many leases are still looked for in one go
local budget = 1000

-- whether a reader of Redisson's has a lease that still runs, and whether that could be looked for to its end; of one with more
-- entries than that the last end by themselves
local function reads_on(name, count)
  local leases, entries = {}, math.min(tonumber(count) or 0, 1000)
  for i = 1, math.min(entries, budget) do
    leases[i] = keys.prefix .. ':' .. name .. ':rwlock_timeout:' .. i
  end
  budget = budget - #leases
  return leases[1] ~= nil and redis.call('EXISTS', unpack(leases)) > 0, #leases == entries
end

-- one of others who are in, and how often; `unsure`, if nobody was found among so many who may have died
local stranger, unsure

-- how many of others read and write: one stands for all
local function strangers(mode)
  if not mode then
    return 0, 0
  end
  local ours = redis.call('ZCARD', keys.reading) + redis.call('ZCARD', keys.writing)
  if mode ~= 'tenure' and redis.call('HLEN', keys.lock) - 1 == ours and ours > 0 then
    return 0, 0
  end
  local cursor, reads = '0', 0
  for _ = 1, 10 do
    local page = redis.call('HSCAN', keys.lock, cursor, 'COUNT', 100)
    local fields, claims, died = page[2], {}, {}
    cursor = page[1]
    -- a small hash comes as a whole
    for i = 1, math.min(#fields, 2000), 2 do
      claims[#claims + 1] = (string.gsub(fields[i], ':write$', ''))
    end
    local known, spent = claims[1] and redis.call('HMGET', keys.shares, unpack(claims)) or {}, false
    for i, claim in ipairs(claims) do
      local name, count = fields[2 * i - 1], fields[2 * i]
      if name ~= 'mode' and mode == 'tenure' then
        stranger = {name, count}
        return 1, 1
      elseif name ~= 'mode' and not known[i] then
        if claim ~= name then
          stranger = {name, count}
          return reads, 1
        end
        local reads_still, looked = true, true
        if mode == 'read' then
          reads_still, looked = reads_on(name, count)
        end
        if reads_still then
          stranger, reads = {name, count}, 1
          if mode == 'read' then
            break
          end
        elseif looked then
          -- it died, and Redisson would find out when the last of the others leaves
          died[#died + 1] = name
        else
          spent = true
          break
        end
      end
    end
    if died[1] then
      redis.call('HDEL', keys.lock, unpack(died))
    end
    if spent then
      break
    elseif cursor == '0' or (reads > 0 and mode == 'read') then
      return reads, mode == 'tenure' and 1 or 0
    end
  end
  unsure = true
  return 1, mode == 'write' and alive(keys.writing) == 0 and 1 or 0
end

-- ours of whom the hash knows nothing any more were put out: whoever removes it removes all of them at once
local function reconcile()
  local ours = redis.call('ZCARD', keys.reading) + redis.call('ZCARD', keys.writing)
  if redis.call('HLEN', keys.lock) - 1 == ours then
    return
  end
  for side, mark in pairs({[keys.reading] = '', [keys.writing] = ':write'}) do
    local some, fields, out = redis.call('ZRANGE', side, 0, 99), {}, {}
    for i, claim in ipairs(some) do
      fields[i] = claim .. mark
    end
    local found = some[1] and redis.call('HMGET', keys.lock, unpack(fields)) or {}
    for i, claim in ipairs(some) do
      if not found[i] then
        out[#out + 1] = claim
      end
    end
    if out[1] then
      redis.call('HDEL', keys.shares, unpack(out))
      if #out == #some then
        redis.call('UNLINK', side)
      else
        redis.call('ZREM', side, unpack(out))
      end
    end
  end
  if redis.call('EXISTS', keys.reading, keys.writing) == 0 then
    redis.call('UNLINK', keys.shares)
  end
end

local function forget_all()
  redis.call('UNLINK', keys.reading, keys.writing, keys.shares)
end

local function settle()
  if redis.call('HLEN', keys.lock) <= 1 then
    redis.call('DEL', keys.lock)
  elseif redis.call('HGET', keys.lock, 'mode') == 'write' and alive(keys.writing) == 0 then
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
  local ours = redis.call('ZCARD', keys.reading) + redis.call('ZCARD', keys.writing)
  if redis.call('HLEN', keys.lock) - 1 ~= ours then
    -- others may need it for longer
    redis.call('PEXPIREAT', keys.lock, at, 'GT')
  else
    redis.call('PEXPIREAT', keys.lock, at)
  end
end
