-- join: puts a claim that holds on a majority back into a re-entrant lock that has forgotten it, as after a restart, or that
--       never knew it. It goes in beside nobody but those it stands under, and those of its own who stand under it.
-- keys: 1 the lock, 2 the store's watermark, 3 what of its client's is over
-- args: 1 claim, 2 token, 3 lease in ms, 4 how often it is in, 5 which of its changes of count that was, 6 the claims it
--       stands under, one after the other with a '/' between them
-- reply: 0 if somebody else may have it, or the claim has left; otherwise as raise.lua, which follows
local fields = not given_up(KEYS[3], ARGV[1], 0) and fields_of(KEYS[1])
if not fields then
  return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local token = tonumber(ARGV[2])
local nested, under = string.sub(ARGV[1], -1) == '^', '/' .. ARGV[6] .. '/'
local others, fence
for i = 1, #fields, 2 do
  local name, value = fields[i], fields[i + 1]
  if name == 'fence' then
    fence = value
  elseif string.find(name, ':', 1, true) then
    local below = string.sub(name, -1) == '^'
    local ends = below and tonumber(string.match(value, ' (%d+)$') or 0)
    if not ends or ends > now then
      -- whoever is in below this claim came in with its token, which nobody else has
      if name ~= ARGV[1] and not string.find(under, '/' .. name .. '/', 1, true) and (nested or not below) then
        return 0
      end
      others = true
    end
  elseif name ~= 'line' and name ~= 'change' and name ~= 'nested' then
    return 0
  end
end
if #fields > 0 and (not fence or (others and fence ~= ARGV[2])) then
  return 0
end
if not others then
  redis.call('DEL', KEYS[1])
end
if nested then
  local ends = string.format('%d', now + ARGV[3] * 1000)
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[4] .. ' ' .. ARGV[5] .. ' ' .. ends, 'fence', ARGV[2], 'nested', '1')
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[4], 'fence', ARGV[2], 'change', ARGV[5])
end
if others then
  redis.call('PEXPIRE', KEYS[1], ARGV[3], 'GT')
else
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
