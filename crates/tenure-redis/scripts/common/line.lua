-- line: puts a client in line, where it keeps the place it has.
-- keys: 4 the line of clients that wait
-- args: 1 and 4 as acquire.lua
-- before: `stands`, whether it is to stand there at all
if stands then
  local since = tonumber(ARGV[4])
  if not since then
    local time = redis.call('TIME')
    since = time[1] * 1000000 + time[2]
  end
  redis.call('ZADD', KEYS[4], 'NX', since, string.match(ARGV[1], '^[^:]*'))
  redis.call('PEXPIRE', KEYS[4], 3000)
end
