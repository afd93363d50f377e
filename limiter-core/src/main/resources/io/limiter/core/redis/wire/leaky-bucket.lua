-- SPDX-License-Identifier: Apache-2.0
-- Leaky bucket whose calls wait. `parts` are parts of a microsecond: an interval between two departures is a whole
-- number of them.
--
-- Plan     parts of an interval, parts of a microsecond, most units that wait, longest wait in parts, 1 if calls depart
--          in the order of their arrival
-- Numbers  time of the last write, parts from then until the next free departure, the gap
--
-- luacheck: read globals EXACT RECORD MAX_WAIT MAX_DEPARTURES MAX_QUEUE GAP_LENGTH_UNIT GAP_FIRST_UNIT
-- luacheck: read globals call pack unpack plan
-- Of cells.lua, next-code.lua, refund.lua, converted.lua:
-- luacheck: read globals i now cost mode arguments firstNumber secondNumber cellBytes
-- luacheck: read globals takenAt units unitsTaken first
-- luacheck: globals planPos codePos cellPos remaining newCell ttls second unit most
-- Of the sections that include gap:
-- luacheck: globals readGap

do
  --%begin decide
  local unit, rate, queue, maxWait, fair = firstNumber, secondNumber, unpack('>ddd', plan, planPos + 17)
  local last, ahead, gap = unpack('>ddd', cellBytes, cellPos) -- `ahead`: parts until the next free departure
  local gapFirst, gapLength, gapFree = 0, 0, 0
  planPos, cellPos = planPos + 41, cellPos + 24
  if last >= 0 and last <= now and ahead > 0 then
    local maxAhead = MAX_WAIT * rate
    if maxAhead > MAX_DEPARTURES * unit then maxAhead = MAX_DEPARTURES * unit end
    maxAhead = maxAhead + (MAX_QUEUE + 1) * unit
    local stillAhead = (ahead < maxAhead and ahead or maxAhead) - (now - last) * rate
    if stillAhead > unit and ahead <= maxAhead and gap ~= 0 then -- no rule can have made a longer queue
      local readGap
      --%leaky-bucket.gap
      gapFirst, gapLength, gapFree = readGap(gap, math.ceil(stillAhead / unit) - 1)
    end
    ahead = stillAhead > 0 and stillAhead or 0
  else
    ahead = 0
  end
  local gapIsUsable = cost == 1 and fair == 0 and gapFree > 0 and gapFree == gapLength
  -- Departures that are near enough: behind all others, and in the gap
  local later = math.floor((maxWait - ahead) / unit)
  local inTime = math.max(0, later + 1)
  if gapIsUsable then inTime = inTime + math.max(0, math.min(gapFree, gapFirst + later + 1)) end
  remaining = math.min(queue + 1 - math.ceil(ahead / unit) + gapFree, inTime)
  local aheadBefore, unitsTaken = ahead, mode == RECORD and math.max(0, math.min(cost, remaining)) or cost
  if gapIsUsable and unitsTaken == 1 then
    gapFirst, gapLength, gapFree = gapFirst - 1, gapLength - 1, gapFree - 1
  else
    ahead, gapFirst = ahead + unitsTaken * unit, gapFirst + unitsTaken
  end
  local needed = (remaining >= cost or mode == RECORD) and ahead or aheadBefore
  if needed > maxWait + unit then -- longer than after a call of cost 1
    ttls = ttls or {}
    ttls[i] = string.format('%.0f', math.max(math.ceil(needed / rate / 1000) + 1000, ttls[i] or arguments[2 * i]))
  end
  gap = gapFree > 0 and gapFirst * GAP_FIRST_UNIT + gapLength * GAP_LENGTH_UNIT + gapFree or 0
  newCell = pack('>ddd', now, ahead, gap)
  --%end decide
end

do
  --%begin next
  codePos = codePos + 41
  --%end next
end

do
  --%begin give-back
  local _, unit, rate, _, _, fair = unpack('>Bddddd', plan, codePos)
  local partsWaited = unpack('>d', plan, #plan - 7)
  if partsWaited > 0 and units > 0 and units == unitsTaken then
    local readGap
    --%leaky-bucket.gap
    local redisTime, newest, shift = call('TIME'), unpack('>dd', cellBytes, 9)
    local now = math.max(redisTime[1] * 1000000 + redisTime[2] + shift, newest)
    local from = (second - partsWaited + (first - takenAt) * rate) / unit
    local departures = math.ceil((second - (now - first) * rate) / unit) - 1
    if first >= takenAt and from % 1 == 0 and from >= units and from <= departures then
      local gapFirst, gapLength, gapFree = readGap(unpack('>d', cellBytes, cellPos + 16), departures)
      local earliest, behind = from, from - units
      if gapFree > 0 then -- one gap covers both, and what stands between them
        earliest, behind = math.max(gapFirst, from), math.min(gapFirst - gapLength, behind)
      end
      local length, free = earliest - behind, gapFree + units
      if free <= length then -- else some of them are free already
        local gap = earliest * GAP_FIRST_UNIT + length * GAP_LENGTH_UNIT + free
        if fair == 0 and free == length and behind == 0 then -- the last departures: not handed out any more
          second, gap = second - length * unit, 0
        end
        newCell = pack('>ddd', first, second, gap)
      end
    end
  end
  --%end give-back
end

do
  --%begin convert
  local _, interval, _, queue, maxWait = unpack('>Bdddd', plan, codePos)
  unit, most = interval, maxWait + (queue + 1) * interval
  --%end convert
end

-- Defines a function for the gap: the departures that abandoned calls gave up, as one series. Departures are numbered
-- backwards: 1 is the last one that was handed out. A gap has three numbers: the number of its first departure, its
-- length, and how many of its departures are free. If only some are, the earliest count as free. Redis stores one
-- number (d), 0 if there is no gap: GAP_FIRST_UNIT times the first departure, plus GAP_LENGTH_UNIT times the length,
-- plus the free departures.
do
  --%begin gap
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
  --%end gap
end
