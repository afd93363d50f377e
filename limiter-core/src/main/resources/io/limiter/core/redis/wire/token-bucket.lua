-- SPDX-License-Identifier: Apache-2.0
-- Token bucket whose tokens come back one by one (TOKEN_BUCKET), or some at the end of each interval (INTERVAL_BUCKET).
-- `parts` are parts of a token: each microsecond brings a whole number of them. How many parts a token has depends on
-- the refill, so the cell stores it. At the end of an interval tokens come back whole: a token is its only part.
--
-- Plan     count, parts of a token, parts that come back in a microsecond, parts that are missing at first; by
--          intervals: count, interval in microseconds, tokens that come back in it, tokens that are missing at first
-- Numbers  time of the last write, debt: the parts that were missing then, parts of a token; by intervals: start of the
--          interval of the last write, debt
--
-- luacheck: read globals TOKEN_BUCKET EXACT ACQUIRE RECORD OBSERVE pack unpack plan planPos value cellPos
-- Of cells.lua, refund.lua:
-- luacheck: read globals algorithm now cost mode age firstNumber secondNumber takenAt units unitsTaken first second
-- luacheck: globals need remaining newCell deniedCell
-- Of the sections that include stored-debt, also in leaky-bucket.lua:
-- luacheck: read globals unit storedUnit
-- luacheck: globals debt

do
  --%begin decide
  local isGradual, count, rate, initialDebt = algorithm == TOKEN_BUCKET, firstNumber, unpack('>dd', plan, planPos + 19)
  local unit, step, last, debt, storedUnit -- `step`: after so many microseconds `rate` parts come back
  if isGradual then
    unit, step, last, debt, storedUnit = secondNumber, 1, unpack('>ddd', value, cellPos)
  else
    unit, step, storedUnit, last, debt = 1, secondNumber, 1, unpack('>dd', value, cellPos)
  end
  local started, surplus = last > 0 and last <= now, 0 -- time has started, and goes on until the key expires
  if not started then
    last, debt = now, initialDebt
  else
    --%token-bucket.stored-debt
    local maxDebt, repaid = count * unit, (now - last) * rate
    if isGradual then
      last = now
    else
      local intervals = math.floor((now - last) / step)
      repaid, last = intervals * rate, last + intervals * step
    end
    if debt > maxDebt then -- a rule with a larger count took more, which stays missing
      surplus, debt = math.max(0, debt - repaid), maxDebt
    end
    debt = debt - repaid
    if debt < 0 then debt = 0 end
    if surplus > 0 then surplus = surplus - debt end
    if not isGradual and debt + surplus == 0 then last = now end
  end
  remaining = (count * unit - debt) / unit
  remaining = remaining - remaining % 1
  if remaining < cost and cost <= count and not started and debt > 0 -- else no token would ever come
    and (mode == ACQUIRE or mode == OBSERVE)
  then
    deniedCell = isGradual and pack('>ddd', last, debt, unit) or pack('>dd', last, debt)
  end
  if age == 0 or not isGradual then
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
    need = math.max(need, math.ceil(debt / rate) * step)
  end
  newCell = isGradual and pack('>ddd', last, debt, unit) or pack('>dd', last, debt)
  --%end decide
end

do
  --%begin give-back
  local unit, step, rate = 1, unpack('>dd', plan, planPos + 11)
  local debt, storedUnit = second, 1
  if algorithm == TOKEN_BUCKET then unit, step, storedUnit = step, 1, unpack('>d', value, cellPos + 16) end
  --%token-bucket.stored-debt
  local credit = math.min(units * unit, unitsTaken * unit - math.ceil(math.max(0, first - takenAt) / step) * rate)
  if credit > 0 and debt > 0 then
    debt = math.max(0, debt - credit)
    newCell = algorithm == TOKEN_BUCKET and pack('>ddd', first, debt, unit) or pack('>dd', first, debt)
  end
  --%end give-back
end

do -- sets debt, which another count or refill may have written, to parts of this rule; also of a leaky bucket
  --%begin stored-debt
  if not (debt > 0 and debt < EXACT and storedUnit > 0 and storedUnit < EXACT) then debt = 0 end
  if debt > 0 and storedUnit ~= unit then -- whole tokens stay whole
    local whole = math.floor(debt / storedUnit)
    debt = math.min(whole * unit + math.ceil((debt - whole * storedUnit) * unit / storedUnit), EXACT - 1)
  end
  --%end stored-debt
end
