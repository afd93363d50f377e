-- SPDX-License-Identifier: Apache-2.0
-- Moves codePos on to the algorithm of the next cell in the plan: the section "next" of each algorithm.
-- luacheck: read globals BAN
-- luacheck: read globals byte plan algorithm
-- luacheck: globals codePos
--%each next else
if algorithm == BAN then
  codePos = codePos + 41
else -- a custom algorithm, which has as many parameters as its plan says
  codePos = codePos + 27 + 8 * byte(plan, codePos + 26)
end
