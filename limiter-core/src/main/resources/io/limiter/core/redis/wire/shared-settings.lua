-- SPDX-License-Identifier: Apache-2.0
--
-- Reads the settings that all instances share, or changes them in a new version of their hash. Reading is a script
-- too, like everything that is sent to Redis, so that it has a deadline and goes to the right node.
--
-- KEYS[1]  a hash. It has no time to live: it is configuration
-- ARGV     nothing to read it; to change it:
-- ARGV[1]  the newest version that the caller knows
-- ARGV[2]  how many fields are to change
-- ARGV[3]  their names and values; then those of the fields that are written if there is no hash
--
-- Returns its fields and values, one after another; or the new version, -1 if there is none, so that nothing has
-- changed. A single text is the reason why the fields are not read: not an error, since those count as failures of
-- Redis.
--
-- luacheck: read globals KEYS ARGV
-- Defined by the included constants:
-- luacheck: read globals MAX_FIELDS
--%constants

local MAX_VERSION = 1000000000000000
local call, key, changed = redis.call, KEYS[1], tonumber(ARGV[2])
local length = call('HLEN', key)
if not changed then
  if length > MAX_FIELDS then return { 'The hash of shared settings has too many fields' } end
  return call('HGETALL', key)
end
local stored = length > 0 and call('HGET', key, 'version') or nil
local version = math.max(stored and tonumber(stored) or 0, tonumber(ARGV[1])) + 1
if not (version < MAX_VERSION) then return -1 end -- no number, too
for i = 2 * changed + 3, length == 0 and #ARGV or 0, 2 do
  call('HSET', key, ARGV[i], ARGV[i + 1])
end
for i = 3, 2 * changed + 2, 2 do
  call('HSET', key, ARGV[i], ARGV[i + 1])
end
call('HSET', key, 'version', string.format('%.0f', version))
return version
