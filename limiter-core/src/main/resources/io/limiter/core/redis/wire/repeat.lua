-- SPDX-License-Identifier: Apache-2.0
-- Defines repeatBytes(text, times). string.rep of Lua 5.1 appends one at a time: 10,000 times would take half a
-- millisecond.
local function repeatBytes(text, times)
  if times < 128 then return string.rep(text, times) end
  local block = string.rep(text, 64)
  local part = string.rep(block, math.floor(times / 1024)) -- a sixteenth
  return part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part .. part
    .. part .. part .. string.rep(block, math.floor(times / 64) % 16) .. string.rep(text, times % 64)
end
