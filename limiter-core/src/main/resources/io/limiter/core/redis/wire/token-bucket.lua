-- SPDX-License-Identifier: Apache-2.0
-- Token bucket whose tokens come back one by one. `parts` are parts of a token: each microsecond brings a whole number
-- of them. How many parts a token has depends on the refill, so the cell stores it.
--
-- Plan     count, parts of a token, parts that come back in a microsecond, parts that are missing at first
-- Numbers  time of the last write, debt: the parts that were missing then, parts of a token
--
-- luacheck: read globals EXACT ACQUIRE RECORD OBSERVE pack unpack plan planPos value cellPos
-- Of cells.lua, refund.lua:
-- luacheck: read globals now cost mode age firstNumber secondNumber takenAt units unitsTaken first second
-- luacheck: globals need remaining newCell deniedCell
-- Of the sections that include stored-debt:
-- luacheck: read globals unit storedUnit
-- luacheck: globals debt

do
  --%begin decide
  local count, unit, rate, initialDebt = firstNumber, secondNumber, unpack('>dd', plan, planPos + 19)
  local last, debt, storedUnit = unpack('>ddd', value, cellPos)
  local started, surplus = last > 0 and last <= now, 0 -- time has started, and goes on until the key expires
  if not started then
    debt = initialDebt
  else
    --%token-bucket.stored-debt
    local maxDebt, repaid = count * unit, (now - last) * rate
    if debt > maxDebt then -- a rule with a larger count took more, which stays missing
      surplus, debt = math.max(0, debt - repaid), maxDebt
    end
    debt = debt - repaid
    if debt < 0 then debt = 0 end
    if surplus > 0 then surplus = surplus - debt end
  end
  remaining = (count * unit - debt) / unit
  remaining = remaining - remaining % 1
  if remaining < cost and cost <= count and not started and debt > 0 -- else no token would ever come
    and (mode == ACQUIRE or mode == OBSERVE)
  then
    deniedCell = pack('>ddd', now, debt, unit)
  end
  if age == 0 then
    debt = debt + (mode ~= RECORD and cost or math.min(cost, remaining)) * unit
  elseif age > 0 then -- the last token may have been whole where it was taken
    debt = math.min(debt + cost * unit, count * unit)
  else -- the tokens of a lease may be spent at its end: none of them comes back before
    debt = math.max(debt, -age * rate)
    remaining = math.floor((count * unit - debt) / unit)
    debt = debt + cost * unit
  end
  if surplus > 0 then
    debt = math.min(debt + surplus, EXACT - 1)
    need = math.max(need, math.ceil(debt / rate))
  end
  newCell = pack('>ddd', now, debt, unit)
  --%end decide
end

do
  --%begin give-back
  local unit, rate = unpack('>dd', plan, planPos + 11)
  local debt, storedUnit = second, unpack('>d', value, cellPos + 16)
  --%token-bucket.stored-debt
  local credit = math.min(units * unit, unitsTaken * unit - math.max(0, first - takenAt) * rate)
  if credit > 0 and debt > 0 then newCell = pack('>ddd', first, math.max(0, debt - credit), unit) end
  --%end give-back
end

do -- sets debt, which is stored, to parts of this rule's tokens
  --%begin stored-debt
  if not (debt > 0 and debt < EXACT and storedUnit > 0 and storedUnit < EXACT) then debt = 0 end
  if debt > 0 and storedUnit ~= unit then -- another refill: whole tokens stay whole
    local whole = math.floor(debt / storedUnit)
    debt = math.min(whole * unit + math.ceil((debt - whole * storedUnit) * unit / storedUnit), EXACT - 1)
  end
  --%end stored-debt
end
