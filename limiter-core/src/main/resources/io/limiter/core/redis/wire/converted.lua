-- SPDX-License-Identifier: Apache-2.0
-- Sets newCell to what a rule starts from, given a stored cell of its kind with other parameters: the units that cell
-- has counted. If it is not known when some of them were used, they count as late as possible.
-- luacheck: read globals EXACT SLIDING_COUNTER FIXED_WINDOW ALIGNED_WINDOW INTERVAL_BUCKET LEAKY_BUCKET
-- luacheck: read globals pack unpack sub plan value
--   codePos   position of the rule's algorithm in the plan
--   source    the stored cell
--   time      of the cells
--   newest    the last write of the cells
-- luacheck: read globals algorithm codePos source time newest
-- luacheck: globals newCell
local first, second = unpack('>dd', value, source.pos)
if algorithm == SLIDING_COUNTER then
  local _, _, window = unpack('>Bdd', plan, codePos)
  local sourceWindow, windowStart = source.scale, math.floor(time / window) * window
  local current, previous = 0, 0
  local unitsByStart = { [first] = second, [first - sourceWindow] = (unpack('>d', value, source.pos + 16)) }
  for start, units in pairs(unitsByStart) do
    local latest = math.min(start + sourceWindow, newest + 1) -- nothing was used after the last write
    if units > 0 and latest > windowStart then
      current = current + units
    elseif units > 0 and latest > windowStart - window then
      previous = previous + units
    end
  end
  if first >= 0 and current + previous > 0 and current + previous < EXACT then
    newCell = pack('>ddd', windowStart, current, previous)
  end
elseif algorithm == FIXED_WINDOW or algorithm == ALIGNED_WINDOW then -- what was used since the window started
  local _, _, window = unpack('>Bdd', plan, codePos)
  local now, windowStart = time, math.max(0, first)
  if algorithm == ALIGNED_WINDOW then
    local phase, offsetBefore, changeTime, offsetAfter = unpack('>dddd', plan, codePos + 17)
    --%aligned-start
  end
  if second > 0 and first >= windowStart and first <= now and (algorithm == ALIGNED_WINDOW or now - first < window) then
    newCell = pack('>dd', windowStart, second)
  end
else -- a bucket: the debt, or the parts ahead, in whole units
  local _, count, unit = unpack('>Bdd', plan, codePos)
  local most = count * unit
  if algorithm == INTERVAL_BUCKET then
    unit, most = 1, count
  elseif algorithm == LEAKY_BUCKET then
    local _, leakyUnit, _, queue, maxWait = unpack('>Bdddd', plan, codePos)
    unit, most = leakyUnit, maxWait + (queue + 1) * leakyUnit
  end
  local whole = math.floor(second / source.scale)
  local rest = math.ceil((second - whole * source.scale) * unit / source.scale)
  local parts = math.min(math.min(whole, math.ceil(most / unit)) * unit + rest, most)
  if first >= 0 and parts > 0 then newCell = pack('>dd', first, parts) .. sub(newCell, 17) end
end
