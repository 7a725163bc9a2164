-- release, continued: look.lua comes before.
local claim, reply, said = ARGV[1], 0, false
news = leave_line(claim) or news
local wrote = redis.call('ZSCORE', keys.writing, claim)
local side = wrote and keys.writing or (redis.call('ZSCORE', keys.reading, claim) and keys.reading)
if side then
  if ARGV[3] ~= '' and reads + writes == 1 then
    redis.call('ZADD', side, now + ARGV[3] * 1000, claim)
    last_until_all_end()
    reply = 3
  else
    redis.call('HDEL', keys.lock, claim)
    redis.call('ZREM', side, claim)
    if wrote then
      writes = writes - 1
    else
      reads = reads - 1
    end
    news = true
    if reads + writes == 0 then
      redis.call('DEL', keys.lock)
      reply = 1
    else
      last_until_all_end()
      reply = 2
    end
    -- as a service on Redisson expects to hear it; those of ours who wait to read listen there too
    if wrote and writes == 0 then
      redis.pcall('PUBLISH', KEYS[2], '1')
      said = true
    elseif reply == 1 then
      redis.pcall('PUBLISH', KEYS[2], '0')
    end
  end
end
if news and not (mode and mode ~= 'tenure') then
  call(ARGV[2], KEYS[2], said)
end
