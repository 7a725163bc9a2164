-- put_out: tells those who were put out of a lock by force, and removes what tells how long the leases of Redisson's readers last.

-- of the fields of a hash; `prefix` is what readers' keys begin with, or none
local function put_out(notice, prefix, fields)
  local leases = {}
  for i = 1, #fields, 2 do
    local name, entered = fields[i], prefix and tonumber(fields[i + 1]) or 0
    local client = string.match(name, '^([%x-]+):.')
    if client and #client == 36 then
      -- Redisson marks those who write
      redis.pcall('PUBLISH', notice .. client, 'forced ' .. string.gsub(name, ':write$', ''))
      -- of many entries the last end by themselves
      for lease = 1, math.min(entered, 1000 - #leases) do
        leases[#leases + 1] = prefix .. ':' .. name .. ':rwlock_timeout:' .. lease
      end
    end
  end
  if leases[1] then
    redis.pcall('UNLINK', unpack(leases))
  end
end
