-- SPDX-License-Identifier: Apache-2.0
-- Sliding window counter. Windows begin at multiples of their length. The units of the previous window count as
-- if they were spread evenly over it.
--
-- Plan     count, window in microseconds
-- Numbers  start of the window, units in it, units in the previous window
--
-- luacheck: read globals EXACT RECORD pack unpack plan planPos value cellPos
-- Of cells.lua, refund.lua:
-- luacheck: read globals now cost mode age firstNumber secondNumber takenAt units first second
-- luacheck: globals remaining newCell

do
  --%begin decide
  local count, window, start, current, previous = firstNumber, secondNumber, unpack('>ddd', value, cellPos)
  local windowStart = now - now % window
  if start ~= windowStart then previous, current = start == windowStart - window and current or 0, 0 end
  if not (current >= 0 and current < EXACT) then current = 0 end
  if not (previous >= 0 and previous < EXACT) then previous = 0 end
  remaining = count - current
  if previous > 0 then remaining = remaining - math.ceil(previous * (window - now + windowStart) / window) end
  local most = age > 0 and count - current or remaining -- past units count when the previous window has gone
  local unitsTaken = mode == RECORD and math.max(0, math.min(cost, most)) or cost
  newCell = pack('>ddd', windowStart, current + unitsTaken, previous)
  --%end decide
end

do
  --%begin give-back
  local window, previous = unpack('>d', plan, planPos + 11), unpack('>d', value, cellPos + 16)
  if takenAt >= first and second > 0 then
    newCell = pack('>ddd', first, math.max(0, second - units), previous)
  elseif takenAt < first and takenAt >= first - window and previous > 0 then
    newCell = pack('>ddd', first, second, math.max(0, previous - units))
  end
  --%end give-back
end
