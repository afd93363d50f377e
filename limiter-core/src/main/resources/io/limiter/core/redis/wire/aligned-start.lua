-- SPDX-License-Identifier: Apache-2.0
-- Sets windowStart to the start of the aligned window that contains the time `now`.
-- luacheck: read globals now window
--   phase         start of a window in the zone's local time
--   changeTime    the time at which the zone's offset from UTC changes, from offsetBefore to offsetAfter
-- luacheck: read globals phase changeTime offsetBefore offsetAfter
-- luacheck: globals windowStart
local offset = now < changeTime and offsetBefore or offsetAfter
windowStart = math.floor((now + offset - phase) / window) * window + phase
if now >= changeTime and windowStart - offsetAfter < changeTime then -- it started before the change, or at it
  local earlier = windowStart - offsetBefore
  windowStart = earlier < changeTime and earlier + window >= changeTime and earlier or changeTime
else
  windowStart = windowStart - offset
end
