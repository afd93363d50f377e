-- SPDX-License-Identifier: Apache-2.0
-- Sets newCell to what a rule starts from, given a stored cell of its kind with other parameters: the units that cell
-- has counted. If it is not known when some of them were used, they count as late as possible.
--
-- Each algorithm has a file of its own, whose section "convert" sets newCell or, for a bucket, `unit` and `most`:
--   first, second  the numbers of the stored cell
--   source         that cell
--   codePos        position of the rule's algorithm in the plan
--   time           of the cells
--   newest         the last write of the cells
-- luacheck: read globals pack unpack sub value source
-- luacheck: globals newCell
local first, second = unpack('>dd', value, source.pos)
local unit, most -- of a bucket: parts of a token or place; the most parts that may be missing, or queued
--%each convert
if unit then -- the debt, or the parts ahead, in whole units
  local whole = math.floor(second / source.scale)
  local rest = math.ceil((second - whole * source.scale) * unit / source.scale)
  local parts = math.min(math.min(whole, math.ceil(most / unit)) * unit + rest, most)
  if first >= 0 and parts > 0 then newCell = pack('>dd', first, parts) .. sub(newCell, 17) end
end
