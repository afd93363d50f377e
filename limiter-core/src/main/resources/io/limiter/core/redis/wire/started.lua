-- SPDX-License-Identifier: Apache-2.0
-- What a rule starts from, of a cell of its kind with other numbers: its units as they were counted there. Where it is not
-- known when some of them were used, they count as late as they can have been.
local one, two = unpack('>dd', value, known.at)
if algorithm == 1 then -- sliding counter
  local _, _, window = unpack('>Bdd', plan, code)
  local length, begin = known.scale, math.floor(time / window) * window
  local current, previous = 0, 0
  for start, units in pairs({ [one] = two, [one - length] = (unpack('>d', value, known.at + 16)) }) do
    local ends = math.min(start + length, newest + 1) -- nothing was used after the last write
    if units > 0 and ends > begin then
      current = current + units
    elseif units > 0 and ends > begin - window then
      previous = previous + units
    end
  end
  if one >= 0 and current + previous > 0 and current + previous < EXACT then cell = pack('>ddd', begin, current, previous) end
elseif algorithm == 2 or algorithm == 3 then -- a window, aligned or not: what was used since it began
  local _, _, window = unpack('>Bdd', plan, code)
  local now, begin = time, math.max(0, one)
  if algorithm == 3 then
    local phase, before, change, after = unpack('>dddd', plan, code + 17)
    --%aligned
  end
  if two > 0 and one >= begin and one <= now and (algorithm == 3 or now - one < window) then
    cell = pack('>dd', begin, two)
  end
else -- a bucket: what is missing, or ahead, in whole parts
  local _, count, unit, queue, longest = unpack('>Bdd', plan, code)
  local most = count * unit
  if algorithm == 5 then
    unit, most = 1, count
  elseif algorithm == 6 then
    _, unit, _, queue, longest = unpack('>Bdddd', plan, code)
    most = longest + (queue + 1) * unit
  end
  local whole = math.floor(two / known.scale)
  local rest = math.ceil((two - whole * known.scale) * unit / known.scale)
  local parts = math.min(math.min(whole, math.ceil(most / unit)) * unit + rest, most)
  if one >= 0 and parts > 0 then cell = pack('>dd', one, parts) .. sub(cell, 17) end
end
