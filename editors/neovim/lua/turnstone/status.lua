-- What a statusline shows, and the events that say when it changes.
local util = require('turnstone.util')

local M = {}

---@class turnstone.Status
---@field connection 'stopped'|'starting'|'ready'
---@field state 'idle'|'running'|'requires_action'
---@field session string
---@field title string?
---@field model string?
---@field mode string?
---@field tokens integer? tokens of the last request
---@field session_tokens integer?
---@field context_window integer?
---@field approvals integer open questions
---@field reviews integer files under review
local now = { connection = 'stopped', state = 'idle', session = '', approvals = 0, reviews = 0 }

---@return turnstone.Status
function M.get()
  return vim.deepcopy(now)
end

---@param change table
function M.set(change)
  local changed = false
  for name, value in pairs(change) do
    if now[name] ~= value then
      now[name], changed = util.value(value), true
    end
  end
  if changed then
    util.emit('TurnstoneStatus', M.get())
    vim.cmd.redrawstatus({ bang = true })
  end
end

local function short(tokens)
  return tokens >= 1000 and ('%.1fk'):format(tokens / 1000) or tostring(tokens)
end

---One line: state, mode, tokens, what waits. Empty while there is no server.
---@return string
function M.line()
  if now.connection ~= 'ready' then
    return now.connection == 'starting' and 'turnstone: starting' or ''
  end
  local words = { now.state == 'requires_action' and 'waiting' or now.state }
  if now.mode then
    words[#words + 1] = now.mode
  end
  if now.tokens then
    words[#words + 1] = short(now.tokens) .. (now.context_window and ('/' .. short(now.context_window)) or '')
  end
  if now.approvals > 0 then
    words[#words + 1] = ('%d to approve'):format(now.approvals)
  end
  if now.reviews > 0 then
    words[#words + 1] = ('%d to review'):format(now.reviews)
  end
  return 'turnstone: ' .. table.concat(words, ' · ')
end

return M
