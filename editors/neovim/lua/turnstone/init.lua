-- The public functions. Nothing else needs to be called: the command and the mappings work without setup().
local M = {}

---Set options, over those of vim.g.turnstone.
---@param options turnstone.UserConfig?
function M.setup(options)
  require('turnstone.config').set(options)
end

---Start the server, and call back when it is ready.
---@param callback fun()?
function M.start(callback)
  require('turnstone.client').start(callback and function()
    callback()
  end)
end

---Ask the agent.
---@param text string
---@param about { buf: integer, range: table? }?
function M.send(text, about)
  require('turnstone.commands').send(text, about)
end

---Stop the running turn.
function M.stop()
  require('turnstone.client').command('stop')
end

---@return turnstone.Status
function M.status()
  return require('turnstone.status').get()
end

---For a statusline: `%{%v:lua.require'turnstone'.statusline()%}`.
---@return string
function M.statusline()
  local status = package.loaded['turnstone.status']
  return status and status.line() or ''
end

return M
