-- SPDX-License-Identifier: Apache-2.0
--
-- The common case of log.lua in few instructions: a stack of one or two logs and nothing else acquires units, and the
-- log is exact-size, of the same rules, or new. All its units are in `value`. If anything is unusual, `report` stays
-- nil, nothing has changed, and log.lua decides.
--
-- Where only the second cursor has moved, and by less than four units, it is not stored: a cursor is where a search
-- begins, and the value need not be taken apart.
--
-- Constants, functions and variables of the script:
-- luacheck: read globals EXACT LOG_HEADER PLAN_HEADER EXACT_SIZE_UNITS ADMITTED LIMITED
-- luacheck: read globals call pack unpack sub clock writes ttls
-- Of this key:
-- luacheck: read globals i key plan value arguments cost logRules shift headCursor headCursor2
-- Results:
-- luacheck: globals admitted denied report written keptTtls
local log, now, newestUnit, cursor, secondCursor = value, clock, 0, 0, 0
local firstPos = LOG_HEADER + 1 + 4 * logRules
if value == '' then
  log = sub(plan, PLAN_HEADER + 1 + 16 * logRules)
else
  now, cursor, secondCursor, newestUnit = clock + shift, headCursor, headCursor2, unpack('>d', value, #value - 7)
end
local endPos = #log + 1 -- where the next unit will be
local unitCount = (endPos - firstPos) / 8
if unitCount % 1 == 0 and unitCount + cost <= EXACT_SIZE_UNITS and cursor <= unitCount
  and newestUnit >= 0 and newestUnit <= now and now < EXACT
then
  -- For each rule the first unit inside its window: its position in the log, and its time; else the end, and now.
  local count, window, secondCount, secondWindow
  if logRules == 2 then
    count, window, secondCount, secondWindow = unpack('>dddd', plan, PLAN_HEADER + 1)
  else
    count, window = unpack('>dd', plan, PLAN_HEADER + 1)
  end
  local windowStart, pos = now - window, firstPos + 8 * cursor
  local oldest, last = pos < endPos and unpack('>d', log, pos) or now, pos + 64
  while oldest <= windowStart and pos < last do
    pos = pos + 8
    oldest = pos < endPos and unpack('>d', log, pos) or now
  end
  local remaining, waitTime, isUsual = count - (endPos - pos) / 8, oldest - windowStart, oldest > windowStart
  if remaining < cost then
    denied = true
    waitTime = cost <= count and unpack('>d', log, endPos - 8 * (count - cost + 1)) - windowStart or -1
    isUsual = isUsual and waitTime <= window
  elseif cost > 1 and remaining < 2 * cost then -- the unit that must leave before the call can pass again
    local leavingPos = pos + 8 * (2 * cost - remaining - 1)
    waitTime = leavingPos < endPos and unpack('>d', log, leavingPos) - windowStart or window
  end
  local secondPos, storedPos, secondRemaining, secondWait = pos, pos
  if logRules == 2 then
    local secondStart = now - secondWindow
    storedPos = firstPos + 8 * secondCursor
    if storedPos > pos then
      secondPos, last = storedPos, storedPos + 64
      oldest = secondPos < endPos and unpack('>d', log, secondPos) or now
    else
      last = pos + 64
    end
    while oldest <= secondStart and secondPos < last do
      secondPos = secondPos + 8
      oldest = secondPos < endPos and unpack('>d', log, secondPos) or now
    end
    secondRemaining, secondWait = secondCount - (endPos - secondPos) / 8, oldest - secondStart
    isUsual = isUsual and oldest > secondStart and secondPos <= endPos
    if secondRemaining < cost then
      denied = true
      secondWait = cost <= secondCount and unpack('>d', log, endPos - 8 * (secondCount - cost + 1)) - secondStart or -1
      isUsual = isUsual and secondWait <= secondWindow
    elseif cost > 1 and secondRemaining < 2 * cost then
      local leavingPos = secondPos + 8 * (2 * cost - secondRemaining - 1)
      secondWait = leavingPos < endPos and unpack('>d', log, leavingPos) - secondStart or secondWindow
    end
  end
  if not isUsual then
    denied = false
  else
    local timeBytes = pack('>d', now)
    if logRules == 2 then
      report = pack('>c1c8di4di4d', denied and LIMITED or ADMITTED, timeBytes, newestUnit, remaining, waitTime,
        secondRemaining, secondWait)
    else
      report = pack('>c1c8di4d', denied and LIMITED or ADMITTED, timeBytes, newestUnit, remaining, waitTime)
    end
    if denied then
      admitted = false
    else
      if cost > 1 then timeBytes = string.rep(timeBytes, cost) end
      if pos == firstPos and secondPos - storedPos < 32 then
        written = log .. timeBytes
      elseif logRules == 2 then
        written = sub(log, 1, LOG_HEADER) .. pack('>I4I4', 0, (secondPos - pos) / 8) .. sub(log, pos) .. timeBytes
      else
        written = sub(log, 1, LOG_HEADER) .. '\0\0\0\0' .. sub(log, pos) .. timeBytes
      end
      local keepsTtl = value ~= '' and now % (window / 16) >= now - newestUnit -- see decide.lua
      if writes then
        keptTtls = keptTtls or {}
        keptTtls[i] = keepsTtl
      else -- nothing else has to be decided first
        if keepsTtl then
          call('SET', key, written, 'KEEPTTL')
        else
          call('SET', key, written, 'PX', ttls and ttls[i] or arguments[2 * i])
        end
        written = nil
      end
    end
  end
end
