-- SPDX-License-Identifier: Apache-2.0
-- Token bucket whose tokens come back at the end of each interval.
--
-- Plan     count, interval in microseconds, tokens that come back in it, tokens that are missing at first
-- Numbers  start of the interval of the last write, the tokens that were missing then
--
-- luacheck: read globals EXACT ACQUIRE RECORD pack unpack sub plan
-- Of cells.lua, next-code.lua, refund.lua, converted.lua:
-- luacheck: read globals i now cost mode arguments firstNumber secondNumber
-- luacheck: read globals takenAt units unitsTaken first second
-- luacheck: globals planPos codePos cellBytes cellPos remaining newCell deniedWrite ttls unit most

do
  --%begin decide
  local count, interval, refill, initiallyUsed = firstNumber, secondNumber, unpack('>dd', plan, planPos + 17)
  local last, used = unpack('>dd', cellBytes, cellPos)
  planPos, cellPos = planPos + 33, cellPos + 16
  local started, surplus = last >= 0 and last <= now, 0
  if started then
    if not (used > 0 and used < EXACT) then used = 0 end
    local refills = math.floor((now - last) / interval)
    if used > count then surplus, used = math.max(0, used - refills * refill), count end
    used, last = used - refills * refill, last + refills * interval
    if used < 0 then used = 0 end
    if surplus > 0 then surplus = surplus - used end
    if used + surplus == 0 then last = now end
  else
    used, last = initiallyUsed, now
  end
  remaining = count - used
  if remaining < cost and cost <= count and not started and used > 0 then
    cellBytes = sub(cellBytes, 1, cellPos - 17) .. pack('>dd', last, used) .. sub(cellBytes, cellPos)
    deniedWrite = mode % 2 == ACQUIRE -- or OBSERVE
  end
  used = used + (mode ~= RECORD and cost or math.min(cost, remaining))
  if surplus > 0 then
    used, ttls = used + surplus, ttls or {}
    local needed = math.ceil(used / refill) * interval
    ttls[i] = string.format('%.0f', math.max(math.ceil(needed / 1000) + 1000, ttls[i] or arguments[2 * i]))
  end
  newCell = pack('>dd', last, used)
  --%end decide
end

do
  --%begin next
  codePos = codePos + 33
  --%end next
end

do
  --%begin give-back
  local _, _, interval, refill = unpack('>Bddd', plan, codePos)
  local credit = math.min(units, unitsTaken - math.ceil(math.max(0, first - takenAt) / interval) * refill)
  if credit > 0 and second > 0 then newCell = pack('>dd', first, math.max(0, second - credit)) end
  --%end give-back
end

do
  --%begin convert
  local _, count = unpack('>Bd', plan, codePos)
  unit, most = 1, count
  --%end convert
end
