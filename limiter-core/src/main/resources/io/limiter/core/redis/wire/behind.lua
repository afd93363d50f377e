-- SPDX-License-Identifier: Apache-2.0
-- A log that this call does not write stays behind the cells: that of the same rules, which refused; or that of others,
-- while a rule of theirs may still count its units.
if #value >= base + 49 then
  local _, units, last, ahead, _, horizon, others = unpack('>I4I4ddI4dB', value, base + 1)
  if units == 0 then last = unpack('>d', value, #value - 7) end
  if others > 16 and others <= 24 and (rules > 0 or clock + ahead - last <= horizon + GRACE) then
    patches, keeps = patches or {}, keeps or {}
    if base == span then
      patches[i] = {}
    else
      written, patches[i] = written .. call('GETRANGE', key, base, -1), nil
    end
    keeps[i] = call('PTTL', key)
    if begun and repairs and repairs[i] then repairs[i] = { [span + 16] = repairs[i][base + 16] } end
  end
end
