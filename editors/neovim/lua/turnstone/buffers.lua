-- Buffers as the language server sees them: one text with its real line ends, and changes that keep every byte.
local M = {}

local ENDS = { unix = '\n', dos = '\r\n', mac = '\r' }
local diff = (vim.text and vim.text.diff) or vim.diff

---@param buf integer
---@return string
function M.line_end(buf)
  return ENDS[vim.bo[buf].fileformat] or '\n'
end

---The text of a buffer exactly as Neovim's client tells it to the server.
---@param buf integer
---@return string
function M.text(buf)
  local ending = M.line_end(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), ending)
  return vim.bo[buf].endofline and text .. ending or text
end

---A text as the lines of a buffer with that line end, and whether its last line has an end.
---@param text string
---@param ending string
---@return string[] lines, boolean ended
function M.split(text, ending)
  if ending == '\r\n' then
    text, ending = text:gsub('\r\n', '\n'), '\n'
  end
  local lines = vim.split(text, ending, { plain = true })
  if #lines > 1 and lines[#lines] == '' then
    lines[#lines] = nil
    return lines, true
  end
  return lines, false
end

---Differing line ranges: {row, count, new row, new count} from 0.
---@param before string[]
---@param after string[]
---@return integer[][]
function M.ranges(before, after)
  local function joined(lines)
    return #lines == 0 and '' or (table.concat(lines, '\n'):gsub('%z', '\1') .. '\n')
  end
  local found = diff(joined(before), joined(after), { result_type = 'indices', algorithm = 'histogram' })
  for _, range in
    ipairs(found --[[@as integer[][] ]])
  do
    if range[2] > 0 then
      range[1] = range[1] - 1
    end
    if range[4] > 0 then
      range[3] = range[3] - 1
    end
  end
  return found --[[@as integer[][] ]]
end

---Begin a new step for undo, apart from what the user is typing.
---@param buf integer
function M.break_undo(buf)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
end

---Keep a file without a final line end as it is when it is written; 'fixeol' would add one.
---@param buf integer
---@param ended boolean
function M.set_ended(buf, ended)
  if not ended then
    vim.bo[buf].fixendofline = false
  end
  vim.bo[buf].endofline = ended
end

---Replace line ranges from the last to the first, as one step for undo.
---@param buf integer
---@param changes { row: integer, stop: integer, lines: string[] }[] in order
function M.replace(buf, changes)
  M.break_undo(buf)
  vim.api.nvim_buf_call(buf, function()
    for i = #changes, 1, -1 do
      local change = changes[i]
      if i < #changes then
        pcall(vim.cmd.undojoin)
      end
      vim.api.nvim_buf_set_lines(buf, change.row, change.stop, true, change.lines)
    end
  end)
  M.break_undo(buf)
end

---Make a buffer hold a text, changing only what differs: one step for undo.
---@param buf integer
---@param text string
function M.set_text(buf, text)
  local lines, ended = M.split(text, M.line_end(buf))
  local before = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local changes = {}
  for _, range in ipairs(M.ranges(before, lines)) do
    local new = vim.list_slice(lines, range[3] + 1, range[3] + range[4])
    changes[#changes + 1] = { row = range[1], stop = range[1] + range[2], lines = new }
  end
  local last = #before - 1
  if #changes == 0 and ended ~= vim.bo[buf].endofline then
    -- a change of the option alone is told to nobody: touch the last line
    changes[1] = { row = last, stop = last + 1, lines = { before[#before] } }
  end
  if #changes > 0 then
    M.set_ended(buf, ended)
    M.replace(buf, changes)
  end
end

---The loaded buffer of a file, by its real path.
---@param path string
---@return integer?
function M.find(path)
  local real = vim.uv.fs_realpath(path) or vim.fs.normalize(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' then
      local name = vim.api.nvim_buf_get_name(buf)
      if name ~= '' and (name == path or (vim.uv.fs_realpath(name) or vim.fs.normalize(name)) == real) then
        return buf
      end
    end
  end
end

---Why a buffer's file is not as the buffer last read it; nil when it is. Asks nothing.
---@param buf integer
---@return string?
local function moved_on_disk(buf)
  local reason
  local id = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      reason = vim.v.fcs_reason
      vim.v.fcs_choice = ''
    end,
  })
  pcall(vim.cmd.checktime, buf)
  vim.api.nvim_del_autocmd(id)
  if reason and reason ~= 'time' and reason ~= 'mode' and reason ~= 'deleted' then
    return reason
  end
end

---Write a buffer if it is modified: with the user's autocommands, never over a file that has changed meanwhile.
---@param buf integer
---@return string? problem
function M.save(buf)
  if moved_on_disk(buf) then
    return 'the file has changed on disk; it was not written'
  end
  local ok, problem = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd('silent update')
  end)
  if not ok then
    return tostring(problem)
  end
end

---turnstone/applyEdit: a change that the user has agreed to already. All of it, or nothing.
---@param params { uri: string, baseText: string, newText: string }
---@return { applied: boolean, reason: string? }
function M.apply(params)
  local buf = M.find(vim.uri_to_fname(params.uri))
  local reason
  if not buf then
    reason = 'the document is not open'
  elseif not vim.bo[buf].modifiable then
    reason = "the buffer is not 'modifiable'"
  elseif M.text(buf) ~= params.baseText then
    reason = 'the buffer has changed meanwhile'
  else
    M.set_text(buf, params.newText)
    return { applied = true }
  end
  return { applied = false, reason = reason }
end

return M
