-- Small things that several parts need.
local M = {}

---JSON null is nil in Neovim 0.11 and vim.NIL in 0.12.
function M.isnil(value)
  return value == nil or value == vim.NIL
end

---@generic T
---@param value T?
---@return T?
function M.value(value)
  if value == vim.NIL then
    return nil
  end
  return value
end

function M.info(text)
  vim.notify('turnstone: ' .. text, vim.log.levels.INFO)
end

function M.warn(text)
  vim.notify('turnstone: ' .. text, vim.log.levels.WARN)
end

function M.error(text)
  vim.notify('turnstone: ' .. text, vim.log.levels.ERROR)
end

---The number of edits between two words.
local function distance(a, b)
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local before = row[0]
    row[0] = i
    for j = 1, #b do
      local kept = row[j]
      local same = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(row[j] + 1, row[j - 1] + 1, before + same)
      before = kept
    end
  end
  return row[#b]
end

---The known word nearest to a given one; nil when none is near.
---@param word string
---@param known string[]
---@return string?
function M.nearest(word, known)
  local best, score
  for _, candidate in ipairs(known) do
    local d = distance(word, candidate)
    if vim.startswith(candidate, word) then
      d = math.min(d, 1)
    end
    if not score or d < score or (d == score and candidate < best) then
      best, score = candidate, d
    end
  end
  if score and score <= math.max(2, math.floor(#word / 2)) then
    return best
  end
end

function M.nearest_hint(word, known)
  local near = M.nearest(tostring(word), known)
  return near and (', did you mean %s?'):format(near) or ''
end

---The key that a user really presses for one of our <Plug> mappings; nil when there is none.
---@param plug string
---@param buf integer?
---@return string?
function M.key_for(plug, buf)
  local wanted = '<Plug>(turnstone-' .. plug .. ')'
  local maps = buf and vim.api.nvim_buf_get_keymap(buf, 'n') or {}
  for _, list in ipairs({ maps, vim.api.nvim_get_keymap('n') }) do
    for _, map in ipairs(list) do
      if map.rhs and map.rhs:lower() == wanted:lower() then
        return (map.lhs:gsub(' ', '<Space>'))
      end
    end
  end
end

---@param name string
---@param data any
function M.emit(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = name, modeline = false, data = data })
end

---Call `work` once, a while after the last call.
---@param milliseconds integer
---@param work fun()
---@return fun()
function M.debounced(milliseconds, work)
  local timer
  return function()
    if timer and not timer:is_closing() then
      timer:stop()
      timer:close()
    end
    timer = vim.defer_fn(work, milliseconds)
  end
end

---Create a scratch buffer, or find it by its name.
---@param name string
---@return integer buf, boolean created
function M.scratch(name)
  local found = vim.fn.bufnr('^' .. vim.fn.escape(name, '\\*?[]{},') .. '$')
  if found > 0 and vim.api.nvim_buf_is_loaded(found) then
    return found, false
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = 'hide'
  vim.bo[buf].swapfile = false
  pcall(vim.api.nvim_buf_set_name, buf, name)
  return buf, true
end

---@param text string
---@return string[]
function M.lines(text)
  return vim.split(text, '\n', { plain = true })
end

return M
