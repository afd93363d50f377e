-- SPDX-License-Identifier: Apache-2.0
--
-- Gives back the units that one decision took. decide.lua describes a log.
--
-- KEYS[i]       the log of one subject
-- ARGV[2i - 1]  stamp of the units to give back (8 bytes, d): what decide.lua returned as "now" for this key
-- ARGV[2i]      how many of them, as text
--
-- Returns how many units were found. Units that have left the log are past every window: there is nothing to give back.

local call, pack, unpack, sub = redis.call, struct.pack, struct.unpack, string.sub
local DENSE = 118
local found = 0

for i = 1, #KEYS do
  local log, stamp, units = call('GET', KEYS[i]), unpack('>d', ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local rules = log and #log >= 49 and unpack('>B', log, 37) - 16 or 0
  if rules >= 1 and rules <= 8 then
    local header, n = 37 + 4 * rules, unpack('>I4', log, 5)
    if n == 0 then n = math.floor((#log - header) / 8) end
    -- Units that the log has no more, though a roomy one still holds them.
    local gone = math.max(unpack('>I4', log) ~= 0 and unpack('>I4', log, 38) or 0, n - unpack('>I4', log, 25))
    local low, high = gone, n -- the first unit that is not older than the stamp
    while low < high do
      local middle = math.floor((low + high) / 2)
      if unpack('>d', log, header + 8 * middle + 1) < stamp then low = middle + 1 else high = middle end
    end
    local after = low
    while after < n and after - low < units and unpack('>d', log, header + 8 * after + 1) == stamp do
      after = after + 1
    end
    local taken = after - low
    local left = n - gone - taken
    if left <= 0 then
      call('DEL', KEYS[i])
    elseif taken > 0 then
      local newest = unpack('>d', log, header + 8 * (after == n and low or n) - 7)
      local head = sub(log, 1, 4) .. pack('>I4d', left > DENSE and left or 0, left > DENSE and newest or 0)
        .. sub(log, 17, 37) .. string.rep('\0', 4 * rules) -- the cursors: the log's time may have gone back
      call('SET', KEYS[i], head .. sub(log, header + 8 * gone + 1, header + 8 * low)
        .. sub(log, header + 8 * after + 1, header + 8 * n), 'KEEPTTL')
    end
    found = found + taken
  end
end
return found
