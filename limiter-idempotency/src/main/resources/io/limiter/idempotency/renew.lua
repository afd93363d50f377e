-- SPDX-License-Identifier: Apache-2.0
--
-- Extends the claim of a submission, and keeps the fingerprint of its body, which may be known only after the claim.
--
-- KEYS[1]  the submission, as in claim.lua
-- ARGV[1]  token of the claim
-- ARGV[2]  time to live in ms, as text
-- ARGV[3]  fingerprint of the body, or zeros
--
-- Returns the token, then 'H': held; or 'L': the claim is lost, or has ended.

local call, sub = redis.call, string.sub
local key, token, ttl, body = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local UNKNOWN = string.rep('\0', 16)
local found = call('GETRANGE', key, '0', '49')
if #found < 50 or sub(found, 1, 2) ~= '\1C' or sub(found, 3, 18) ~= token then return token .. 'L' end
call('PEXPIRE', key, ttl)
if body ~= UNKNOWN and sub(found, 35, 50) == UNKNOWN then call('SETRANGE', key, '34', body) end
return token .. 'H'
