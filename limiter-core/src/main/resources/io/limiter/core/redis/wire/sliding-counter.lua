-- SPDX-License-Identifier: Apache-2.0
-- Sliding window counter. Windows begin at multiples of their length. Of the previous window, as many units count as if
-- they were spread evenly over it.
--
-- Plan     count, window in microseconds
-- Numbers  start of the window, units in it, units in the previous window
--
-- luacheck: read globals EXACT RECORD pack unpack plan
-- Of cells.lua, next-code.lua, refund.lua, converted.lua:
-- luacheck: read globals now cost mode group firstNumber secondNumber cellBytes
-- luacheck: read globals takenAt units first second value source time newest
-- luacheck: globals planPos codePos cellPos remaining newCell

do
  --%begin decide
  local count, window, start, current, previous = firstNumber, secondNumber, unpack('>ddd', cellBytes, cellPos)
  planPos, cellPos = planPos + 17, cellPos + 24
  local windowStart = now - now % window
  if start ~= windowStart then previous, current = start == windowStart - window and current or 0, 0 end
  if not (current >= 0 and current < EXACT) then current = 0 end
  if not (previous >= 0 and previous < EXACT) then previous = 0 end
  remaining = count - current
  if previous > 0 then remaining = remaining - math.ceil(previous * (window - now + windowStart) / window) end
  local most = group > 0 and count - current or remaining -- past units count when the previous window has gone
  local unitsTaken = mode == RECORD and math.max(0, math.min(cost, most)) or cost
  newCell = pack('>ddd', windowStart, current + unitsTaken, previous)
  --%end decide
end

do
  --%begin next
  codePos = codePos + 17
  --%end next
end

do
  --%begin give-back
  local _, _, window = unpack('>Bdd', plan, codePos)
  local previous = unpack('>d', cellBytes, cellPos + 16)
  if takenAt >= first and second > 0 then
    newCell = pack('>ddd', first, math.max(0, second - units), previous)
  elseif takenAt < first and takenAt >= first - window and previous > 0 then
    newCell = pack('>ddd', first, second, math.max(0, previous - units))
  end
  --%end give-back
end

do
  --%begin convert
  local _, _, window = unpack('>Bdd', plan, codePos)
  local sourceWindow, windowStart = source.scale, math.floor(time / window) * window
  local current, previous = 0, 0
  local unitsByStart = { [first] = second, [first - sourceWindow] = (unpack('>d', value, source.pos + 16)) }
  for start, units in pairs(unitsByStart) do
    local latest = math.min(start + sourceWindow, newest + 1) -- nothing was used after the last write
    if units > 0 and latest > windowStart then
      current = current + units
    elseif units > 0 and latest > windowStart - window then
      previous = previous + units
    end
  end
  if first >= 0 and current + previous > 0 and current + previous < EXACT then
    newCell = pack('>ddd', windowStart, current, previous)
  end
  --%end convert
end
