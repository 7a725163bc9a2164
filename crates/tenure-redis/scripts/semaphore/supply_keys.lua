-- supply: as common/supply.lua, which follows after number.lua and look.lua, for a semaphore or, with its own look.lua, for
--         permits that have names.
-- the key is in use for something else
local function no_lock(said)
  return said
end
local notice, least, most = ARGV[2], -2147483648, 2147483647
