-- release: a claim has no permits of its own where they have names; what it asked for under them may still be under way.
-- keys: 1 (if an entry is cancelled) what of its client's is over
-- args: 4 and 5 (if an entry is cancelled) how long to remember that, in ms, and what is over now
-- reply: 0, as if it had none; note.lua follows
local reply = 0
