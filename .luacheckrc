-- SPDX-License-Identifier: Apache-2.0
-- Options of luacheck for the Redis scripts:
-- luacheck limiter-core/src/main/resources limiter-idempotency/src/main/resources limiter-management/src/main/resources limiter-core/target/lua
-- A script is assembled from parts. At its top, each part declares the locals of the including script that it reads
-- ("luacheck: read globals") and those that it writes ("luacheck: globals"). So each file is checked alone. The tests
-- write the assembled scripts to limiter-core/target/lua, without comments, and with numbers for constants.

-- What Redis gives a script, as far as these use it.
stds.redis = {
  read_globals = {
    'KEYS', 'ARGV', 'ipairs', 'pairs', 'pcall', 'tonumber', 'tostring', 'type', 'unpack',
    redis = { fields = { 'call', 'error_reply', 'pcall' } },
    struct = { fields = { 'pack', 'unpack' } },
    string = { fields = { 'byte', 'find', 'format', 'rep', 'sub' } },
    math = { fields = { 'abs', 'ceil', 'floor', 'max', 'min' } },
    table = { fields = { 'concat', 'insert', 'remove' } },
  },
}
std = 'redis'
max_line_length = 120
ignore = { '581' } -- "not (x <= y)" is meant where x may be NaN

-- Only an assembled script shows whether a local is used and set, and whether a branch is empty.
files['**/main/resources/**'].ignore = { '211', '221', '231', '311', '331', '542' }

-- Numbers may be longer than the names of constants.
files['**/target/lua'].max_line_length = false

-- The body of a custom algorithm is given these names, whether it uses them or not. The script has some of them too.
local argument = { 'now', 'cost', 'count', 'window', 'p', 'state' }
local custom = {}
for _, name in ipairs(argument) do
  custom[#custom + 1] = '212/' .. name
  custom[#custom + 1] = '431/' .. name
end
files['**/target/lua/*-custom.lua'].ignore = custom
-- Only a custom algorithm sets it.
files['**/target/lua/decide.lua'].ignore = { '221/evaluate' }
files['**/target/lua/decide-batch.lua'].ignore = { '221/evaluate' }
files['**/target/lua/submit.lua'].ignore = { '221/evaluate' }
files['**/target/lua/renew.lua'].ignore = { '221/evaluate' }
-- They read only logs that have all their units.
files['**/target/lua/re*.lua'].ignore = { '231/corruptKey' }
