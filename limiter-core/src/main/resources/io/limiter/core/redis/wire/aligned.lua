-- SPDX-License-Identifier: Apache-2.0
-- Begin of the aligned window in which a time lies, by the change of clocks that the plan names.
local offset = now < change and before or after
begin = math.floor((now + offset - phase) / window) * window + phase
if now >= change and begin - after < change then -- begun before the change of clocks, or at it
  local earlier = begin - before
  begin = earlier < change and earlier + window >= change and earlier or change
else
  begin = begin - offset
end
