-- note: remembers that an entry was given up, when its claim has left: whatever it had been granted is free by now, and a
--       script that has written may write on when memory is full.
-- keys: the last (if an entry is cancelled) what of its client's is over
-- args: 4 and 5 (if an entry is cancelled) how long to remember that, in ms, and what is over now
-- before: give_up.lua; `reply`, how the claim left
-- reply: that; an error if the note could not be written, so that it is tried again
return ARGV[4] and give_up(KEYS[#KEYS], ARGV[4], ARGV[5]) or reply
