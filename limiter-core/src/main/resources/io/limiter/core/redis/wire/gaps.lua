-- SPDX-License-Identifier: Apache-2.0
-- Defines two functions for the gaps of a leaky bucket: runs of departures that calls gave back. Departures are
-- numbered backwards: 1 is the last one that was handed out. In Lua a gap is { number of its first departure, its
-- length, how many of its departures are free }, and the earliest gap comes first. If only some departures are free,
-- the earliest count as free. Redis stores one number (d) for each gap, 0 if there is none: GAP_FIRST_UNIT times the
-- first departure, plus GAP_LENGTH_UNIT times the length, plus the free departures.
-- luacheck: read globals EXACT GAP_LIMIT GAP_LENGTH_UNIT GAP_FIRST_UNIT
-- luacheck: read globals pack unpack cellBytes
-- luacheck: globals readGaps packGaps

-- The gaps at a position of the cells, without departures that have come, and how many departures are free.
--   departures  how many departures are still to come
readGaps = function(position, departures)
  local found, free, below = {}, 0, departures + 1
  for g = 0, GAP_LIMIT - 1 do
    local number = unpack('>d', cellBytes, position + 8 * g)
    if not (number >= 1 and number < EXACT) then break end
    local gapFree = number % GAP_LENGTH_UNIT
    local gapLength = (number - gapFree) / GAP_LENGTH_UNIT % GAP_LENGTH_UNIT
    local gapFirst = math.floor(number / GAP_FIRST_UNIT)
    if not (gapFree >= 1 and gapFree <= gapLength and gapLength <= gapFirst) then break end
    local passed = math.max(0, gapFirst - departures)
    if gapFree - passed >= 1 then
      if gapFirst - passed >= below then break end
      found[#found + 1] = { gapFirst - passed, gapLength - passed, gapFree - passed }
      free, below = free + gapFree - passed, gapFirst - gapLength + 1
    end
  end
  return found, free
end

packGaps = function(list)
  local packed = ''
  for g = 1, #list do
    packed = packed .. pack('>d', list[g][1] * GAP_FIRST_UNIT + list[g][2] * GAP_LENGTH_UNIT + list[g][3])
  end
  return packed .. string.rep('\0', 8 * GAP_LIMIT - #packed)
end
