-- give_back, continued: look.lua comes before.
local all, back = count ~= nil or #ARGV == 3, 0
if ARGV[1] ~= '' then
  for i = 4, #ARGV do
    all = all and redis.call('ZSCORE', KEYS[3], ARGV[i])
  end
  if not all then
    return no_lock(-1)
  end
end
if count then
  for i = 4, #ARGV do
    back = back + redis.call('ZREM', KEYS[3], ARGV[i])
    redis.call('ZREM', KEYS[4], ARGV[i])
  end
  give_back(back)
end
return no_lock(back)
