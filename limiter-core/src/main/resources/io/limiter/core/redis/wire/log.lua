-- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads and writes a log: the times of its units, oldest first. It runs in the loop over
-- the charges, before the cells.
--
-- An exact-size log is shorter than a page and is rewritten as a whole. A longer one has spare room: it is written in
-- place while the room at its end lasts, then rewritten without the units that have left the longest window. So a call
-- costs the same at any length, except for the bytes that such a rewrite moves. A log keeps as many units as its rules
-- need, or as the longest window had before this call, if that is more: under a larger count.
--
-- Reports the status that the log alone would give, the time of the decision, and the newest unit before this call
-- (d, d); then for each rule the units that remain before this call (i4) and a time (d). If the rule is violated, it is
-- the time until the call could pass, -1 if it never could; else the time until the next unit comes back and the call
-- could pass again. The call is allowed unless a rule has fewer units left than the cost.
--
-- The section "quick" is the common case in few instructions: a stack of one or two logs and nothing else acquires
-- units, and the log is exact-size, or new, so that all its units are in `value`. If anything is unusual, `report`
-- stays nil, nothing has changed, and the section "any" decides. Where only the second cursor has moved, and by less
-- than four units, it is not stored: a cursor is where a search begins, and the value need not be split. Without this
-- section an admitted call takes 7.6 µs instead of 7.0, and a denied one 7.2 instead of 6.3 (Redis 7.0, INFO
-- commandstats).
--
-- Constants, functions and variables of the script:
-- luacheck: read globals PEEK ACQUIRE LEASE RECORD OBSERVE ADMITTED LIMITED HEAD LOG_HEAD EXACT_SIZE_UNITS
-- luacheck: read globals LONGEST_LEASE PAGE call pack unpack sub clock age
-- Of this key:
-- luacheck: read globals key plan value headLength memory mode cost logRules now nowBytes newest cursor secondCursor
-- luacheck: read globals keepsTtl firstCount firstWindow secondCount secondWindow cellsAt stamp
-- Of the sections that include others:
-- luacheck: read globals page window count endPos repeatBytes
-- luacheck: globals unitTime advanceCursor pos oldest isUsual remaining waitTime windowStart last
-- Results:
-- luacheck: globals planPos unitCount admitted denied corruptKey report head logHead newestBytes keptUnits newUnits
-- luacheck: globals spare unitsOffset need returned rest movedFrom movedTo movedBytes

do
  --%begin quick
  local endPos, firstPos = #value + 1, headLength + 1 -- where the next unit will be, and where the first one is
  local units = (endPos - firstPos) / 8
  if units % 1 == 0 and units + cost <= EXACT_SIZE_UNITS and cursor <= units and newest >= 0 and newest <= now then
    local isUsual, count, window, pos = true, firstCount, firstWindow, firstPos + 8 * cursor
    local oldest = pos < endPos and unpack('>d', value, pos) or now
    local remaining, waitTime, windowStart, last
    --%log.quick-rule
    local keptPos, storedPos, firstRemaining, firstWait = pos, pos, remaining, waitTime
    if logRules == 2 then
      count, window, storedPos = secondCount, secondWindow, firstPos + 8 * secondCursor
      if storedPos > pos then
        pos = storedPos
        oldest = pos < endPos and unpack('>d', value, pos) or now
      end
      --%log.quick-rule
    end
    if not isUsual then
      denied = false
    else
      if logRules == 2 then
        report = pack('>c1c8di4di4d', denied and LIMITED or ADMITTED, nowBytes, newest, firstRemaining, firstWait,
          remaining, waitTime)
      else
        report = pack('>c1c8di4d', denied and LIMITED or ADMITTED, nowBytes, newest, remaining, waitTime)
      end
      if denied then
        admitted = false
      else
        newUnits = cost > 1 and string.rep(nowBytes, cost) or nowBytes
        if keepsTtl and keptPos == firstPos and pos - storedPos < 32 then -- the rest of the value stays as it is
          head, keptUnits = nowBytes, sub(value, 17)
        else
          head = nowBytes .. sub(value, 17, 24)
            .. (keepsTtl and sub(value, 25, HEAD) or pack('>d', clock + memory + math.floor(memory / 16)))
          if keptPos == firstPos and pos - storedPos < 32 then
            keptUnits = sub(value, HEAD + 1)
          else
            head = head .. '\0\0\0\0\0\0\0\0'
            if logRules == 2 then head = head .. pack('>I4', (pos - keptPos) / 8) end
            keptUnits = sub(value, keptPos)
          end
        end
      end
    end
  end
  --%end quick
