-- Getting around in a review: next and previous, the quickfix list, the side by side view, the hunk at the cursor.
local review = require('turnstone.review')
local util = require('turnstone.util')

local M = {}

---Say that a review has come, without taking the focus.
---@param batch turnstone.Batch
function M.announce(batch)
  local names = {}
  for _, file in ipairs(batch.files) do
    names[#names + 1] = file.wire.display
  end
  local text = ('turnstone: to review: %s'):format(table.concat(names, ', '))
  local key = util.key_for('next-hunk') or ':Turnstone next'
  text = ('%s (%s)'):format(text, key)
  if #text < vim.o.columns - 12 then
    vim.api.nvim_echo({ { text, 'TurnstoneHint' } }, false, {})
  end
end

---Show a file under review in this window, or where it is shown already.
---@param file turnstone.File
function M.show(file)
  review.rebind(file)
  local win = vim.fn.win_findbuf(file.buf)[1]
  if win and vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage() then
    vim.api.nvim_set_current_win(win)
    return
  end
  if vim.wo.winfixbuf or vim.bo.buftype == 'nofile' then
    for _, other in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local shown = vim.api.nvim_win_get_buf(other)
      if vim.bo[shown].buftype == '' and vim.api.nvim_win_get_config(other).relative == '' then
        vim.api.nvim_set_current_win(other)
        break
      end
    end
  end
  if
    vim.wo.winfixbuf or vim.bo.buftype == 'nofile' and not vim.api.nvim_buf_get_name(0):match('^turnstone://review/')
  then
    vim.cmd('leftabove vsplit')
    vim.wo.winfixbuf = false
  end
  vim.api.nvim_win_set_buf(0, file.buf)
end

---Go to the next (1) or the previous (-1) undecided hunk, through all files.
---@param step integer
function M.go(step)
  local places, here = {}, nil
  local buf, row = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, file in ipairs(review.files()) do
    review.rebind(file)
    for _, hunk in ipairs(review.undecided(file)) do
      places[#places + 1] = { file = file, row = hunk.row }
      local before = file.buf == buf and hunk.row < row
      local at = file.buf == buf and hunk.row == row
      if before or (at and step > 0) then
        here = #places
      end
    end
    if #file.hunks == 0 then
      places[#places + 1] = { file = file, row = 0 }
    end
  end
  if #places == 0 then
    return util.info('nothing is under review')
  end
  local target
  if not here then
    target = step > 0 and M.first_from(places, buf) or #places
  else
    target = step > 0 and here + 1 or here
  end
  local place = places[(target - 1) % #places + 1]
  M.show(place.file)
  local last = vim.api.nvim_buf_line_count(0)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { math.min(place.row + 1, last), 0 })
end

function M.first_from(places, buf)
  for i, place in ipairs(places) do
    if place.file.buf == buf then
      return i
    end
  end
  return 1
end

---The file and the undecided hunk at the cursor. Says what is wrong when there is none.
---@return turnstone.File?, turnstone.Hunk?
function M.at_cursor()
  local file = review.file_of()
  if not file then
    util.warn('this buffer is not under review; :Turnstone next goes to one that is')
    return nil
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, hunk in ipairs(review.undecided(file)) do
    local inside = row >= hunk.row and row < hunk.stop
    if inside or (hunk.row == hunk.stop and (row == hunk.row or row == hunk.row - 1)) then
      return file, hunk
    end
  end
  if #file.hunks > 0 then
    util.warn('there is no hunk at the cursor; :Turnstone next goes to one')
    return nil
  end
  return file
end

---All undecided hunks in the quickfix list.
function M.list()
  local items = {}
  for _, file in ipairs(review.files()) do
    review.rebind(file)
    for _, hunk in ipairs(review.undecided(file)) do
      local text = ('-%d +%d %s'):format(#hunk.old, #hunk.new, hunk.new[1] or hunk.old[1] or '')
      items[#items + 1] =
        { bufnr = file.buf, lnum = hunk.row + 1, text = (hunk.conflict and 'conflict ' or '') .. text }
    end
  end
  if #items == 0 then
    return util.info('nothing is under review')
  end
  vim.fn.setqflist({}, ' ', { title = 'turnstone review', items = items })
  vim.cmd('botright copen')
end

---Side by side in a tab of its own: the text as it is, and the proposal, which can be edited before it is accepted.
function M.diff()
  local file = review.file_of() or review.files()[1]
  if not file then
    return util.info('nothing is under review')
  end
  review.rebind(file)
  local ending = file.wire.newText:find('\r\n', 1, true) and '\r\n' or '\n'
  local buf, created = util.scratch('turnstone://proposal/' .. file.wire.display)
  if created or file.proposal ~= buf then
    file.proposal = buf
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, require('turnstone.hunks').lines(file.wire.newText, ending))
    vim.bo[buf].filetype = vim.bo[file.buf].filetype
    vim.bo[buf].modified = false
  end
  vim.cmd('tab split')
  vim.api.nvim_win_set_buf(0, file.buf)
  vim.cmd('diffthis')
  vim.api.nvim_open_win(buf, true, { split = 'right', win = 0 })
  vim.cmd('diffthis')
  vim.wo.winbar = ' proposal, may be edited · :Turnstone accept takes this text · closing decides nothing'
end

---Accept the text of the proposal's buffer, with the user's own changes in it.
---@param file turnstone.File
function M.accept_proposal(file)
  local buffers = require('turnstone.buffers')
  local lines = vim.api.nvim_buf_get_lines(file.proposal, 0, -1, true)
  local ending = file.wire.newText:find('\r\n', 1, true) and '\r\n' or '\n'
  local text = table.concat(lines, ending)
  local _, ended = buffers.split(file.wire.newText, ending)
  if text ~= '' and (ended or file.wire.newText == '') then
    text = text .. ending
  end
  if text == file.wire.newText and file.scratch then
    return M.close_after(file, review.accept_file)
  end
  if file.scratch then
    return M.close_after(file, function()
      review.conclude(file, { decision = 'partial', text = text, appliedBy = 'server' })
    end)
  end
  if buffers.text(file.buf) ~= file.wire.baseText then
    return util.error('the buffer has changed since; accept hunk by hunk in it')
  end
  M.close_after(file, function()
    file.applying = true
    buffers.set_text(file.buf, text)
    file.applying = false
    local word = text == file.wire.newText and 'accept' or 'partial'
    review.conclude(file, { decision = word, text = text, appliedBy = 'client' })
  end)
end

function M.close_after(file, work)
  if #vim.api.nvim_list_tabpages() > 1 then
    vim.cmd('diffoff!')
    vim.cmd.tabclose()
  end
  work(file)
end

return M
