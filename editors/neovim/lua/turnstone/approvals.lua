-- The queue of questions: a float that never takes the focus, letters, no default, nothing decided by closing it.
local config = require('turnstone.config')
local status = require('turnstone.status')
local util = require('turnstone.util')

local M = {}

local space = vim.api.nvim_create_namespace('turnstone.approvals')
---@type turnstone.Question[]
local queue = {}
---@type integer?, integer?
local buf, win
---@type string?
local shown
---When keys begin to count, in milliseconds of the event loop's clock.
local awake = 0
---@type string[]
local mapped = {}

---Whether the question on screen was there long enough for a key to be meant for it.
local function inert()
  return vim.uv.now() < awake
end

local function sleep()
  vim.uv.update_time()
  awake = vim.uv.now() + config.get().approvals.inert_ms
end

local render

local function close_window()
  if win and vim.api.nvim_win_is_valid(win) then
    vim.api.nvim_win_close(win, true)
  end
  win = nil
end

local function changed()
  status.set({ approvals = #queue })
  render()
end

---@param question turnstone.Question
---@param answer any
local function decide(question, answer)
  for i, known in ipairs(queue) do
    if known == question then
      table.remove(queue, i)
      question.reply(answer)
      util.emit('TurnstoneResolved', { id = question.id })
      changed()
      return
    end
  end
end

---@param question turnstone.Question
---@param choice turnstone.Choice
local function choose(question, choice)
  if type(choice.answer) == 'function' then
    choice.answer(function(answer)
      if answer ~= nil then
        decide(question, answer)
      end
    end)
  else
    decide(question, choice.answer)
  end
end

local function buffer()
  if buf and vim.api.nvim_buf_is_valid(buf) then
    return buf
  end
  buf = util.scratch('turnstone://approvals')
  vim.api.nvim_create_autocmd('WinEnter', {
    callback = function()
      if win and vim.api.nvim_get_current_win() == win then
        sleep()
      end
    end,
    group = vim.api.nvim_create_augroup('turnstone.approvals', { clear = true }),
  })
  return buf
end

local function set_keys(question)
  local target = buffer()
  for _, key in ipairs(mapped) do
    pcall(vim.keymap.del, 'n', key, { buffer = target })
  end
  mapped = {}
  local function map(key, work, desc)
    mapped[#mapped + 1] = key
    vim.keymap.set('n', key, function()
      if not inert() and queue[1] == question then
        work()
      end
    end, { buffer = target, nowait = true, desc = desc })
  end
  for _, choice in ipairs(question.choices) do
    map(choice.key, function()
      choose(question, choice)
    end, 'turnstone: ' .. choice.label)
  end
  map('q', function()
    close_window()
    vim.cmd('wincmd p')
  end, 'turnstone: close; the question stays')
  map('<Tab>', M.rotate, 'turnstone: next question')
end

local function content(question)
  local lines, marks = {}, {}
  local function add(text, group)
    for _, line in ipairs(util.lines(text)) do
      lines[#lines + 1] = line
      marks[#marks + 1] = group or false
    end
  end
  add(question.title, 'TurnstoneApprovalTitle')
  for _, line in ipairs(question.lines) do
    add(line, vim.startswith(line, '! ') and 'TurnstoneApprovalRisk' or nil)
  end
  add('')
  for _, choice in ipairs(question.choices) do
    add(('  %s  %s'):format(choice.key, choice.label), 'TurnstoneApprovalKey')
  end
  return lines, marks
end

local function place(lines)
  local width = 20
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width + 1, math.max(20, vim.o.columns - 4))
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  height = math.max(1, math.min(height, math.floor(vim.o.lines * config.get().approvals.max_height)))
  local key = util.key_for('approvals')
  return {
    relative = 'editor',
    anchor = 'SE',
    row = vim.o.lines - vim.o.cmdheight - 1,
    col = vim.o.columns,
    width = width,
    height = height,
    border = 'rounded',
    style = 'minimal',
    title = (' turnstone asks · 1 of %d '):format(#queue),
    footer = (' %s to answer '):format(key or ':Turnstone pending'),
    zindex = 60,
  }
end

function render()
  local question = queue[1]
  if not question then
    shown = nil
    return close_window()
  end
  local target = buffer()
  if shown ~= question.id then
    shown = question.id
    sleep()
    local lines, groups = content(question)
    vim.bo[target].modifiable = true
    vim.api.nvim_buf_set_lines(target, 0, -1, false, lines)
    vim.bo[target].modifiable = false
    vim.api.nvim_buf_clear_namespace(target, space, 0, -1)
    for row, group in ipairs(groups) do
      if group then
        vim.api.nvim_buf_set_extmark(target, space, row - 1, 0, { line_hl_group = group })
      end
    end
    set_keys(question)
    if win and vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_set_cursor(win, { 1, 0 })
    end
  end
  local where = place(vim.api.nvim_buf_get_lines(target, 0, -1, false))
  if win and vim.api.nvim_win_is_valid(win) then
    vim.api.nvim_win_set_config(win, where)
  else
    win = vim.api.nvim_open_win(target, false, vim.tbl_extend('force', where, { noautocmd = true }))
    vim.wo[win].wrap = true
    vim.wo[win].winfixbuf = true
  end
end

---Add a question. Nothing takes the focus.
---@param question turnstone.Question
function M.add(question)
  queue[#queue + 1] = question
  util.emit('TurnstoneApproval', { id = question.id, title = question.title, pending = #queue })
  changed()
end

---The server needs no answer any more: it was answered elsewhere, or its turn has ended.
---@param id string
function M.withdraw(id)
  for i, question in ipairs(queue) do
    if question.id == id then
      table.remove(queue, i)
      question.reply(vim.NIL)
      util.emit('TurnstoneResolved', { id = id })
      return changed()
    end
  end
end

function M.clear()
  queue = {}
  changed()
end

---Put the question on screen at the end of the queue.
function M.rotate()
  if #queue > 1 then
    queue[#queue + 1] = table.remove(queue, 1)
    render()
  end
end

---Show the float and go there.
---@return boolean whether there was something to show
function M.focus()
  if not queue[1] then
    return false
  end
  render()
  vim.api.nvim_set_current_win(win --[[@as integer]])
  sleep()
  return true
end

---Answer the question on screen by the key of one of its choices.
---@param key string
function M.answer(key)
  local question = queue[1]
  if not question then
    return util.warn('nothing waits for an answer')
  elseif inert() then
    return util.warn('this question has only just appeared; read it first')
  end
  render()
  for _, choice in ipairs(question.choices) do
    if choice.key == key then
      return choose(question, choice)
    end
  end
  util.warn('this question has no such answer; :Turnstone pending shows those it has')
end

---Deny the question on screen, with words for the model.
---@param feedback string
function M.deny(feedback)
  local question = queue[1]
  if not question then
    return util.warn('nothing waits for an answer')
  elseif inert() then
    return util.warn('this question has only just appeared; read it first')
  end
  local no = question.choices[1].answer
  decide(question, type(no) == 'table' and vim.tbl_extend('force', no, { feedback = feedback }) or vim.NIL)
end

---@return turnstone.Question[]
function M.list()
  return queue
end

return M
