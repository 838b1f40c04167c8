-- Draws the hunks under review: old lines highlighted, new lines below them as virtual lines, signs, the real keys.
local config = require('turnstone.config')
local hunks = require('turnstone.hunks')
local util = require('turnstone.util')

local M = {}

M.space = vim.api.nvim_create_namespace('turnstone.review')

local function hint(file, hunk, number)
  if hunk.conflict then
    return ('hunk %d/%d · edited by you, not applied'):format(number, #file.hunks)
  end
  local words = { ('hunk %d/%d'):format(number, #file.hunks) }
  for _, pair in ipairs({ { 'accept-hunk', 'accept' }, { 'reject-hunk', 'reject' } }) do
    words[#words + 1] = (util.key_for(pair[1], file.buf) or (':Turnstone ' .. pair[2])) .. ' ' .. pair[2]
  end
  return table.concat(words, ' · ')
end

---The new lines as virtual lines; where a line replaces one, the words that differ stand out.
local function virtual(hunk, most, note)
  local lines = {}
  for i, text in ipairs(hunk.new) do
    if i > most then
      lines[#lines + 1] =
        { { ('… %d more lines, :Turnstone diff shows them'):format(#hunk.new - most), 'TurnstoneHint' } }
      break
    end
    local old = #hunk.old == #hunk.new and hunk.old[i]
    local shown = text:gsub('\t', (' '):rep(vim.bo.tabstop))
    if old and old ~= text and shown == text then
      local head, tail = hunks.shared(old, text)
      lines[#lines + 1] = vim.tbl_filter(function(chunk)
        return chunk[1] ~= ''
      end, {
        { text:sub(1, head), 'TurnstoneDiffAdd' },
        { text:sub(head + 1, #text - tail), 'TurnstoneDiffTextAdd' },
        { text:sub(#text - tail + 1), 'TurnstoneDiffAdd' },
      })
    else
      lines[#lines + 1] = { { shown == '' and ' ' or shown, 'TurnstoneDiffAdd' } }
    end
    if #lines[#lines] == 0 then
      lines[#lines] = { { ' ', 'TurnstoneDiffAdd' } }
    end
  end
  if note then
    lines[#lines + 1] = { { note, 'TurnstoneHint' } }
  end
  return lines
end

---@param file turnstone.File
---@param hunk turnstone.Hunk
---@param number integer
local function draw(file, hunk, number)
  local buf = file.buf --[[@as integer]]
  local count = vim.api.nvim_buf_line_count(buf)
  local group = hunk.conflict and 'TurnstoneConflict' or 'TurnstoneDiffDelete'
  local about = hint(file, hunk, number)
  for row = hunk.row, math.min(hunk.stop, count) - 1 do
    vim.api.nvim_buf_set_extmark(buf, M.space, row, 0, {
      line_hl_group = group,
      sign_text = hunk.conflict and '!' or '-',
      sign_hl_group = hunk.conflict and 'TurnstoneSignConflict' or 'TurnstoneSignDelete',
      virt_text = row == hunk.row and { { about, 'TurnstoneHint' } } or nil,
      virt_text_pos = 'eol',
    })
    local old, new = hunk.old[row - hunk.row + 1], hunk.new[row - hunk.row + 1]
    if not hunk.conflict and #hunk.old == #hunk.new and old ~= new then
      local head, tail = hunks.shared(old, new)
      if #old - tail > head then
        vim.api.nvim_buf_set_extmark(
          buf,
          M.space,
          row,
          head,
          { end_col = #old - tail, hl_group = 'TurnstoneDiffTextDelete', strict = false }
        )
      end
    end
  end
  local below = hunk.stop > 0
  local lines = virtual(hunk, config.get().review.max_lines, hunk.row >= math.min(hunk.stop, count) and about or nil)
  if #lines > 0 then
    vim.api.nvim_buf_set_extmark(buf, M.space, math.min(below and hunk.stop - 1 or 0, count - 1), 0, {
      virt_lines = lines,
      virt_lines_above = not below,
      virt_lines_overflow = 'scroll',
      sign_text = #hunk.old == 0 and '+' or nil,
      sign_hl_group = #hunk.old == 0 and 'TurnstoneSignAdd' or nil,
    })
  end
  if not below then
    -- virtual lines above the first line are outside of the window until it is scrolled
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      vim.api.nvim_win_call(win, function()
        if vim.fn.line('w0') == 1 then
          vim.fn.winrestview({ topfill = math.min(#lines, vim.api.nvim_win_get_height(win) - 1) })
        end
      end)
    end
  end
end

---@param file turnstone.File
function M.draw(file)
  local buf = file.buf
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buf, M.space, 0, -1)
  if file.answer then
    return
  end
  for number, hunk in ipairs(file.hunks) do
    if not hunk.decision then
      draw(file, hunk, number)
    end
  end
end

---@param buf integer
function M.clear(buf)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, M.space, 0, -1)
  end
end

return M
