-- release: a claim leaves for good; the client that has waited longest is called, and everyone who waits is told.
-- keys: 1 the lock, 2 its channel, 3 the line of clients that wait, 4 (if an entry is cancelled) the entry's tombstone
-- args: 1 claim, 2 what a client's own channel begins with, 3 how long the lock stays taken all the same, in ms, or '',
--       4 (if an entry is cancelled) how long to remember that, in ms
-- reply: 1 if released; 0 if the claim does not hold; otherwise as rest.lua, which follows for a lock with claims under
--        its holder's
if ARGV[4] and redis.call('PTTL', KEYS[4]) < tonumber(ARGV[4]) then
  redis.call('SET', KEYS[4], '', 'PX', ARGV[4])
end
local held = redis.call('HMGET', KEYS[1], ARGV[1], 'line', 'nested')
if not held[1] then
  return 0
end
if not held[3] then
  if ARGV[3] ~= '' then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    return 3
  end
  redis.call('DEL', KEYS[1])
  -- the lock is free by now, and an error would say that it is not: whoever cannot be told looks by itself
  if held[2] then
    local first = redis.pcall('ZPOPMIN', KEYS[3])
    if first[1] then
      redis.pcall('PUBLISH', ARGV[2] .. first[1], 'turn ' .. KEYS[1])
    end
  end
  redis.pcall('PUBLISH', KEYS[2], '0')
  return 1
end
