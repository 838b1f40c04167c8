-- The configuration: defaults, vim.g.turnstone (a table or a function), setup(). Checked when it is first read.
local M = {}

---@type turnstone.Config
local defaults = {
  cmd = { 'turnstone-lsp', 'serve' },
  env = {},
  root_markers = { '.git', '.hg', 'pyproject.toml', 'package.json', 'Cargo.toml', 'go.mod' },
  trusted = nil,
  init_options = {},
  chat = { width = 0.4, prompt_height = 5 },
  review = { keys = true, jump = false, max_lines = 200 },
  approvals = { max_height = 0.6, inert_ms = 300 },
  context = { debounce_ms = 150 },
}

---@type turnstone.Config?
local current
---@type turnstone.UserConfig?
local given

local function unknown(user, known, path, found)
  for name, value in pairs(user) do
    local at = path == '' and tostring(name) or (path .. '.' .. tostring(name))
    local default = known[name]
    if default == nil and at ~= 'trusted' then
      found[#found + 1] = ('unknown option %s%s'):format(
        at,
        require('turnstone.util').nearest_hint(name, vim.tbl_keys(known))
      )
    elseif
      type(default) == 'table'
      and type(value) == 'table'
      and at:match('^[cra]%a+$')
      and at ~= 'cmd'
      and at ~= 'root_markers'
    then
      unknown(value, default, at, found)
    elseif default ~= nil and type(default) ~= type(value) then
      found[#found + 1] = ('%s must be a %s, not a %s'):format(at, type(default), type(value))
    end
  end
end

---What is wrong with a configuration, one sentence each.
---@param user any
---@return string[]
function M.faults(user)
  if type(user) ~= 'table' then
    return { 'the configuration must be a table' }
  end
  local found = {}
  unknown(user, defaults, '', found)
  table.sort(found)
  return found
end

---@return turnstone.UserConfig
function M.user()
  local user = vim.g.turnstone or {}
  if type(user) == 'function' then
    user = user()
  end
  return vim.tbl_deep_extend('force', type(user) == 'table' and user or {}, given or {})
end

---The configuration in force.
---@return turnstone.Config
function M.get()
  if not current then
    local user = M.user()
    for _, fault in ipairs(M.faults(user)) do
      vim.notify('turnstone: ' .. fault, vim.log.levels.WARN)
    end
    current = vim.tbl_deep_extend('force', defaults, user)
  end
  return current --[[@as turnstone.Config]]
end

---@param user turnstone.UserConfig?
function M.set(user)
  given, current = user or {}, nil
end

return M
