-- Highlight groups: links that a colour scheme or the user may override.
local M = {}

---@type table<string, string>
M.links = {
  TurnstoneDiffAdd = 'DiffAdd',
  TurnstoneDiffDelete = 'DiffDelete',
  TurnstoneDiffTextAdd = 'DiffText',
  TurnstoneDiffTextDelete = 'DiffText',
  TurnstoneConflict = 'DiagnosticVirtualTextWarn',
  TurnstoneHint = 'Comment',
  TurnstoneSignAdd = 'Added',
  TurnstoneSignDelete = 'Removed',
  TurnstoneSignConflict = 'DiagnosticSignWarn',
  TurnstoneChatUser = 'Title',
  TurnstoneChatAssistant = 'Identifier',
  TurnstoneChatTool = 'Function',
  TurnstoneChatOutput = 'Comment',
  TurnstoneChatThinking = 'NonText',
  TurnstoneChatError = 'DiagnosticError',
  TurnstoneChatNotice = 'DiagnosticInfo',
  TurnstoneApprovalTitle = 'Title',
  TurnstoneApprovalRisk = 'DiagnosticWarn',
  TurnstoneApprovalKey = 'Special',
}

function M.define()
  local function set()
    for name, link in pairs(M.links) do
      vim.api.nvim_set_hl(0, name, { link = link, default = true })
    end
  end
  set()
  vim.api.nvim_create_autocmd('ColorScheme', {
    group = vim.api.nvim_create_augroup('turnstone.highlight', { clear = true }),
    callback = set,
  })
end

return M
