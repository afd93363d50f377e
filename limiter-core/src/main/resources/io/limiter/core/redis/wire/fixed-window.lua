-- SPDX-License-Identifier: Apache-2.0
-- Fixed window: it begins with a call, by the clock of a time zone (ALIGNED_WINDOW), or by its calendar
-- (CALENDAR_WINDOW), also with an anchor of each subject, which may change (ANCHORED_WINDOW).
--
-- Plan     count, window in microseconds; of an aligned window also the start of a window in the zone's local time, and
--          the zone's offset from UTC before a change of its clocks, the time of that change, the offset after it, and
--          from when until when no other change matters. By the calendar: count, and four times at which windows
--          start, the second of which has started on the caller's clock. At a time outside of these times the call is
--          not decided: the error PERIOD gives this time, in seconds, and the caller sends others. With an anchor of
--          each subject also, for each of the first three, the latest start of a window that ends there: a whole
--          period before
-- Numbers  start of the window, units used
--
-- luacheck: read globals FIXED_WINDOW CALENDAR_WINDOW ANCHORED_WINDOW RECORD pack unpack plan planPos value cellPos
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
    local windowStart, latest
    if algorithm == CALENDAR_WINDOW or algorithm == ANCHORED_WINDOW then
      local before, current, nextStart, last = secondNumber, unpack('>ddd', plan, planPos + 19)
      if now < before or now >= last then return redis.error_reply('PERIOD ' .. math.floor(now / 1000000)) end
      windowStart = now >= nextStart and nextStart or now >= current and current or before
      if algorithm == ANCHORED_WINDOW then
        local beforeFirst, first, second = unpack('>ddd', plan, planPos + 43)
        latest = now >= nextStart and second or now >= current and first or beforeFirst
      end
    else
      local phase, offsetBefore, changeTime, offsetAfter, from, to = unpack('>dddddd', plan, planPos + 19)
      if now < from or now >= to then return redis.error_reply('PERIOD ' .. math.floor(now / 1000000)) end
      --%fixed-window.aligned-start
    end
    -- A start that was stored stays: instances whose tables of time zones differ do not reset the window in turn.
    local lasts = used > 0 and start >= windowStart
    -- Nor does a start that another anchor gave go back, or forward within a period: even unused, it stays.
    if latest then lasts = start > latest end
    if not (lasts and start <= now) then start, used = windowStart, 0 end
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
