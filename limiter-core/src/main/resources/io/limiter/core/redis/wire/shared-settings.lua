-- SPDX-License-Identifier: Apache-2.0
--
-- Reads the settings that all instances share. It is a script, since everything that is sent to Redis is: so it has a
-- deadline, and goes to the right node.
--
-- KEYS[1]  a hash
--
-- Returns its fields and values, one after another. A single text is the reason why they are not read: not an error,
-- since those count as failures of Redis.
--
-- luacheck: read globals KEYS
-- Defined by the included constants:
-- luacheck: read globals MAX_FIELDS
--%constants

if redis.call('HLEN', KEYS[1]) > MAX_FIELDS then
  return { 'The hash of shared settings has too many fields' }
end
return redis.call('HGETALL', KEYS[1])
