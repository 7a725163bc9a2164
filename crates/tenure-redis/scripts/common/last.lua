-- last: what lies beside a count lasts as long as it: Redisson lets counts end, and then lets them go on.
-- keys: 1 the count, 3 and 4 what lies beside it
local function last_as_the_count()
  local left = redis.call('PTTL', KEYS[1])
  for i = 3, 4 do
    if left > 0 then
      redis.call('PEXPIRE', KEYS[i], left)
    elseif redis.call('PTTL', KEYS[i]) > 0 then
      redis.call('PERSIST', KEYS[i])
    end
  end
end
