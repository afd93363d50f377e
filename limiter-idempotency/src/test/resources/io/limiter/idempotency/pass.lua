-- SPDX-License-Identifier: Apache-2.0
--
-- Lets time pass for keys: those with a time to live have less of it.
--
-- KEYS     any
-- ARGV[1]  ms, as text

for _, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, string.format('%.0f', left - ARGV[1])) end
end
return ''
