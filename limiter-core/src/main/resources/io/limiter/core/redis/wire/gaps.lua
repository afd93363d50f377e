-- SPDX-License-Identifier: Apache-2.0
-- Departures of a leaky bucket that were given up, in 8 gaps, the earliest first; d for each, 0 where there is none: 2^34
-- times the number of its first departure, and 2^17 times how many it covers, and how many of these are free. Departures
-- are numbered backwards: 1 is the last that was handed out. Which are free is known where all are; else the earliest are
-- taken for it.
gapsOf = function(from, departures)
  local gaps, free, below = {}, 0, departures + 1
  for g = 0, 7 do
    local number = unpack('>d', page, from + 8 * g)
    if not (number >= 1 and number < EXACT) then break end
    local given = number % 131072
    local length, first = (number - given) / 131072 % 131072, math.floor(number / 17179869184)
    if not (given >= 1 and given <= length and length <= first) then break end
    local passed = math.max(0, first - departures)
    if given - passed >= 1 then
      if first - passed >= below then break end
      gaps[#gaps + 1] = { first - passed, length - passed, given - passed }
      free, below = free + given - passed, first - length + 1
    end
  end
  return gaps, free
end
packed = function(gaps)
  local numbers = ''
  for g = 1, #gaps do
    numbers = numbers .. pack('>d', gaps[g][1] * 17179869184 + gaps[g][2] * 131072 + gaps[g][3])
  end
  return numbers .. string.rep('\0', 64 - #numbers)
end
