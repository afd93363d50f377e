-- SPDX-License-Identifier: Apache-2.0
-- Token bucket whose tokens come back one by one. `parts` are parts of a token: each microsecond brings a whole number
-- of them.
--
-- Plan     count, parts of a token, parts that come back in a microsecond, parts that are missing at first
-- Numbers  time of the last write, debt: the parts that were missing then
--
-- luacheck: read globals EXACT ACQUIRE RECORD pack unpack sub plan
-- Of cells.lua, next-code.lua, refund.lua, converted.lua:
-- luacheck: read globals i now cost mode group arguments firstNumber secondNumber
-- luacheck: read globals takenAt units unitsTaken first second
-- luacheck: globals planPos codePos cellBytes cellPos remaining newCell deniedWrite ttls unit most

do
  --%begin decide
  local count, unit, rate, initialDebt = firstNumber, secondNumber, unpack('>dd', plan, planPos + 17)
  local last, debt = unpack('>dd', cellBytes, cellPos)
  planPos, cellPos = planPos + 33, cellPos + 16
  local started, surplus = last >= 0 and last <= now, 0 -- time has started, and goes on until the key expires
  if not started then
    debt = initialDebt
  else
    if not (debt > 0 and debt < EXACT) then debt = 0 end
    local maxDebt, repaid = count * unit, (now - last) * rate
    if debt > maxDebt then -- a rule with a larger count took it, and it stays owed
      surplus, debt = math.max(0, debt - repaid), maxDebt
    end
    debt = debt - repaid
    if debt < 0 then debt = 0 end
    if surplus > 0 then surplus = surplus - debt end
  end
  remaining = (count * unit - debt) / unit
  remaining = remaining - remaining % 1
  if remaining < cost and cost <= count and not started and debt > 0 then -- else no token would ever come
    cellBytes = sub(cellBytes, 1, cellPos - 17) .. pack('>dd', now, debt) .. sub(cellBytes, cellPos)
    deniedWrite = mode % 2 == ACQUIRE -- or OBSERVE
  end
  if group > 0 then -- the last token may have been whole where it was taken
    debt = math.min(debt + cost * unit, count * unit)
  else
    debt = debt + (mode ~= RECORD and cost or math.min(cost, remaining)) * unit
  end
  if surplus > 0 then
    debt, ttls = debt + surplus, ttls or {}
    ttls[i] = string.format('%.0f', math.max(math.ceil(debt / rate / 1000) + 1000, ttls[i] or arguments[2 * i]))
  end
  newCell = pack('>dd', now, debt)
  --%end decide
end

do
  --%begin next
  codePos = codePos + 33
  --%end next
end

do
  --%begin give-back
  local _, _, unit, rate = unpack('>Bddd', plan, codePos)
  local credit = math.min(units * unit, unitsTaken * unit - math.max(0, first - takenAt) * rate)
  if credit > 0 and second > 0 then newCell = pack('>dd', first, math.max(0, second - credit)) end
  --%end give-back
end

do
  --%begin convert
  local _, count, tokenParts = unpack('>Bdd', plan, codePos)
  unit, most = tokenParts, count * tokenParts
  --%end convert
end
