-- leave: a claim leaves once and stays in.
-- keys: 1 the lock, 2 (if an entry is cancelled) what of its client's is over
-- args: 1 to 4 as count.lua, 5 and 6 (if an entry is cancelled) how long to remember that, in ms, and what is over now
-- reply: as count.lua, which follows
if ARGV[5] then
  local failed = give_up(KEYS[2], ARGV[5], ARGV[6])
  if failed then
    return failed
  end
end
