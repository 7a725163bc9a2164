-- join: puts a claim that holds on a majority into a simple lock that is free here, as after a restart.
-- keys, args, reply: as join.lua
if redis.call('EXISTS', KEYS[1]) == 1 or given_up(KEYS[3], ARGV[1], 0) then
  return 0
end
local token = tonumber(ARGV[2])
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2], 'PX', ARGV[3])
