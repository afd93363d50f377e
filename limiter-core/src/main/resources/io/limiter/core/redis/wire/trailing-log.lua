-- SPDX-License-Identifier: Apache-2.0
-- A log that this call does not write stays behind the cells: a log of the same rules, if they denied the call; a log
-- of other rules, while one of them may still count its units.
-- luacheck: read globals LOG_HEADER PLAIN_HEADER SHARED_HEADER GRACE
-- luacheck: read globals call unpack i key value clock
--   logOffset       length of the stored cells
--   newCellsLength  length of the cells that are written
--   deniedWrite     whether the cells are written though the call is denied
-- luacheck: read globals logRules logOffset newCellsLength deniedWrite
--   written         the new value of the key, so far its cells
-- luacheck: globals written patches presentTtls shiftRepairs
if #value >= logOffset + LOG_HEADER + 12 then -- with one cursor and one unit
  local _, logUnits, logNewest, logShift, _, horizon, headerKind = unpack('>I4I4ddI4dB', value, logOffset + 1)
  if logUnits == 0 then logNewest = unpack('>d', value, #value - 7) end
  if headerKind > PLAIN_HEADER and headerKind <= SHARED_HEADER
    and (logRules > 0 or clock + logShift - logNewest <= horizon + GRACE)
  then
    patches, presentTtls = patches or {}, presentTtls or {}
    if logOffset == newCellsLength then
      patches[i] = {}
    else
      written, patches[i] = written .. call('GETRANGE', key, logOffset, -1), nil
    end
    presentTtls[i] = call('PTTL', key)
    if deniedWrite and shiftRepairs and shiftRepairs[i] then
      shiftRepairs[i] = { [newCellsLength + 16] = shiftRepairs[i][logOffset + 16] }
    end
  end
end
