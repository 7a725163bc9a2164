-- release, continued: look.lua comes before.
local claim, reply, said = ARGV[1], 0, false
news = leave_line(claim) or news
local wrote = lease_end(keys.writing, claim)
local side = wrote and keys.writing or (lease_end(keys.reading, claim) and keys.reading)
if side then
  if ARGV[3] ~= '' and reads + writes == 1 then
    local ends = now + ARGV[3] * 1000
    redis.call('ZADD', side, ends, claim)
    moved(claim, ends)
    last_until(ends)
    -- who waits in Java sleeps for as long as it saw before
    redis.pcall('PUBLISH', KEYS[2], wrote and '1' or '0')
    reply = 3
  else
    take_away({claim})
    redis.call('ZREM', side, claim)
    if wrote then
      writes = writes - 1
    else
      reads = reads - 1
    end
    news = true
    if reads + writes + others_read + others_write == 0 then
      be_free()
      reply = 1
    else
      settle()
      if reads + writes > 0 then
        last_until(latest_end())
      end
      reply = 2
    end
    -- as a service on Redisson expects to hear it; those of ours who wait to read listen there too
    -- and those who wait for a claim beside theirs to go
    if wrote and (writes == 0 or string.sub(claim, -1) == '^') then
      redis.pcall('PUBLISH', KEYS[2], '1')
      said = true
    elseif reply == 1 then
      redis.pcall('PUBLISH', KEYS[2], '0')
    end
  end
end
if news then
  call(ARGV[2], KEYS[2], said)
end
