-- SPDX-License-Identifier: Apache-2.0
-- Defines two functions that read a log, where its first page does not suffice. They read half a page around a unit, so
-- that the last steps of a search need no further read.
-- luacheck: read globals PAGE call unpack key
--   page          the first page of the log
--   headerLength  offset of the first unit
-- luacheck: read globals page headerLength logOffset unitCount
-- luacheck: globals unitTime advanceCursor corruptKey
local readPage, readOffset = page, 0

-- Time of the unit at an index. If `alone`, nothing around it is read.
unitTime = function(index, alone)
  local offset = headerLength + 8 * index - readOffset
  if offset < 0 or offset + 8 > #readPage then
    offset = alone and 0 or math.min(8 * index, 256)
    readOffset = headerLength + 8 * index - offset
    readPage = call('GETRANGE', key, logOffset + readOffset, logOffset + readOffset + (alone and 7 or PAGE / 2 - 1))
  end
  if #readPage < offset + 8 then -- fewer units than the header counts
    corruptKey = key
    return 0
  end
  return (unpack('>d', readPage, offset + 1))
end

-- Index of the first unit, from `low` on, that is later than a time; unitCount if there is none. Cursors mostly move by
-- little, so the search gallops. If `low` is only a lower bound (`far`), it bisects.
advanceCursor = function(low, time, far)
  if unitTime(low) > time then return low end
  local high = unitCount
  if not far then
    local step = 1
    while low + step < unitCount and unitTime(low + step) <= time do
      low, step = low + step, 2 * step
    end
    high = math.min(low + step, unitCount)
  end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if unitTime(middle, high - low > 64) <= time then low = middle else high = middle end
  end
  return high
end
