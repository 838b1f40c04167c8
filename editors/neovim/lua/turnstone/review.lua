-- Reviews of proposed edits. A buffer is untouched until the user accepts; only accept and reject decide.
local buffers = require('turnstone.buffers')
local config = require('turnstone.config')
local hunks = require('turnstone.hunks')
local keys = require('turnstone.keys')
local marks = require('turnstone.marks')
local status = require('turnstone.status')
local util = require('turnstone.util')

local M = {}

---@type turnstone.Batch[]
local batches = {}
local group = vim.api.nvim_create_augroup('turnstone.review', { clear = true })

---The files that wait for a decision.
---@return turnstone.File[]
function M.files()
  local found = {}
  for _, batch in ipairs(batches) do
    for _, file in ipairs(batch.files) do
      if not file.answer then
        found[#found + 1] = file
      end
    end
  end
  return found
end

---The file under review in a buffer.
---@param buf integer?
---@return turnstone.File?
function M.file_of(buf)
  buf = buf or vim.api.nvim_get_current_buf()
  for _, file in ipairs(M.files()) do
    if file.buf == buf or file.proposal == buf then
      return file
    end
  end
end

---@param file turnstone.File
---@return turnstone.Hunk[]
local function undecided(file)
  return vim.tbl_filter(function(hunk)
    return not hunk.decision
  end, file.hunks)
end
M.undecided = undecided

local function lines_in(buf)
  return function(row, stop)
    return vim.api.nvim_buf_get_lines(buf, row, stop, false)
  end
end

local function refresh(file)
  if file.drawing then
    return
  end
  file.drawing = true
  vim.schedule(function()
    file.drawing = false
    marks.draw(file)
  end)
end

---Find the hunks again after the buffer was read anew.
local function relocate(file)
  local ending = buffers.line_end(file.buf)
  local lines = vim.api.nvim_buf_get_lines(file.buf, 0, -1, true)
  hunks.relocate(file.hunks, hunks.lines(file.wire.baseText, ending), lines)
end

---@param file turnstone.File
local function watch(file)
  local buf = file.buf --[[@as integer]]
  if file.attached[buf] then
    return
  end
  file.attached[buf] = true
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, _, first, before, after)
      if file.answer or file.buf ~= buf then
        file.attached[buf] = nil
        return true
      end
      if not file.applying then
        for _, hunk in ipairs(file.hunks) do
          if hunk.decision ~= 'rejected' then
            hunks.follow(hunk, first, before, after, lines_in(buf))
          end
        end
        refresh(file)
      end
    end,
    on_reload = function()
      if not file.answer and file.buf == buf then
        relocate(file)
        refresh(file)
      end
    end,
    on_detach = function()
      file.attached[buf] = nil
    end,
  })
end

---Give a file a buffer: its own if it is loaded, else a copy of what the change is made on.
---@param file turnstone.File
local function bind(file)
  local own = buffers.find(file.wire.path)
  file.scratch = own == nil
  if own then
    file.buf = own
    file.hunks = hunks.of(file.wire, buffers.line_end(own))
    relocate(file)
  else
    local buf = util.scratch('turnstone://review/' .. file.wire.display)
    local ending = file.wire.baseText:find('\r\n', 1, true) and '\r\n' or '\n'
    local lines = hunks.lines(file.wire.baseText, ending)
    vim.bo[buf].modifiable = true
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
    vim.bo[buf].modifiable = false
    vim.bo[buf].filetype = vim.filetype.match({ filename = file.wire.path, buf = buf }) or ''
    file.buf = buf
    file.hunks = hunks.of(file.wire, ending)
  end
  watch(file)
  keys.set(file.buf)
  marks.draw(file)
end

---Files whose buffer was wiped or unloaded go on in another; nothing is decided by that.
local function rebind(file)
  if not file.buf or not vim.api.nvim_buf_is_loaded(file.buf) then
    bind(file)
  end
end

---@param files turnstone.File[]
local function release(files)
  for _, file in ipairs(files) do
    if file.buf and vim.api.nvim_buf_is_valid(file.buf) then
      marks.clear(file.buf)
      keys.remove(file.buf)
    end
    for _, buf in ipairs({ file.proposal or -1, file.scratch and file.buf or -1 }) do
      if vim.api.nvim_buf_is_valid(buf) then
        vim.api.nvim_buf_delete(buf, { force = true })
      end
    end
  end
end

