-- Buffer-local mappings while a review is open: only on keys that nothing else uses, and taken away afterwards.
local config = require('turnstone.config')
local util = require('turnstone.util')

local M = {}

---@type { [1]: string, [2]: string }[]
M.defaults = {
  { '<LocalLeader>a', 'accept-hunk' },
  { '<LocalLeader>r', 'reject-hunk' },
  { '<LocalLeader>A', 'accept-file' },
  { '<LocalLeader>R', 'reject-file' },
  { ']h', 'next-hunk' },
  { '[h', 'prev-hunk' },
}

---@type table<integer, string[]>
local ours = {}

---@param buf integer
function M.set(buf)
  if ours[buf] or not config.get().review.keys then
    return
  end
  ours[buf] = {}
  vim.api.nvim_buf_call(buf, function()
    for _, pair in ipairs(M.defaults) do
      if vim.fn.maparg(pair[1], 'n') == '' and not util.key_for(pair[2], buf) then
        vim.keymap.set('n', pair[1], '<Plug>(turnstone-' .. pair[2] .. ')', { buffer = buf, remap = true })
        table.insert(ours[buf], pair[1])
      end
    end
  end)
end

---@param buf integer
function M.remove(buf)
  for _, lhs in ipairs(ours[buf] or {}) do
    pcall(vim.keymap.del, 'n', lhs, { buffer = buf })
  end
  ours[buf] = nil
end

return M
