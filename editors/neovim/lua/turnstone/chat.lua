-- The conversation: one buffer of blocks, each with a mark at its first line. Text is appended, never redrawn.
local util = require('turnstone.util')

local M = {}

local space = vim.api.nvim_create_namespace('turnstone.chat')
local OUTPUT, THINKING = '  │ ', '  ┆ '

---@class turnstone.Block
---@field mark integer
---@field prefix string
---@field open boolean its last line may go on

---@type integer?
local buf
---@type string[]
local order = {}
---@type table<string, turnstone.Block>
local blocks = {}
---Windows whose cursor is at the end before a batch of changes: they follow it.
---@type integer[]?
local following
local plain = 0

---@return integer
function M.buffer()
  if not buf or not vim.api.nvim_buf_is_valid(buf) then
    buf = util.scratch('turnstone://chat')
    order, blocks = {}, {}
    vim.bo[buf].undolevels = -1
    vim.bo[buf].modifiable = false
    vim.bo[buf].filetype = 'turnstone'
  end
  return buf
end

local function begin()
  local chat = M.buffer()
  if not following then
    following = {}
    local last = vim.api.nvim_buf_line_count(chat)
    for _, win in ipairs(vim.fn.win_findbuf(chat)) do
      if vim.api.nvim_win_get_cursor(win)[1] >= last then
        following[#following + 1] = win
      end
    end
    vim.bo[chat].modifiable = true
  end
  return chat
end

---End a batch of changes: windows that were at the end stay there.
function M.flush()
  if not following or not buf then
    return
  end
  local wins = following
  following = nil
  vim.bo[buf].modifiable = false
  local last = vim.api.nvim_buf_line_count(buf)
  for _, win in ipairs(wins) do
    if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == buf then
      vim.api.nvim_win_set_cursor(win, { last, 0 })
    end
  end
end

local function row_of(id)
  return vim.api.nvim_buf_get_extmark_by_id(buf or 0, space, blocks[id].mark, {})[1]
end

---The row after a block's last line, the blank line that parts blocks not counted.
local function stop_of(id)
  for i, known in ipairs(order) do
    if known == id and order[i + 1] then
      return row_of(order[i + 1]) - 1
    end
  end
  return vim.api.nvim_buf_line_count(buf or 0)
end

local function prefixed(text, prefix)
  return prefix == '' and text or (text:gsub('\n', function()
    return '\n' .. prefix
  end))
end

---Create a block at the end unless it exists.
---@param id string
---@param head string its first line
---@param prefix string put before every further line
local function block(id, head, prefix)
  local chat = begin()
  if blocks[id] then
    return blocks[id]
  end
  local row = vim.api.nvim_buf_line_count(chat)
  local lines = { '', head }
  if row == 1 and #order == 0 then
    row, lines = 0, { head }
    vim.api.nvim_buf_set_lines(chat, 0, -1, false, lines)
  else
    vim.api.nvim_buf_set_lines(chat, row, row, false, lines)
    row = row + 1
  end
  local mark = vim.api.nvim_buf_set_extmark(chat, space, row, 0, { right_gravity = true })
  blocks[id] = { mark = mark, prefix = prefix, open = false }
  order[#order + 1] = id
  return blocks[id]
end

---Append to a block's text; the head is a line of its own.
local function append(id, text)
  local chat, known = begin(), blocks[id]
  local stop = stop_of(id)
  if not known.open then
    known.open = true
    text = '\n' .. text
  end
  local last = vim.api.nvim_buf_get_lines(chat, stop - 1, stop, false)[1] or ''
  local added = util.lines(prefixed(text:gsub('\r\n?', '\n'), known.prefix))
  vim.api.nvim_buf_set_text(chat, stop - 1, #last, stop - 1, #last, added)
end

---Replace all of a block, its head included.
local function replace(id, lines)
  local chat = begin()
  local row = row_of(id)
  vim.api.nvim_buf_set_lines(chat, row, stop_of(id), false, lines)
  vim.api.nvim_buf_set_extmark(chat, space, row, 0, { id = blocks[id].mark })
end

function M.user(id, text)
  block('u:' .. id, '## You', '')
  append('u:' .. id, text)
end

function M.text(id, text)
  block('a:' .. id, '## turnstone', '')
  append('a:' .. id, text)
end

function M.reasoning(id, text)
  block('r:' .. id, '··· thinking', THINKING)
  append('r:' .. id, text)
end

---A message is whole: its final text counts; a discarded one never was.
function M.done(event)
  local id = 'a:' .. event.messageId
  if event.discarded then
    for _, name in ipairs({ id, 'r:' .. event.messageId }) do
      if blocks[name] then
        replace(name, { '··· taken back: the connection was lost, and the answer begins again' })
        blocks[name .. ':old'], order[vim.fn.index(order, name) + 1] = blocks[name], name .. ':old'
        blocks[name] = nil
      end
    end
  elseif event.text and event.text ~= '' then
    block(id, '## turnstone', '')
    local lines = util.lines((event.text:gsub('\r\n?', '\n')))
    local now = vim.api.nvim_buf_get_lines(buf or 0, row_of(id) + 1, stop_of(id), false)
    if not vim.deep_equal(now, lines) then
      replace(id, vim.list_extend({ '## turnstone' }, lines))
    end
    blocks[id].open = true
  end
end

local SIGNS = { pending = '○', in_progress = '●', completed = '✓', failed = '✗', cancelled = '–' }
---@type table<string, { head: string, streamed: boolean }>
local calls = {}

function M.tool(event)
  local id = 't:' .. event.callId
  local call = calls[event.callId] or { head = event.name, streamed = false }
  calls[event.callId] = call
  call.head = (event.header and event.header ~= '' and event.header or call.head):gsub('%s*\n%s*', ' ')
  local why = util.value(event.approvedBecause)
  local head = ('%s %s%s'):format(SIGNS[event.status] or '○', call.head, why and (' [' .. why .. ']') or '')
  block(id, head, OUTPUT)
  local chat, row = begin(), row_of(id)
  vim.api.nvim_buf_set_lines(chat, row, row + 1, false, { head })
  vim.api.nvim_buf_set_extmark(chat, space, row, 0, { id = blocks[id].mark })
  local result = util.value(event.result)
  if result and result ~= '' then
    local lines = util.lines(OUTPUT .. prefixed((result:gsub('\r\n?', '\n'):gsub('\n$', '')), OUTPUT))
    replace(id, vim.list_extend({ head }, lines))
    calls[event.callId] = nil
  end
end

function M.tool_output(id, text)
  if blocks['t:' .. id] then
    append('t:' .. id, text)
  end
end

function M.notice(text, level)
  plain = plain + 1
  local sign = level == 'error' and '✗ ' or level == 'warning' and '! ' or '· '
  block('n:' .. plain, sign .. util.lines(text)[1], '')
  local rest = text:match('\n(.*)$')
  if rest then
    append('n:' .. plain, rest)
  end
end

function M.turn_ended(event)
  local reason = event.stopReason
  if reason == 'cancelled' then
    M.notice('stopped', 'info')
  elseif reason and reason ~= 'completed' then
    M.notice(event.message and event.message ~= '' and event.message or reason, 'error')
  end
  M.flush()
end

---The server is gone: what ran will not go on.
function M.interrupted()
  calls = {}
  if buf and vim.api.nvim_buf_is_valid(buf) then
    M.flush()
  end
end

function M.clear()
  local chat = begin()
  order, blocks, calls = {}, {}, {}
  vim.api.nvim_buf_clear_namespace(chat, space, 0, -1)
  vim.api.nvim_buf_set_lines(chat, 0, -1, false, {})
  M.flush()
end

---Shows a text of the user's asking (a list, a diff) as a block of its own.
function M.note(title, text)
  plain = plain + 1
  block('n:' .. plain, '· ' .. title, '')
  append('n:' .. plain, text)
  M.flush()
end

-- 'foldexpr' and 'foldtext': output and thinking are folded.

function M.fold(lnum)
  local line = vim.fn.getline(lnum)
  return (vim.startswith(line, OUTPUT) or vim.startswith(line, THINKING)) and 1 or 0
end

function M.foldtext()
  local first = vim.fn.getline(vim.v.foldstart)
  local count = vim.v.foldend - vim.v.foldstart + 1
  return count == 1 and first or ('%s (%d lines)'):format(first, count)
end

return M
