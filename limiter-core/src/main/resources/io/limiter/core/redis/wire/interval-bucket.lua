-- SPDX-License-Identifier: Apache-2.0
-- Token bucket whose tokens come back at the end of each interval.
--
-- Plan     count, interval in microseconds, tokens that come back in it, tokens that are missing at first
-- Numbers  start of the interval of the last write, the tokens that were missing then
--
-- luacheck: read globals EXACT ACQUIRE RECORD OBSERVE pack unpack plan planPos value cellPos
-- Of cells.lua, refund.lua:
-- luacheck: read globals now cost mode firstNumber secondNumber takenAt units unitsTaken first second
-- luacheck: globals need remaining newCell deniedCell

do
  --%begin decide
  local count, interval, refill, initiallyUsed = firstNumber, secondNumber, unpack('>dd', plan, planPos + 19)
  local last, used = unpack('>dd', value, cellPos)
  local started, surplus = last > 0 and last <= now, 0
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
  if remaining < cost and cost <= count and not started and used > 0 and (mode == ACQUIRE or mode == OBSERVE) then
    deniedCell = pack('>dd', last, used)
  end
  used = used + (mode ~= RECORD and cost or math.min(cost, remaining))
  if surplus > 0 then
    used = used + surplus
    need = math.max(need, math.ceil(used / refill) * interval)
  end
  newCell = pack('>dd', last, used)
  --%end decide
end

do
  --%begin give-back
  local interval, refill = unpack('>dd', plan, planPos + 11)
  local credit = math.min(units, unitsTaken - math.ceil(math.max(0, first - takenAt) / interval) * refill)
  if credit > 0 and second > 0 then newCell = pack('>dd', first, math.max(0, second - credit)) end
  --%end give-back
end
