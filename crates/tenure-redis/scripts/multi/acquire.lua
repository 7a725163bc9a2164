-- acquire: takes several re-entrant and simple locks at one moment, or none of them. Asked again, says the same again.
-- keys: 1 the store's watermark, then for each lock the lock, what of its client's is over, and the line of clients that wait
-- args: 1 'time' now and then: bring the watermark up to the server's clock; then for each lock its claim, its lease in ms
--       and its kind
-- reply: {0, token, …} if all are held: a number if granted now, a text if the claim held already; otherwise the position,
--        counted from 1, of a lock in the way: {position, 0} if its claim was cancelled, {position} if the key is in use for
--        something that is no such lock, {position, time to live in ms, server time in µs as text, {field, value, …} or the
--        first of its value} if it is held
if not redis.REDIS_VERSION_NUM then
  return redis.error_reply('TOOOLD this server is older than Redis 7.0')
end
local call, pcall, format = redis.call, redis.pcall, string.format
local n = (#KEYS - 1) / 3
local tokens, fresh, lines = {0}, 0, {}
-- nothing is written before it is known that all can be taken: a script that gives up is not rolled back
for i = 1, n do
  local lock, tombstone, line = KEYS[3 * i - 1], KEYS[3 * i], KEYS[3 * i + 1]
  local claim, simple = ARGV[3 * i - 1], ARGV[3 * i + 1] == 'simple'
  local taken = call('EXISTS', lock, tombstone, line)
  lines[i] = taken > 0 and call('EXISTS', line) == 1
  if taken > 0 and call('EXISTS', tombstone) == 1 then
    if given_up(tombstone, claim, 0) then
      return {i, 0}
    end
    taken = taken - 1
  end
  if taken == (lines[i] and 1 or 0) then
    fresh = fresh + 1
  else
    local is = call('TYPE', lock).ok
    local what, mine
    if is == 'string' then
      what = call('GETRANGE', lock, 0, 255)
      mine = simple and string.sub(what, 1, #claim + 1) == claim .. ' ' and string.match(what, '%d+', #claim + 2)
    elseif is == 'hash' then
      what = fields_of(lock)
      mine = what and not simple and call('HEXISTS', lock, claim) == 1 and call('HGET', lock, 'fence')
    end
    if not what then
      return {i}
    end
    if not mine then
      local time = call('TIME')
      return {i, call('PTTL', lock), time[1] .. format('%06d', time[2]), what}
    end
    tokens[i + 1] = mine
  end
end
local token
if fresh > 0 then
  local failed
  token, failed = count_up(KEYS[1], fresh)
  if failed then
    return failed
  end
  local counted, last = token, token + fresh - 1
  -- a watermark that starts anew, or was not looked after for a while, goes on from the clock; it never goes back
  if ARGV[1] ~= '' or token < 1e15 then
    local time = call('TIME')
    local now = time[1] * 1000000 + time[2]
    if token < now then
      token, last = now, now + fresh - 1
    end
  end
  if last > counted then
    -- as text, because the server would write so large a number by the slow way of fractions
    call('SET', KEYS[1], format('%d', last))
  end
end
for i = 1, n do
  local lock, claim, lease = KEYS[3 * i - 1], ARGV[3 * i - 1], ARGV[3 * i]
  local done
  if tokens[i + 1] then
    done = pcall('PEXPIRE', lock, lease, 'GT')
  elseif ARGV[3 * i + 1] == 'simple' then
    done = pcall('SET', lock, claim .. format(lines[i] and ' %d line' or ' %d', token), 'PX', lease)
  else
    if lines[i] then
      done = pcall('HSET', lock, claim, '1', 'fence', format('%d', token), 'line', '1')
    else
      done = pcall('HSET', lock, claim, '1', 'fence', format('%d', token))
    end
    if type(done) ~= 'table' then
      done = pcall('PEXPIRE', lock, lease)
    end
  end
  if type(done) == 'table' and done.err then
    -- this one, and those before it that were taken just now, are free again
    for j = 1, i do
      if type(tokens[j + 1]) ~= 'string' then
        pcall('DEL', KEYS[3 * j - 1])
      end
    end
    return done
  end
  if not tokens[i + 1] then
    tokens[i + 1] = token
    token = token + 1
  end
end
return tokens