end

do -- one rule of the common case: its first unit inside the window, from `pos` on; else the end, and now
  --%begin quick-rule
  windowStart, last = now - window, pos + 64
  while oldest <= windowStart and pos < last do
    pos = pos + 8
    oldest = pos < endPos and unpack('>d', value, pos) or now
  end
  remaining, waitTime = count - (endPos - pos) / 8, oldest - windowStart
  isUsual = isUsual and oldest > windowStart and pos <= endPos
  if remaining < cost then
    denied = true
    waitTime = cost <= count and unpack('>d', value, endPos - 8 * (count - cost + 1)) - windowStart or -1
    isUsual = isUsual and waitTime <= window
  elseif cost > 1 and remaining < 2 * cost then -- the unit that must leave before the call can pass again
    local leavingPos = pos + 8 * (2 * cost - remaining - 1)
    waitTime = leavingPos < endPos and unpack('>d', value, leavingPos) - windowStart or window
  end
  --%end quick-rule
end

do
  --%begin any
  local page, hasSpare = value, unitCount > 0
  local cursors, unitTime, advanceCursor -- cursors that differ from the stored ones; two functions
  if not hasSpare then
    unitCount = (#value - headLength) / 8
    if unitCount % 1 > 0 or unitCount > EXACT_SIZE_UNITS then -- truncated, or followed by other bytes
      corruptKey, unitCount = key, 0
    end
  end
  if not (newest >= 0 and newest <= now + LONGEST_LEASE) then corruptKey = key end
  local stamp = mode == LEASE and now - age or now -- of the units of this call
  if newest > stamp then stamp = newest end -- behind those of a lease, since a log is in order

  -- The first two rules are read and reported at once, since most stacks have no more; every call of a function counts.
  local firstRemaining, firstWait, secondRemaining, secondWait, otherReports
  local knownCursor, knownOldest -- of the rule before: mostly all cursors are at the same unit
  for r = 1, logRules do
    local count, window, cursorOfRule = firstCount, firstWindow, cursor
    if r == 2 then
      count, window, cursorOfRule = secondCount, secondWindow, secondCursor
    elseif r > 2 then
      count, window = unpack('>dd', plan, planPos + 16 * r - 16)
      cursorOfRule = unpack('>I4', value, LOG_HEAD - 3 + 4 * r)
    end
    local oldest, windowStart = stamp, now - window
    if cursorOfRule > unitCount then
      corruptKey, cursorOfRule = key, unitCount
    elseif knownCursor and cursorOfRule < knownCursor then -- the window is not longer than that of the rule before
      cursorOfRule = knownCursor
    end
    if cursorOfRule < unitCount then
      if cursorOfRule == knownCursor then
        oldest = knownOldest
      else
        local offset = headLength + 8 * cursorOfRule
        oldest = offset + 8 <= #page and unpack('>d', page, offset + 1) or windowStart
      end
      if oldest <= windowStart then
        if not unitTime then
          --%log.readers
        end
        cursorOfRule = advanceCursor(cursorOfRule, windowStart)
        oldest = cursorOfRule < unitCount and unitTime(cursorOfRule) or stamp
        cursors = cursors or {}
        cursors[r] = cursorOfRule
      end
      knownCursor, knownOldest = cursorOfRule, oldest
    end
    local remaining, waitTime = count - unitCount + cursorOfRule, oldest - windowStart
    -- The unit that must leave first: before this call can pass, again or at all, or, after a record without room,
    -- before any call can pass.
    local leavingUnit
    if remaining < cost then
      leavingUnit = unitCount + cost - count
      if mode ~= RECORD then
        admitted, denied, leavingUnit = admitted and mode == OBSERVE, true, leavingUnit - 1
      end
    elseif cost > 1 and remaining < 2 * cost and mode ~= PEEK then
      leavingUnit = cursorOfRule + 2 * cost - remaining - 1
    end
    if leavingUnit then
      if leavingUnit < unitCount then
        if not unitTime then
          --%log.readers
        end
        waitTime = unitTime(leavingUnit) - windowStart
        if not (waitTime <= window + LONGEST_LEASE) then corruptKey = key end
      else
        waitTime = remaining < cost and mode ~= RECORD and -1 or window + stamp - now
      end
    end
    if r == 1 then
      firstRemaining, firstWait = remaining, waitTime
    elseif r == 2 then
      secondRemaining, secondWait = remaining, waitTime
    else
      otherReports = (otherReports or '') .. pack('>i4d', remaining, waitTime)
    end
  end
  local status = denied and LIMITED or ADMITTED -- the cells have the last word
  if logRules > 1 then
    report = pack('>c1c8di4di4d', status, nowBytes, newest, firstRemaining, firstWait, secondRemaining, secondWait)
    if otherReports then report = report .. otherReports end
  else
    report = pack('>c1c8di4d', status, nowBytes, newest, firstRemaining, firstWait)
  end
  planPos = planPos + 16 * logRules + 4

  if mode ~= PEEK and admitted and not denied and not corruptKey then
    local firstCursor = cursors and cursors[1] or cursor
    local firstKept, added = firstCursor, cost
    if mode ~= ACQUIRE then -- else the units fit, or a rule would have denied them
      local most = math.max((unpack('>I4', plan, planPos - 4)), unitCount - firstCursor)
      added = math.min(cost, most)
      firstKept = math.max(firstCursor, unitCount + added - most)
    end
    newestBytes, need = stamp > now and pack('>d', stamp) or nowBytes, need + stamp - now
    --%log.repeat
    newUnits = added > 1 and repeatBytes(newestBytes, added) or newestBytes
    if not hasSpare and not cursors and firstKept == firstCursor and unitCount + added <= EXACT_SIZE_UNITS then
      keptUnits = sub(value, headLength + 1)
      logHead = sub(value, HEAD + 1, LOG_HEAD + 4 * logRules)
    else
      local inPlace = hasSpare and firstKept <= unitCount / 8
        and headLength + 8 * (unitCount + added) <= call('STRLEN', key)
      local firstWritten = inPlace and 0 or firstKept
      local written = unitCount - firstWritten + added
      logHead = pack('>I4', written > EXACT_SIZE_UNITS and written or 0)
      for r = 1, logRules do
        local index = cursors and cursors[r] or r == 1 and cursor or r == 2 and secondCursor
          or unpack('>I4', value, LOG_HEAD - 3 + 4 * r)
        logHead = logHead .. pack('>I4', math.max(index, firstKept) - firstWritten)
      end
      if inPlace then
        unitsOffset = headLength + 8 * unitCount
      else
        local from, to = headLength + 8 * firstKept, headLength + 8 * unitCount
        keptUnits = to <= #page and sub(page, from + 1, to) or from < to and call('GETRANGE', key, from, to - 1) or ''
        if written > EXACT_SIZE_UNITS then spare = repeatBytes('\0\0\0\0\0\0\0\0', math.floor(written / 8)) end
      end
    end
  end
  --%end any
end

do
  --%begin repeat
  -- Repeats a text. string.rep of Lua 5.1 appends one at a time: 10,000 times would take half a millisecond.
  local function repeatBytes(text, times)
    if times < 128 then return string.rep(text, times) end
    local block = string.rep(text, 64)
    local part = string.rep(block, math.floor(times / 1024)) -- a sixteenth
    return part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part
      .. part .. part .. string.rep(block, math.floor(times / 64) % 16) .. string.rep(text, times % 64)
  end
  --%end repeat
end

do
  --%begin readers
  -- Defines two functions, where the first page of a log does not suffice. They read half a page around a unit, so that
  -- the last steps of a search need no further read.
  local readPage, readOffset = page, 0

  -- Time of the unit at an index. If `alone`, nothing around it is read.
  unitTime = function(index, alone)
    local offset = headLength + 8 * index - readOffset
    if offset < 0 or offset + 8 > #readPage then
      offset = alone and 0 or math.min(8 * index, 256)
      readOffset = headLength + 8 * index - offset
      readPage = call('GETRANGE', key, readOffset, readOffset + (alone and 7 or PAGE / 2 - 1))
    end
    if #readPage < offset + 8 then -- fewer units than the head counts
      corruptKey = key
      return 0
    end
    return (unpack('>d', readPage, offset + 1))
  end

  -- Index of the first unit, from `low` on, that is later than the start of a window; unitCount if there is none.
  -- Cursors mostly move by little, so the search gallops.
  advanceCursor = function(low, start)
    if unitTime(low) > start then return low end
    local step = 1
    while low + step < unitCount and unitTime(low + step) <= start do
      low, step = low + step, 2 * step
    end
    local high = math.min(low + step, unitCount)
    while high - low > 1 do
      local middle = math.floor((low + high) / 2)
      if unitTime(middle, high - low > 64) <= start then low = middle else high = middle end
    end
    return high
  end
  --%end readers
end

do -- for refund.lua: removes at most `cost` units with this stamp. Of a long log it reads only pages, and to close the
  -- gap it moves the shorter side.
  --%begin give-back
  local page, corruptKey, unitTime, advanceCursor = value
  local bytes = #page % PAGE == 0 and call('STRLEN', key) or #page
  local unitCount, firstUnit = unpack('>I4I4', page, HEAD + 1)
  local hasSpare = unitCount > 0
  if not hasSpare then unitCount = (bytes - headLength) / 8 end
  if unitCount % 1 == 0 and headLength + 8 * unitCount <= bytes and firstUnit < unitCount then
    --%log.readers
    local low = math.max(firstUnit, unitCount - 32) -- mostly it is one of the newest
    low = advanceCursor(unitTime(low) < stamp and low or firstUnit, stamp - 1)
    local after = low
    if low < unitCount and unitTime(low) == stamp then after = math.min(advanceCursor(low, stamp), low + cost) end
    local removed = after - low
    local left, moved = unitCount - firstUnit - removed, -firstUnit -- `moved`: by how much indexes below the gap change
    returned = math.max(returned, removed)
    if removed > 0 and left == 0 then
      newestBytes, logHead, rest = string.rep('\0', 8), string.rep('\0', cellsAt - HEAD), ''
    elseif removed > 0 then
      if after == unitCount then newestBytes = pack('>d', unitTime(low - 1)) end
      if not hasSpare or left <= EXACT_SIZE_UNITS or bytes - headLength > 16 * left then -- spare room wastes memory
        local all = bytes > #value and call('GETRANGE', key, '0', '-1') or value
        rest = sub(all, headLength + 8 * firstUnit + 1, headLength + 8 * low)
          .. sub(all, headLength + 8 * after + 1, headLength + 8 * unitCount)
      elseif low - firstUnit < unitCount - after then
        moved, movedFrom, movedBytes = removed, headLength + 8 * firstUnit, 8 * (low - firstUnit)
        movedTo = movedFrom + 8 * removed
      else
        moved, movedFrom, movedBytes = 0, headLength + 8 * after, 8 * (unitCount - after)
        movedTo = movedFrom - 8 * removed
      end
      local stored = unitCount - removed + moved
      logHead = pack('>I4', stored > EXACT_SIZE_UNITS and stored or 0)
      for r = 1, logRules do
        local cursor = unpack('>I4', value, LOG_HEAD - 3 + 4 * r)
        if cursor > low then cursor = math.max(low, cursor - removed) end
        logHead = logHead .. pack('>I4', math.max(cursor, firstUnit) + moved)
      end
    end
  end
  --%end give-back
end
