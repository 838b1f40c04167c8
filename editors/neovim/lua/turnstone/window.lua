-- The chat's windows: the conversation above, the prompt below it.
local chat = require('turnstone.chat')
local config = require('turnstone.config')
local util = require('turnstone.util')

local M = {}

---@type string[]
local history = {}
local recalled = 0

local function window_of(buf)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
end

---Send what stands in the prompt.
function M.send()
  local buf = M.prompt()
  local text = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n'))
  if text == '' then
    return util.warn('the prompt is empty')
  end
  if require('turnstone.commands').send(text) then
    history[#history + 1] = text
    recalled = 0
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, {})
  end
end

---Put an earlier prompt in place: 1 back, -1 forward.
---@param step integer
function M.recall(step)
  recalled = math.max(0, math.min(#history, recalled + step))
  local text = recalled == 0 and '' or history[#history - recalled + 1]
  vim.api.nvim_buf_set_lines(M.prompt(), 0, -1, false, util.lines(text))
end

---Completes @selection, @diagnostics and @file.
function M.omni(find, base)
  if find == 1 then
    local before = vim.api.nvim_get_current_line():sub(1, vim.fn.col('.') - 1)
    local at = before:find('@[^%s@]*$')
    return at and at - 1 or -3
  end
  local words = { '@selection', '@diagnostics' }
  local wanted = base:gsub('^@', '')
  for _, path in ipairs(vim.fn.getcompletion(wanted, 'file')) do
    words[#words + 1] = '@' .. path
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, base)
  end, words)
end

---@return integer
function M.prompt()
  local buf, created = util.scratch('turnstone://prompt')
  if created then
    vim.bo[buf].filetype = 'markdown'
    vim.bo[buf].omnifunc = "v:lua.require'turnstone.window'.omni"
    vim.keymap.set('n', '<CR>', M.send, { buffer = buf, desc = 'turnstone: send' })
    vim.keymap.set('i', '<C-s>', M.send, { buffer = buf, desc = 'turnstone: send' })
    vim.keymap.set('n', '<C-p>', function()
      M.recall(1)
    end, { buffer = buf, desc = 'turnstone: earlier prompt' })
    vim.keymap.set('n', '<C-n>', function()
      M.recall(-1)
    end, { buffer = buf, desc = 'turnstone: later prompt' })
  end
  return buf
end

---Show the chat without taking the focus.
---@return integer win
function M.show()
  local buf = chat.buffer()
  local win = window_of(buf)
  if not win then
    local width = math.max(30, math.floor(vim.o.columns * config.get().chat.width))
    win = vim.api.nvim_open_win(buf, false, { split = 'right', win = -1, width = width })
    for name, value in pairs({
      wrap = true,
      linebreak = true,
      number = false,
      relativenumber = false,
      signcolumn = 'no',
      winfixwidth = true,
      foldmethod = 'expr',
      foldexpr = "v:lua.require'turnstone.chat'.fold(v:lnum)",
      foldtext = "v:lua.require'turnstone.chat'.foldtext()",
      foldlevel = 0,
      foldminlines = 0,
      statusline = "%{%v:lua.require'turnstone'.statusline()%}",
    }) do
      vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
    end
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 })
  end
  return win
end

---Show chat and prompt, and go to the prompt.
function M.open()
  local win = M.show()
  local prompt = M.prompt()
  local below = window_of(prompt)
  if not below then
    below =
      vim.api.nvim_open_win(prompt, true, { split = 'below', win = win, height = config.get().chat.prompt_height })
    vim.wo[below].winfixheight = true
    vim.wo[below].number = false
    vim.wo[below].statusline = ' <CR> send · i_CTRL-S send · @file @selection @diagnostics: i_CTRL-X CTRL-O'
  end
  vim.api.nvim_set_current_win(below)
end

---Close them; what runs goes on.
function M.close()
  for _, buf in ipairs({ M.prompt(), chat.buffer() }) do
    local win = window_of(buf)
    if win and #vim.api.nvim_tabpage_list_wins(0) > 1 then
      vim.api.nvim_win_close(win, false)
    elseif win then
      vim.cmd.enew()
    end
  end
end

function M.toggle()
  if window_of(chat.buffer()) then
    M.close()
  else
    M.open()
  end
end

return M
