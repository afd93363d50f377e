-- SPDX-License-Identifier: Apache-2.0
-- Defines a function for the gap of a leaky bucket: the departures that abandoned calls gave up, as one series.
-- Departures are numbered backwards: 1 is the last one that was handed out. A gap has three numbers: the number of its
-- first departure, its length, and how many of its departures are free. If only some are, the earliest count as free.
-- Redis stores one number (d), 0 if there is no gap: GAP_FIRST_UNIT times the first departure, plus GAP_LENGTH_UNIT
-- times the length, plus the free departures.
-- luacheck: read globals EXACT GAP_LENGTH_UNIT GAP_FIRST_UNIT
-- luacheck: globals readGap

-- The three numbers of a stored gap without the departures that have come; zeros if none is left.
--   departures  how many departures are still to come
readGap = function(number, departures)
  if not (number >= 1 and number < EXACT) then return 0, 0, 0 end
  local free = number % GAP_LENGTH_UNIT
  local length = (number - free) / GAP_LENGTH_UNIT % GAP_LENGTH_UNIT
  local firstDeparture = math.floor(number / GAP_FIRST_UNIT)
  local passed = math.max(0, firstDeparture - departures)
  if free > length or length > firstDeparture or free <= passed then return 0, 0, 0 end
  return firstDeparture - passed, length - passed, free - passed
end
