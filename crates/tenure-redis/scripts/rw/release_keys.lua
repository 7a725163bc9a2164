-- release: a claim leaves a read-write lock, or the line, for good.
-- keys: 1 the lock, 2 its channel, from 3 on as look.lua and shares.lua name them, then (if an entry is
--       cancelled) what of its client's is over
-- args: 1 claim, 2 what a client's own channel begins with, 3 how long the lock stays taken all the same, in ms, or '',
--       4 and 5 (if an entry is cancelled) how long to remember that, in ms, and what is over now
-- reply: 1 if the lock is free; 2 if others are still in; 0 if the claim does not hold; 3 if it stays taken for as long as
--        was asked; look.lua comes in between, note.lua last
-- the key is in use for something else: the claim has nothing there, but may still be on its way
local function no_lock(said)
  return ARGV[4] and give_up(KEYS[#KEYS], ARGV[4], ARGV[5]) or said
end
local keys = {
  lock = KEYS[1], reading = KEYS[3], writing = KEYS[4], writers = KEYS[5], readers = KEYS[6], places = KEYS[7],
  pass = KEYS[8], shares = KEYS[9], prefix = KEYS[10]
}
