-- shares: who is in, as our own layout has them: in the lock's hash, whose mode tells others to wait.
-- before: now.lua; `keys`, as look.lua names them

-- whether claims of ours may be in a lock of this mode
local function is_ours(mode)
  return mode == 'tenure'
end

-- one of others who are in, and how often; never `unsure`
local stranger, unsure

-- how many of others read and write: one stands for all
local function strangers(mode)
  if not mode or mode == 'tenure' then
    return 0, 0
  end
  local fields = redis.call('HSCAN', keys.lock, 0, 'COUNT', 10)[2]
  for i = 1, #fields, 2 do
    if fields[i] ~= 'mode' then
      stranger = {fields[i], fields[i + 1]}
    end
  end
  return 1, 1
end

local function value_of(claim)
  return redis.call('HGET', keys.lock, claim)
end

local function put(claim, kind, value, ends)
  redis.call('HSET', keys.lock, 'mode', 'tenure', claim, value)
end

local function take_away(claims)
  redis.call('HDEL', keys.lock, unpack(claims))
end

-- a share ends at another time
local function moved(claim, ends)
end

-- some have left
local function settle()
end

-- what is kept beside a hash that somebody removed
local function forget_all()
  redis.call('UNLINK', keys.reading, keys.writing)
end

-- the hash itself tells who is in
local function reconcile()
end

local function last_until(latest)
  for _, key in ipairs({keys.lock, keys.reading, keys.writing}) do
    redis.call('PEXPIREAT', key, string.format('%d', math.ceil(latest / 1000)))
  end
end
