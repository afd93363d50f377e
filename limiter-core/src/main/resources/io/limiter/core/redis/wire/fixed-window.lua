-- SPDX-License-Identifier: Apache-2.0
-- Fixed window: it begins with a call, or by the clock of a time zone (ALIGNED_WINDOW).
--
-- Plan     count, window in microseconds; of an aligned window also the start of a window in the zone's local time, and
--          the zone's offset from UTC before a change of its clocks, the time of that change, and the offset after it
-- Numbers  start of the window, units used
--
-- luacheck: read globals FIXED_WINDOW RECORD pack unpack plan planPos value cellPos
-- Of cells.lua, refund.lua:
-- luacheck: read globals algorithm now cost mode firstNumber secondNumber takenAt units first second
-- luacheck: globals remaining newCell
-- Of the sections that include aligned-start:
-- luacheck: read globals window phase changeTime offsetBefore offsetAfter
-- luacheck: globals windowStart

do
  --%begin decide
  local count, window, start, used = firstNumber, secondNumber, unpack('>dd', value, cellPos)
  if algorithm == FIXED_WINDOW then
    if not (used > 0 and start >= 0 and start <= now and now - start < window) then start, used = now, 0 end
  else
    local windowStart
    local phase, offsetBefore, changeTime, offsetAfter = unpack('>dddd', plan, planPos + 19)
    --%fixed-window.aligned-start
    if not (used > 0 and start >= windowStart and start <= now) then used = 0 end
    start = windowStart
  end
  remaining = count - used
  newCell = pack('>dd', start, used + (mode ~= RECORD and cost or math.max(0, math.min(cost, remaining))))
  --%end decide
end

do
  --%begin give-back
  if takenAt >= first and second > 0 then newCell = pack('>dd', first, math.max(0, second - units)) end
  --%end give-back
end

do -- sets windowStart to the start of the aligned window that contains the time `now`
  --%begin aligned-start
  local offset = now < changeTime and offsetBefore or offsetAfter
  windowStart = math.floor((now + offset - phase) / window) * window + phase
  if now >= changeTime and windowStart - offsetAfter < changeTime then -- it started before the change, or at it
    local earlier = windowStart - offsetBefore
    windowStart = earlier < changeTime and earlier + window >= changeTime and earlier or changeTime
  else
    windowStart = windowStart - offset
  end
  --%end aligned-start
end
