-- SPDX-License-Identifier: Apache-2.0
--
-- Reads and changes the overrides of subjects, or other entries, that all instances share.
--
-- KEYS[1]  a hash: by the tag of an entry, the time in milliseconds at which it ends, a line break, its text
-- ARGV     nothing to read them; a tag to remove its entry; a tag, milliseconds, a text, and what the entries are
--          called to add one
--
-- Returns '=' and those that hold then, one after another: the lengths of tag and text (I4 each), the remaining
-- milliseconds (d; 0 if it cannot be read), tag, text. Or '!' and the reason why nothing was done: not an error, since
-- errors count as failures of Redis.

-- So that a script that reads all fields takes less than a millisecond.
local MAX_OVERRIDES, MAX_FIELDS = 1000, 4000

if redis.call('HLEN', KEYS[1]) > MAX_FIELDS then
  return '!The hash ' .. KEYS[1] .. ' has too many fields'
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local stored = redis.call('HGETALL', KEYS[1])
local found, last = {}, 0

local function add(tag, text, ends)
  found[#found + 1] = struct.pack('>I4I4d', #tag, #text, ends - now) .. tag .. text
  last = math.max(last, ends)
end

for i = 1, #stored, 2 do
  local tag, value = stored[i], stored[i + 1]
  local _, line, digits = string.find(value, '^(%d+)\n')
  local ends = digits and #digits <= 15 and tonumber(digits)
  if ends and ends > now and tag ~= ARGV[1] then
    add(tag, string.sub(value, line + 1), ends)
  elseif ARGV[1] then
    redis.call('HDEL', KEYS[1], tag)
  elseif not ends then
    add(tag, '', now)
  end
end

if ARGV[2] then
  if #found >= MAX_OVERRIDES then
    return '!There are already ' .. MAX_OVERRIDES .. ' ' .. ARGV[4] .. ': remove one that is not needed'
  end
  local ends = now + ARGV[2]
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f\n%s', ends, ARGV[3]))
  add(ARGV[1], ARGV[3], ends)
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', last))
end
return '=' .. table.concat(found)
