-- reenter: a claim that holds goes in once more.
-- keys: 1 the lock, 2 what of its client's is over
-- args: 1 to 4 as count.lua, 5 which entry of the claim's this is
-- reply: -1 if the entry was cancelled; otherwise as count.lua, which follows
if redis.call('EXISTS', KEYS[2]) == 1 and given_up(KEYS[2], ARGV[1], ARGV[5]) then
  return -1
end
