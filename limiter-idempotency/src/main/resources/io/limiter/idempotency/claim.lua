-- SPDX-License-Identifier: Apache-2.0
--
-- Claims the key of a submission, or reads what is there. Redis' clock ends a claim, and nothing else is compared with
-- a clock.
--
-- KEYS[1]  the submission
-- ARGV[1]  the claim: token, fingerprint of the head, fingerprint of the body (16 bytes each; zeros for a body that is
--          not known)
-- ARGV[2]  time to live of the claim in ms, as text; or '', which only reads
--
-- A value is VERSION (1 byte), a state (1 byte: CLAIMED, ANSWERED or DONE), token and fingerprints of its claim (48
-- bytes), and, if it is ANSWERED, the answer.
--
-- Returns the token of the claim, so that no reply to another command is taken for this one; then 'C': claimed; 'N':
-- free, and only read; 'X': taken by another submission; or the state of the value ('R' if it is CLAIMED), the time to
-- live in ms (d), the fingerprint of the body, and the answer. 'L' is in place of 'A' if the answer has more than SHORT
-- bytes and the claim has no fingerprint of its body: then the answer is not read, since the body may be another.

local call, sub = redis.call, string.sub
local key, claim, ttl = KEYS[1], ARGV[1], ARGV[2]
local token, VERSION, UNKNOWN, SHORT = sub(claim, 1, 16), '\1', string.rep('\0', 16), 4096
-- Both are read in any case: a user who may not run one of them writes nothing.
local found, left = call('GETRANGE', key, '0', '49'), call('PTTL', key)
if left ~= -2 then
  local state = sub(found, 2, 2)
  local isValid = #found == 50 and sub(found, 1, 1) == VERSION and (state == 'C' or state == 'A' or state == 'D')
  if (not isValid or left == -1) and ttl == '' then return token .. 'N' end -- what is left to a claim
  if not isValid or left == -1 then -- not written by these scripts: without an end it would block for ever
    call('DEL', key)
    return redis.error_reply('ERR corrupt value deleted')
  end
  local body, own = sub(found, 35, 50), sub(claim, 33, 48)
  local differs = body ~= UNKNOWN and own ~= UNKNOWN and body ~= own
  if sub(found, 19, 34) ~= sub(claim, 17, 32) or differs then return token .. 'X' end
  local last = own == UNKNOWN and tostring(50 + SHORT) or '-1' -- of an answer that is too long, one byte more
  local answer, letter = state == 'A' and call('GETRANGE', key, '50', last) or '', state == 'C' and 'R' or state
  if own == UNKNOWN and #answer > SHORT then answer, letter = '', 'L' end
  return token .. letter .. struct.pack('>d', left) .. body .. answer
end
if ttl == '' then return token .. 'N' end
call('SET', key, VERSION .. 'C' .. claim, 'PX', ttl)
return token .. 'C'
