-- SPDX-License-Identifier: Apache-2.0
-- Cells of other rules, by their print: those that this stack has too go on, with the time that they were written at.
local empty, known = sub(plan, p, p + length - 1), {}
if base > 0 then
  local from = 25 + 5 * (n % 16)
  for c = 1, n % 16 do
    local kind, size = unpack('>I4B', value, 20 + 5 * c)
    local same = known[kind] or {}
    same[#same + 1] = sub(value, from, from + 8 * size - 1)
    known[kind], from = same, from + 8 * size
  end
else
  newest, shift = 0, 0
end
local from = data + 1
page, now = sub(empty, 1, data), clock + shift
for c = 1, cells do
  local kind, size = unpack('>I4B', empty, 20 + 5 * c)
  local one = known[kind] and table.remove(known[kind], 1)
  page = page .. (one and #one == 8 * size and one or sub(empty, from, from + 8 * size - 1))
  from = from + 8 * size
end
