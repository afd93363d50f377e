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
-- Returns '=' and texts, one after another, each behind its length (I4): the fields and their values, or the new
-- version. Or '!' and the reason why nothing was done: not an error, since errors count as failures of Redis.

-- So that a script that reads all fields takes less than a millisecond.
local MAX_FIELDS = 4000
local MAX_VERSION = 1000000000000000

local call, key, changed = redis.call, KEYS[1], tonumber(ARGV[2])
local length = call('HLEN', key)

local function texts(all)
  for i = 1, #all do all[i] = struct.pack('>I4', #all[i]) .. all[i] end
  return '=' .. table.concat(all)
end

if not changed then
  if length > MAX_FIELDS then return '!The hash of shared settings has too many fields' end
  return texts(call('HGETALL', key))
end
local stored = length > 0 and call('HGET', key, 'version') or nil
local version = math.max(stored and tonumber(stored) or 0, tonumber(ARGV[1])) + 1
if not (version < MAX_VERSION) then -- no number, too
  return '!The version of the shared settings is too large to be increased: '
    .. 'set the version in their hash below 999,999,999,999,999'
end
for i = 2 * changed + 3, length == 0 and #ARGV or 0, 2 do
  call('HSET', key, ARGV[i], ARGV[i + 1])
end
for i = 3, 2 * changed + 2, 2 do
  call('HSET', key, ARGV[i], ARGV[i + 1])
end
local new = string.format('%.0f', version)
call('HSET', key, 'version', new)
return texts({ new })