local function count()
  status.set({ reviews = #M.files() })
end

---Answer a batch when all of its files are decided.
local function settle(batch)
  local answers = {}
  for _, file in ipairs(batch.files) do
    if not file.answer then
      return count()
    end
    answers[#answers + 1] = file.answer
  end
  for i, known in ipairs(batches) do
    if known == batch then
      table.remove(batches, i)
    end
  end
  batch.reply({ files = answers })
  release(batch.files)
  count()
  util.emit('TurnstoneReviewEnd', { files = #batch.files })
end

---@param file turnstone.File
---@param answer table
function M.conclude(file, answer)
  file.answer = vim.tbl_extend('force', { promptId = file.wire.promptId }, answer)
  if file.feedback then
    file.answer.feedback = file.feedback
  end
  release({ file })
  settle(file.batch)
end

---Hunks that the user's own edits kept from being applied, in words for the model.
local function conflicts(file)
  local numbers = {}
  for number, hunk in ipairs(file.hunks) do
    if hunk.conflict and hunk.decision ~= 'accepted' then
      numbers[#numbers + 1] = tostring(number)
    end
  end
  if #numbers > 0 then
    return ('Hunk %s was not applied: the user edited these lines meanwhile.'):format(table.concat(numbers, ', '))
  end
end

---Answer for a file whose hunks are all decided.
---@param file turnstone.File
function M.finish(file)
  local accepted = {}
  for _, hunk in ipairs(file.hunks) do
    if hunk.decision == 'accepted' then
      vim.list_extend(accepted, hunk.indexes)
    end
  end
  file.feedback = file.feedback or conflicts(file)
  local every = #accepted == #file.wire.hunks
  if #accepted == 0 and not (every and file.all) then
    return M.conclude(file, { decision = 'reject', appliedBy = 'none' })
  elseif file.scratch then
    if file.batch.detached then
      M.apply_here(file, accepted)
    end
    return M.conclude(file, { decision = every and 'accept' or 'partial', hunks = accepted, appliedBy = 'server' })
  end
  local text = buffers.text(file.buf)
  local word = every and text == file.wire.newText and 'accept' or 'partial'
  M.conclude(file, { decision = word, hunks = accepted, text = text, appliedBy = 'client' })
end

---The server that asked is gone: what is accepted goes into a buffer, for the user to write.
function M.apply_here(file, accepted)
  local buf = vim.fn.bufadd(file.wire.path)
  vim.fn.bufload(buf)
  vim.bo[buf].buflisted = true
  if buffers.text(buf) == file.wire.baseText and #accepted == #file.wire.hunks then
    buffers.set_text(buf, file.wire.newText)
  else
    util.warn(file.wire.display .. ' has changed meanwhile; nothing was applied to it')
  end
end

---Whether the last line that a hunk makes has an end, when the hunk reaches the end of the text.
local function ended(file, hunk)
  local ending = buffers.line_end(file.buf)
  if hunk.stop >= vim.api.nvim_buf_line_count(file.buf) then
    local _, whole = buffers.split(file.wire.newText, ending)
    return whole or file.wire.newText == ''
  end
  return vim.bo[file.buf].endofline
end

---Put hunks into the buffer, as one step for undo.
---@param file turnstone.File
---@param chosen turnstone.Hunk[] in order
function M.accept(file, chosen)
  rebind(file)
  local buf, changes =
    file.buf, --[[@as integer]]
    {}
  if not file.scratch and not vim.bo[buf].modifiable then
    return util.error(file.wire.display .. " is not 'modifiable'; nothing was applied")
  end
  for _, hunk in ipairs(chosen) do
    changes[#changes + 1] = { row = hunk.row, stop = hunk.stop, lines = hunk.new }
  end
  if #chosen > 0 then
    if not file.scratch then
      buffers.set_ended(buf, ended(file, chosen[#chosen]))
    end
    file.applying = true
    local modifiable = vim.bo[buf].modifiable
    vim.bo[buf].modifiable = true
    buffers.replace(buf, changes)
    vim.bo[buf].modifiable = modifiable
    file.applying = false
  end
  local shift, at = 0, 1
  for _, hunk in ipairs(file.hunks) do
    hunk.row, hunk.stop = hunk.row + shift, hunk.stop + shift
    if chosen[at] == hunk then
      at = at + 1
      shift = shift + #hunk.new - (hunk.stop - hunk.row)
      hunk.decision, hunk.stop = 'accepted', hunk.row + #hunk.new
    end
  end
  M.after_decision(file)
end

---@param file turnstone.File
function M.after_decision(file)
  if #undecided(file) == 0 then
    M.finish(file)
  else
    marks.draw(file)
  end
end

---Accept what is left of a file: conflicts are left out, and reported.
---@param file turnstone.File
function M.accept_file(file)
  rebind(file)
  local chosen = {}
  for _, hunk in ipairs(undecided(file)) do
    if hunk.conflict then
      hunk.decision = 'rejected'
    else
      chosen[#chosen + 1] = hunk
    end
  end
  file.all = #file.hunks == 0
  M.accept(file, chosen)
end

---@param file turnstone.File
---@param feedback string?
function M.reject_file(file, feedback)
  for _, hunk in ipairs(undecided(file)) do
    hunk.decision = 'rejected'
  end
  file.feedback = feedback or file.feedback
  M.finish(file)
end

---turnstone/reviewEdits
---@param params { files: turnstone.WireFile[] }
---@param reply fun(result: any)
function M.open(params, reply)
  local batch = { files = {}, reply = reply }
  for _, wire in ipairs(params.files) do
    local file = { wire = wire, batch = batch, hunks = {}, scratch = false, applying = false, attached = {} }
    batch.files[#batch.files + 1] = file
    bind(file)
  end
  batches[#batches + 1] = batch
  vim.api.nvim_clear_autocmds({ group = group })
  vim.api.nvim_create_autocmd('BufReadPost', {
    group = group,
    callback = function(event)
      local file = M.file_of(event.buf)
      if file then
        watch(file)
        keys.set(event.buf)
        refresh(file)
      end
    end,
  })
  count()
  util.emit('TurnstoneReview', { files = #batch.files })
  if config.get().review.jump and vim.fn.mode() == 'n' then
    require('turnstone.navigate').go(1)
  else
    require('turnstone.navigate').announce(batch)
  end
end

---A file was decided elsewhere, or its turn has ended.
---@param prompt_id string
function M.withdraw(prompt_id)
  for _, file in ipairs(M.files()) do
    if file.wire.promptId == prompt_id then
      M.conclude(file, { decision = 'reject', appliedBy = 'none' })
    end
  end
end

---The server is gone. What it asked stays on screen and can still be decided: it is then applied here.
function M.detach()
  for _, batch in ipairs(batches) do
    batch.detached = true
    batch.reply = function() end
  end
end

M.rebind = rebind

return M
