-- SPDX-License-Identifier: Apache-2.0
--
-- The part of decide.lua that reads and writes cells: the numbers of each rule that has no log. It runs in the loop
-- over the charges, after the log. It computes only what the decision needs. From the reported numbers the
-- caller computes what remains and when more comes back.
--
-- Each algorithm has a file of its own, such as token-bucket.lua. Its section "decide" sets `remaining`, the units that
-- are left before the call, and newCell, its numbers if the call is admitted. It may set deniedCell, its numbers if the
-- call is denied, where these change.
--
-- Reports the time, unless the log has reported it, and the numbers before this call (d).
--
-- Constants, functions and variables of the script:
-- luacheck: read globals TOKEN_BUCKET INTERVAL_BUCKET FIXED_WINDOW ALIGNED_WINDOW CALENDAR_WINDOW ANCHORED_WINDOW
-- luacheck: read globals SLIDING_COUNTER LEAKY_BUCKET RECORD OBSERVE ADMITTED LIMITED pack unpack sub
-- Of this key:
-- luacheck: read globals plan value headLength cellsAt mode cost cellCount now nowBytes
-- Results:
-- luacheck: globals planPos admitted denied report newNumbers deniedNumbers

local numbers, cellPos = sub(value, cellsAt + 9, headLength), cellsAt + 9
for _ = 1, cellCount do
  -- How many numbers the cell has, the length of its code, and the parameters that most algorithms begin with.
  local algorithm, size, codeLength, firstNumber, secondNumber = unpack('>BBBdd', plan, planPos)
  local remaining, newCell, deniedCell
  if algorithm == TOKEN_BUCKET or algorithm == INTERVAL_BUCKET then
    --%token-bucket.decide
  elseif algorithm == FIXED_WINDOW or algorithm == ALIGNED_WINDOW or algorithm == CALENDAR_WINDOW
    or algorithm == ANCHORED_WINDOW
  then
    --%fixed-window.decide
  elseif algorithm == SLIDING_COUNTER then
    --%sliding-counter.decide
  elseif algorithm == LEAKY_BUCKET then
    --%leaky-bucket.decide
  else -- a custom algorithm. The cell has the time of the last write, and its numbers
    local evaluate
    --%custom-algorithms
    local count, window, lasts = firstNumber, secondNumber, unpack('>d', plan, planPos + 19)
    local parameters, state = {}, {}
    for p = 1, (codeLength - 27) / 8 do parameters[p] = unpack('>d', plan, planPos + 19 + 8 * p) end
    local last = unpack('>d', value, cellPos)
    for s = 1, size - 1 do state[s] = unpack('>d', value, cellPos + 8 * s) end
    if not (last > 0 and last <= now and now - last < lasts) then state = nil end
    local nextState
    remaining, nextState = evaluate(now, cost, count, window, parameters, state)
    if mode == RECORD and remaining < cost then
      local unitsTaken = math.min(cost, math.max(0, math.floor(remaining)))
      remaining, nextState = evaluate(now, unitsTaken, count, window, parameters, state)
    end
    newCell = nowBytes
    for s = 1, size - 1 do newCell = newCell .. pack('>d', nextState[s]) end
  end
  if deniedCell then
    local old, offset = deniedNumbers or numbers, cellPos - cellsAt - 9
    deniedNumbers = sub(old, 1, offset) .. deniedCell .. sub(old, offset + 8 * size + 1)
  end
  newNumbers = newNumbers and newNumbers .. newCell or newCell
  if remaining and remaining < cost and mode ~= RECORD then admitted, denied = admitted and mode == OBSERVE, true end
  planPos, cellPos = planPos + codeLength, cellPos + 8 * size
end
report = (denied and LIMITED or ADMITTED) .. (report and sub(report, 2) or nowBytes) .. numbers
