-- count: looks at a latch, or changes it.
-- keys: 1 how often it is still to be counted down, 2 its channel, 3 which round it is in, and the least count seen in it, 4 the
--       ids it was counted down with, 5 the store's watermark, 6 and 7 what semaphores and permits with names have beside their
--       counts
-- args: 1 'look', 'wait', 'begin', 'set', 'down' or 'delete', 2 how often, or an id, or the round that is waited for, or ''
-- reply: {how often it was to be counted down before, how often it is, its round as text or ''}; number.lua comes in between
-- the key is in use for something else
local function no_lock(said)
  return said
end
local least, most = 0, 4294967295
