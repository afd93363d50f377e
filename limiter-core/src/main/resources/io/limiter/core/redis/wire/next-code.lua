-- SPDX-License-Identifier: Apache-2.0
-- Moves on to the algorithm of the next cell in the plan.
-- luacheck: read globals ALIGNED_WINDOW LEAKY_BUCKET CUSTOM
-- luacheck: read globals byte plan
--   algorithm  of the cell at codePos
-- luacheck: read globals algorithm
-- luacheck: globals codePos
codePos = codePos + (algorithm == ALIGNED_WINDOW and 49 or algorithm < ALIGNED_WINDOW and 17
  or algorithm < LEAKY_BUCKET and 33 or algorithm < CUSTOM and 41 or 27 + 8 * byte(plan, codePos + 26))
