-- give_back: gives permits back by their names.
-- keys: 1 to 6 as look.lua, 7 (if a claim is cancelled) what of its client's is over
-- args: 1 'all' if none is to be given back unless all are taken, or '', 2 how long to remember that the claim was cancelled, in
--       ms, or '', 3 what is over now, from 4 on the names
-- reply: how many were given back; -1 if not all are taken; number.lua and look.lua come in between
-- whoever asked for them may still be on its way; the key may be in use for something else
local function no_lock(said)
  return ARGV[2] ~= '' and give_up(KEYS[7], ARGV[2], ARGV[3]) or said
end
local least, most = -2147483648, 2147483647
