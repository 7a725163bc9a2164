-- watermark: the largest token so far, from which all kinds count on.

-- one more, so many more being wanted; otherwise none, and what is wrong with what lies there
local function count_up(key, wanted)
  local token = redis.pcall('INCR', key)
  if type(token) == 'number' then
    -- from there on one more is the same number to a script, and a token would be handed out twice; a sum would be rounded as well
    if token <= 2^53 - wanted then
      return token
    end
    return nil, redis.error_reply('NOCOUNT the watermark is beyond 2^53')
  elseif string.find(token.err, 'not an integer', 1, true) or string.find(token.err, 'WRONGTYPE', 1, true) then
    return nil, redis.error_reply('NONUMBER the watermark')
  end
  return nil, token
end
