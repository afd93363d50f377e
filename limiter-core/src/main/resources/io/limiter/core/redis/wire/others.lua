-- SPDX-License-Identifier: Apache-2.0
-- Cells that other rules wrote, or none. Those that this stack has too, by their print, go on. A rule without one starts
-- from what a cell of its kind with other numbers has counted, that which is needed for about as long (started.lua). The
-- cells of other rules stay while they may be needed, as far as there is room: a ban first, then in the order in which
-- they stand, which is that in which they were last written.
--
-- mine     the cells of this stack, laid out as if it had written them
-- beside   the others: their prints, numbers and descriptions, how many they are, and the seconds for which they are needed
-- span     length of all
local own, there, time, born = 17 + (rules > 0 and 20 * rules + 37 or 0), {}, clock + (shift or 0), 0
if base > 0 and time >= 0 and time < EXACT and newest < EXACT then
  time = math.max(time, newest)
  local at, described, seconds = 25 + 5 * (n % 16), 0, math.floor(n / 16) - SECONDS
  for c = 1, n % 16 do
    local kind, size = unpack('>I4B', value, 20 + 5 * c)
    if kind == DATA then
      described = c == 1 and size == n % 16 and at or 0
    else
      there[#there + 1] = { header = sub(value, 20 + 5 * c, 24 + 5 * c), at = at, size = size, kind = kind,
        description = string.rep('\0', 8), family = 0, seconds = seconds }
    end
    at = at + 8 * size
  end
  born = described > 0 and unpack('>d', value, described) or 0
  for c, cell in ipairs(described > 0 and there or {}) do
    cell.description = sub(value, described + 8 * c, described + 8 * c + 7)
    cell.family, cell.memory, cell.scale = unpack('>BBI6', cell.description)
    cell.seconds = math.min(2 ^ cell.memory, SECONDS)
  end
else
  newest, shift, time, born = 0, 0, clock, -1 -- nothing there
end

local former, sizes = {}, 1 + cells
for c = 1, cells do
  local header = sub(plan, own + 24 + 5 * c, own + 28 + 5 * c)
  sizes = sizes + byte(header, 5)
  for _, cell in ipairs(there) do
    if not cell.used and cell.header == header then
      cell.used, former[c] = true, cell
      break
    end
  end
end

local described = own + 37 + 5 * cells
local empty, code, numbers = described + 8 * cells, own + length, ''
for c = 1, cells do
  local size, algorithm, known = byte(plan, own + 28 + 5 * c), byte(plan, code), former[c]
  local family, memory = unpack('>BB', plan, described + 8 * (c - 1))
  local cell = sub(plan, empty, empty + 8 * size - 1)
  if known then
    cell = sub(value, known.at, known.at + 8 * size - 1)
  elseif family > 0 then
    for _, other in ipairs(there) do
      if not other.used and not other.started and other.family == family
        and not (known and math.abs(known.memory - memory) <= math.abs(other.memory - memory))
      then
        known = other
      end
    end
    if known then
      known.started = true
      --%started
    end
  end
  numbers, empty = numbers .. cell, empty + 8 * size
  --%next
end
mine = sub(plan, own, described - 9) .. pack('>d', born) .. sub(plan, described, described + 8 * cells - 1) .. numbers

for _, bans in ipairs({ true, false }) do
  for _, cell in ipairs(there) do
    local first = unpack('>d', value, cell.at)
    local rest = first >= 0 and first <= time and first + cell.seconds * 1000000 - time or 0
    if cell.kind == BAN and cell.size == 4 then -- also one whose violations are no longer counted
      local ends = unpack('>d', value, cell.at + 16)
      if ends > time and ends - time <= LONGEST then rest = math.max(rest, ends - time) end
    end
    local count = beside and beside.count or 0
    if not cell.used and rest > 0 and (cell.kind == BAN) == bans and cells + count < MOST_CELLS
      and 34 + 5 * (cells + count) + 8 * (sizes + cell.size + 1) <= MOST_BYTES
    then
      beside = beside or { prints = '', numbers = '', descriptions = '', seconds = 0 }
      sizes, beside.count = sizes + cell.size + 1, count + 1
      beside.prints = beside.prints .. cell.header
      beside.numbers = beside.numbers .. sub(value, cell.at, cell.at + 8 * cell.size - 1)
      beside.descriptions = beside.descriptions .. cell.description
      beside.seconds = math.max(beside.seconds, math.ceil(rest / 1000000))
      span = 29 + 5 * (cells + beside.count) + 8 * sizes
    end
  end
end
