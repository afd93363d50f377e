-- SPDX-License-Identifier: Apache-2.0
-- The ban of a subject that is denied too often: a value of its own, so that it survives every change of rules. Section
-- "begin" reads it before the rules, "end" counts a violation after them. The ban of a charge that is only observed, or
-- recorded, is neither read nor written.
--
-- Plan   how many violations, within how many microseconds; how long the ban is, by what it grows, the longest ban (d)
-- Value  the first violation that counts, or, if there is none, the start of the ban; how many violations; the end of
--        the ban; how many bans there were in a row (d). Times are Redis' clock
--
-- Reports for how many microseconds the ban still holds (d).
--
-- A plan with a ban alone asks for it (PEEK), or counts a violation (ACQUIRE): on a Cluster, while the slot of the two
-- keys migrates.
--
-- luacheck: read globals EXACT ACQUIRE LEASE BAN_PLAN ALONE BANNED ADMITTED
-- luacheck: read globals call pack unpack sub clock plan headLength mode banPlace banKey denied
-- luacheck: globals admitted isBanned banBytes banTtl report since violations banEnd level

--%begin begin
since, violations, banEnd, level = 0, 0, 0, 0
if mode <= LEASE then
  local stored = call('GET', banKey)
  if stored then
    if #stored == 32 then since, violations, banEnd, level = unpack('>dddd', stored) end
    -- A ban has ended before the first violation that counts towards the next one.
    if not (since > 0 and since < EXACT and violations >= 0 and banEnd >= 0 and banEnd < EXACT and level >= 0
      and (violations > 0) == (banEnd <= since)) then
      since, violations, banEnd, level = 0, 0, 0, 0
    elseif since > clock then -- Redis' clock was set back: the ban has just begun
      banEnd, since = math.max(0, banEnd - since + clock), clock
      if mode == ACQUIRE then banBytes = pack('>dddd', since, violations, banEnd, level) end
    end
    -- A ban lasts no longer than these rules allow. It is stored as it was, for rules that allow more.
    local longest = unpack('>d', plan, #plan - headLength - 7)
    if violations == 0 then banEnd = math.min(banEnd, since + longest) end
    isBanned = banEnd > clock
    if isBanned then
      banEnd = math.min(banEnd, clock + longest)
      admitted = false
    end
  end
end
--%end begin

--%begin end
if mode == ACQUIRE and not isBanned and (denied or banPlace == ALONE) then
  local limit, within, banTime, growth, longest = unpack('>ddddd', plan, #plan - headLength - BAN_PLAN + 1)
  if violations == 0 or clock - since >= within then since, violations = clock, 0 end
  violations = violations + 1
  if violations >= limit then
    if banEnd == 0 or clock - banEnd >= longest then level = 0 end
    local duration = banTime
    for _ = 1, growth > 1 and level or 0 do
      duration = duration * growth
      if duration >= longest then break end
    end
    since, violations, banEnd, level, isBanned = clock, 0, clock + math.min(duration, longest), level + 1, true
  end
  banBytes = pack('>dddd', since, violations, banEnd, level)
end
if banBytes then
  local _, within, _, _, longest = unpack('>ddddd', plan, #plan - headLength - BAN_PLAN + 1)
  local counting, growing = violations > 0 and since + within or 0, banEnd > 0 and banEnd + longest or 0
  local needed = math.max(counting, growing) - clock
  banTtl = string.format('%.0f', math.ceil(needed / 1000) + 1000)
end
local status = isBanned and BANNED or report and sub(report, 1, 1) or ADMITTED
report = status .. (report and sub(report, 2) or pack('>d', clock)) .. pack('>d', isBanned and banEnd - clock or 0)
--%end end
