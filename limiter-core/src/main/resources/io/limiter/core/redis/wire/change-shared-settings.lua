-- SPDX-License-Identifier: Apache-2.0
--
-- Changes settings that all instances share, in a new version of their hash.
--
-- KEYS[1]  a hash
-- ARGV[1]  the newest version that the caller knows
-- ARGV[2]  how many fields are to change
-- ARGV[3]  their names and values; then those of the fields that are written if there is no hash
--
-- Returns the new version, or -1 if there is none, so that nothing has changed. The hash has no time to live: it is
-- configuration.
--
-- luacheck: read globals KEYS ARGV
-- Defined by the included constants:
-- luacheck: read globals EXACT
--%constants

local call, key, changed = redis.call, KEYS[1], tonumber(ARGV[2])
local isLost = call('HLEN', key) == 0
local stored = not isLost and call('HGET', key, 'version') or nil
local version = math.max(stored and tonumber(stored) or 0, tonumber(ARGV[1])) + 1
if version >= EXACT then return -1 end
for i = 2 * changed + 3, isLost and #ARGV or 0, 2 do
  call('HSET', key, ARGV[i], ARGV[i + 1])
end
for i = 3, 2 * changed + 2, 2 do
  call('HSET', key, ARGV[i], ARGV[i + 1])
end
call('HSET', key, 'version', string.format('%.0f', version))
return version
