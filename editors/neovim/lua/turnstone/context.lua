-- Tells the server where the user is: file, selection, visible lines, diagnostics; some time after the last move.
local config = require('turnstone.config')
local util = require('turnstone.util')

local M = {}

---@param buf integer
local function position(buf, row, column)
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
  local client = require('turnstone.client').get()
  local encoding = client and client.offset_encoding or 'utf-16'
  local at = math.min(column, #line)
  return { line = row, character = encoding == 'utf-8' and at or vim.str_utfindex(line, encoding, at, false) }
end

---The selection in a file's buffer as a range of the protocol.
---@param buf integer
---@param first integer from 1
---@param last integer from 1
---@return table
function M.range(buf, first, last)
  local count = vim.api.nvim_buf_line_count(buf)
  local stop = last >= count and position(buf, count - 1, math.huge) or { line = last, character = 0 }
  return { start = { line = first - 1, character = 0 }, ['end'] = stop }
end

local function visual(buf)
  if not vim.fn.mode():match('^[vV\22]') then
    return nil
  end
  local from, to = vim.fn.getpos('v'), vim.fn.getpos('.')
  if from[2] > to[2] or (from[2] == to[2] and from[3] > to[3]) then
    from, to = to, from
  end
  if vim.fn.mode() ~= 'v' then
    return M.range(buf, from[2], to[2])
  end
  return { start = position(buf, from[2] - 1, from[3] - 1), ['end'] = position(buf, to[2] - 1, to[3]) }
end

local function diagnostics(buf)
  local found = {}
  for _, item in ipairs(vim.diagnostic.get(buf)) do
    if #found == 50 then
      break
    end
    local at = { line = item.lnum, character = item.col }
    found[#found + 1] =
      { range = { start = at, ['end'] = at }, severity = item.severity, message = item.message, source = item.source }
  end
  return found
end

---@param buf integer
---@param range table?
---@return table
function M.describe(buf, range)
  local open, unsaved = {}, {}
  for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
    if info.loaded == 1 and vim.bo[info.bufnr].buftype == '' and info.name ~= '' then
      open[#open + 1] = vim.uri_from_bufnr(info.bufnr)
      if info.changed == 1 then
        unsaved[#unsaved + 1] = open[#open]
      end
    end
  end
  local about = {
    uri = vim.uri_from_bufnr(buf),
    languageId = vim.bo[buf].filetype,
    encoding = vim.bo[buf].fileencoding ~= '' and vim.bo[buf].fileencoding or 'utf-8',
    openFiles = open,
    unsaved = unsaved,
    diagnostics = diagnostics(buf),
    selection = range or (buf == vim.api.nvim_get_current_buf() and visual(buf)) or nil,
  }
  if buf == vim.api.nvim_get_current_buf() then
    local last = vim.fn.line('w$')
    about.visibleRange =
      { start = { line = vim.fn.line('w0') - 1, character = 0 }, ['end'] = { line = last - 1, character = 0 } }
  end
  return about
end

---Whether a buffer is a file of the user's.
---@param buf integer
function M.is_file(buf)
  return vim.bo[buf].buftype == '' and vim.api.nvim_buf_get_name(buf) ~= ''
end

---The file that the user was in last.
---@type integer?
M.last = nil

function M.watch()
  local group = vim.api.nvim_create_augroup('turnstone.context', { clear = true })
  local tell = util.debounced(config.get().context.debounce_ms, function()
    local buf = vim.api.nvim_get_current_buf()
    if M.is_file(buf) then
      M.last = buf
      require('turnstone.client').notify('turnstone/context', M.describe(buf))
    end
  end)
  vim.api.nvim_create_autocmd(
    { 'BufEnter', 'CursorMoved', 'CursorMovedI', 'ModeChanged', 'DiagnosticChanged', 'WinScrolled' },
    {
      group = group,
      callback = tell,
    }
  )
  tell()
end

return M
