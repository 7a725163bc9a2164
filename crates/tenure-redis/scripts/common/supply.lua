-- supply: looks how many permits there are, or changes it; look.lua comes before.
-- keys: as look.lua
-- args: 1 'look', 'begin', 'set', 'add' or 'drain', 2 what a client's own channel begins with, 3 how many
-- before: `begin` and `change`, as look.lua has them
-- reply: -1 if more has ended than is given back at once, so that it is to be asked again; otherwise {how many were to be had or '', how many are, how many there are with those that are taken or ''}
if unsettled then
  if news then
    call()
  end
  return -1
end
local was, what, number = count, ARGV[1], tonumber(ARGV[3])
local failed
if not count then
  if what == 'begin' or what == 'set' or what == 'add' then
    failed = begin(number)
  end
elseif what == 'set' then
  failed = change(number - (total or count + taken), number)
elseif what == 'add' then
  failed = change(number, total and total + number)
elseif what == 'drain' and count > 0 then
  failed = change(-count, total and total - count)
end
if news then
  call()
end
return failed or {was or '', count or 0, total or ''}
