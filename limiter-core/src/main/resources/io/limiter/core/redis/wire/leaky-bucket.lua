-- SPDX-License-Identifier: Apache-2.0
-- Leaky bucket whose calls wait. `parts` are parts of a microsecond: an interval between two departures is a whole
-- number of them. How many depends on the count, so the cell stores it.
--
-- Plan     parts of an interval, parts of a microsecond, most units that wait, longest wait in parts, 1 if calls depart
--          in the order of their arrival
-- Numbers  time of the last write, debt: the parts from then until the next free departure, the gap, parts of a
--          microsecond
--
-- luacheck: read globals EXACT RECORD MAX_WAIT MAX_DEPARTURES MAX_QUEUE GAP_LENGTH_UNIT GAP_FIRST_UNIT
-- luacheck: read globals pack unpack plan planPos value cellPos
-- Of cells.lua, refund.lua:
-- luacheck: read globals now cost mode firstNumber secondNumber takenAt units unitsTaken first partsWaited
-- luacheck: globals need remaining newCell
-- Of the sections that include gap:
-- luacheck: globals readGap

do
  --%begin decide
  local interval, unit, queue, maxWait, fair = firstNumber, secondNumber, unpack('>ddd', plan, planPos + 19)
  local last, debt, gap, storedUnit = unpack('>dddd', value, cellPos)
  local gapFirst, gapLength, gapFree = 0, 0, 0
  if last > 0 and last <= now and debt > 0 then
    --%token-bucket.stored-debt
    if storedUnit ~= unit then gap = 0 end
    local maxDebt = MAX_WAIT * unit
    if maxDebt > MAX_DEPARTURES * interval then maxDebt = MAX_DEPARTURES * interval end
    maxDebt = maxDebt + (MAX_QUEUE + 1) * interval
    local ahead = (debt < maxDebt and debt or maxDebt) - (now - last) * unit
    if ahead > interval and debt <= maxDebt and gap ~= 0 then -- no rule can have made a longer queue
      local readGap
      --%leaky-bucket.gap
      gapFirst, gapLength, gapFree = readGap(gap, math.ceil(ahead / interval) - 1)
    end
    debt = ahead > 0 and ahead or 0
  else
    debt = 0
  end
  local gapIsUsable = cost == 1 and fair == 0 and gapFree > 0 and gapFree == gapLength
  -- Departures that are near enough: behind all others, and in the gap
  local later = math.floor((maxWait - debt) / interval)
  local inTime = math.max(0, later + 1)
  if gapIsUsable then inTime = inTime + math.max(0, math.min(gapFree, gapFirst + later + 1)) end
  remaining = math.min(queue + 1 - math.ceil(debt / interval) + gapFree, inTime)
  local debtBefore, unitsTaken = debt, mode == RECORD and math.max(0, math.min(cost, remaining)) or cost
  if gapIsUsable and unitsTaken == 1 then
    gapFirst, gapLength, gapFree = gapFirst - 1, gapLength - 1, gapFree - 1
  else
    debt, gapFirst = debt + unitsTaken * interval, gapFirst + unitsTaken
  end
  -- It is more than the plan's for a call of a higher cost than 1.
  need = math.max(need, math.ceil(((remaining >= cost or mode == RECORD) and debt or debtBefore) / unit))
  gap = gapFree > 0 and gapFirst * GAP_FIRST_UNIT + gapLength * GAP_LENGTH_UNIT + gapFree or 0
  newCell = pack('>dddd', now, debt, gap, unit)
  --%end decide
end

do
  --%begin give-back
  local interval, unit, _, _, fair = unpack('>ddddd', plan, planPos + 3)
  local debt, gap, storedUnit = unpack('>ddd', value, cellPos + 8)
  if partsWaited > 0 and units > 0 and units == unitsTaken and debt > 0 then
    --%token-bucket.stored-debt
    if storedUnit ~= unit then gap = 0 end
    local readGap
    --%leaky-bucket.gap
    local from = (debt - partsWaited + (first - takenAt) * unit) / interval
    local departures = math.ceil((debt - (now - first) * unit) / interval) - 1
    if first >= takenAt and from % 1 == 0 and from >= units and from <= departures then
      local gapFirst, gapLength, gapFree = readGap(gap, departures)
      local earliest, behind = from, from - units
      if gapFree > 0 then -- one gap covers both, and what stands between them
        earliest, behind = math.max(gapFirst, from), math.min(gapFirst - gapLength, behind)
      end
      local length, free = earliest - behind, gapFree + units
      if free <= length then -- else some of them are free already
        gap = earliest * GAP_FIRST_UNIT + length * GAP_LENGTH_UNIT + free
        if fair == 0 and free == length and behind == 0 then -- the last departures: not handed out any more
          debt, gap = debt - length * interval, 0
        end
        newCell = pack('>dddd', first, debt, gap, unit)
      end
    end
  end
  --%end give-back
end

-- Defines a function for the gap: the departures that abandoned calls gave up, as one series. Departures are numbered
-- backwards: 1 is the last one that was handed out. A gap has three numbers: the number of its first departure, its
-- length, and how many of its departures are free. If only some are, the earliest count as free. Redis stores one
-- number (d), 0 if there is no gap: GAP_FIRST_UNIT times the first departure, plus GAP_LENGTH_UNIT times the length,
-- plus the free departures.
do
  --%begin gap
  -- The three numbers of a stored gap without the departures that have come; zeros if none is ahead.
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
  --%end gap
end
