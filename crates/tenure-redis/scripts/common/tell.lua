-- tell: a claim is out: the client that has waited longest is called, and everyone who waits is told.
-- keys: 1 the lock, 2 its channel, 3 the line of clients that wait
-- args: 2 what a client's own channel begins with
-- before: `reply`, how the claim left, and `line`, whether clients may stand in line
if reply == 1 or reply == 2 then
  -- the claim is out by now, and an error would say that it is not: whoever cannot be told looks by itself
  if line then
    local first = redis.pcall('ZPOPMIN', KEYS[3])
    if first[1] then
      redis.pcall('PUBLISH', ARGV[2] .. first[1], 'turn ' .. KEYS[1])
    end
  end
  redis.pcall('PUBLISH', KEYS[2], '0')
end
