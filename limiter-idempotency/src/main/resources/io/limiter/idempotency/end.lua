-- SPDX-License-Identifier: Apache-2.0
--
-- Ends a submission: keeps its answer, or that it is done, or frees its key. An answer that has no room is kept as
-- done, in the place of the claim, so that a Redis without memory takes it too.
--
-- The answers of a subject are counted by a bucket of bytes that drains within the time for which they are kept. So
-- the answers with one such time take at most twice the capacity, in constant time and one number. It is stored as the
-- time when the bucket will be empty. Answers that are kept for another time have another bucket.
--
-- KEYS[1]  the submission, as in claim.lua
-- KEYS[2]  the bucket of its subject for this time to live; both have one tag
-- ARGV[1]  token of the claim
-- ARGV[2]  'A': answer; 'D': done; 'F': free
-- ARGV[3]  time to live in ms, as text
-- ARGV[4]  fingerprint of the body, or zeros
-- ARGV[5]  answer, any bytes
-- ARGV[6]  capacity of the bucket in bytes, as text
--
-- Returns the token, then 'K': kept; 'F': kept as done, since there is no room for the answer; 'P': the same, since the
-- Redis user may not run SET; 'G': the claim is gone.

local call, sub = redis.call, string.sub
local key, bucket, token, ending, ttl = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
local body, answer, capacity = ARGV[4], ARGV[5], tonumber(ARGV[6])
-- Read in any case: a user who may not run one of them writes nothing.
local found, time, last = call('GETRANGE', key, '0', '49'), call('TIME'), tonumber(call('GET', bucket) or 0)
if #found < 50 or sub(found, 1, 1) ~= '\1' or sub(found, 3, 18) ~= token then return token .. 'G' end
if sub(found, 2, 2) == 'A' then -- by this claim: the reply was lost, or this command is late
  return token .. (ending == 'F' and 'G' or 'K')
end
if ending == 'F' then
  call('DEL', key)
  return token .. 'K'
end
if sub(found, 35, 50) ~= string.rep('\0', 16) then body = sub(found, 35, 50) end
local letter = ending == 'A' and 'F' or 'K'
if ending == 'A' then
  local now, retain = time[1] * 1000000 + time[2], ttl * 1000
  local empty = math.max(last or 0, now) + math.ceil((#answer + 50) / capacity * retain)
  if empty - now <= retain then
    local kept = redis.pcall('SET', key, '\1A' .. sub(found, 3, 34) .. body .. answer, 'PX', ttl)
    if not kept.err then
      call('SET', bucket, string.format('%.0f', empty), 'PX', math.ceil((empty - now) / 1000))
      return token .. 'K'
    end
    -- What is not memory and still lets PEXPIRE write is a right.
    if not string.find(kept.err, 'OOM', 1, true) then letter = 'P' end
  end
end
call('PEXPIRE', key, ttl)
call('SETRANGE', key, '1', 'D' .. sub(found, 3, 34) .. body)
return token .. letter
