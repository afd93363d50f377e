-- SPDX-License-Identifier: Apache-2.0
-- Two readers of a log, made only where a look at the first page does not do: stamp(k) of a unit, and advance(k, edge),
-- the first unit from k on that is younger than the edge, n if none is. It gallops: cursors mostly move by little; where
-- nothing is known of the cursor (far), it halves. A page is around the unit that is looked for, so that the last steps
-- meet one page.
local page, from = page, 0
stamp = function(k, alone)
  local place = header + 8 * k - from
  if place < 0 or place + 8 > #page then
    place = alone and 0 or math.min(8 * k, 256)
    from = header + 8 * k - place
    page = call('GETRANGE', key, base + from, base + from + (alone and 7 or 511))
  end
  if #page < place + 8 then -- fewer units than it says
    broken = key
    return 0
  end
  return (unpack('>d', page, place + 1))
end
advance = function(k, edge, far)
  if stamp(k) > edge then return k end
  local after = n
  if not far then
    local step = 1
    while k + step < n and stamp(k + step) <= edge do
      k, step = k + step, 2 * step
    end
    after = math.min(k + step, n)
  end
  while after - k > 1 do
    local middle = math.floor((k + after) / 2)
    if stamp(middle, after - k > 64) <= edge then k = middle else after = middle end
  end
  return after
end
