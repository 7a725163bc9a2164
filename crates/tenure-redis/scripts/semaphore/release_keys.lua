-- release: a claim leaves a semaphore with all its permits, or the line, for good.
-- keys: 1 to 9 as look.lua, then (if an entry is cancelled) what of its client's is over
-- args: 1 claim, 2 what a client's own channel begins with, 3 how long the permits stay taken all the same, in ms, or '',
--       4 and 5 (if an entry is cancelled) how long to remember that, in ms, and what is over now
-- reply: 1 if nobody of ours has any; 2 if others have; 0 if the claim has none; 3 if they stay taken for as long as was
--        asked; number.lua and look.lua come in between, note.lua last
-- the key is in use for something else: the claim has nothing there, but may still be on its way
local function no_lock(said)
  for i = 5, 6 do
    redis.pcall('ZREM', KEYS[i], ARGV[1])
  end
  redis.pcall('HDEL', KEYS[7], ARGV[1])
  return ARGV[4] and give_up(KEYS[#KEYS], ARGV[4], ARGV[5]) or said
end
local notice, least, most = ARGV[2], -2147483648, 2147483647
