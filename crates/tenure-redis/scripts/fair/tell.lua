-- tell: a claim is out: if the lock is free, whoever comes first is called; and those are told who do not stand in line.
-- keys, args: as fair/release.lua
-- before: `reply`, how the claim left, and `gave_up`, whether it stood in line
-- the claim is out by now, and an error would say that it is not: whoever cannot be told looks by itself
-- one who waits for a lock that is kept learns for how long
if reply == 1 or reply == 3 or (gave_up and redis.pcall('EXISTS', KEYS[1]) == 0) then
  local first = first_in_line()
  if first then
    call(first)
  end
end
if reply == 1 or reply == 2 then
  redis.pcall('PUBLISH', KEYS[2], '0')
end
