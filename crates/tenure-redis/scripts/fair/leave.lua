-- leave: a claim that may stand in line does so no longer.
-- after: `gave_up`, whether it did
local gave_up = leave_line(ARGV[1])
