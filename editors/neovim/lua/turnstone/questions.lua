-- The server's questions as entries of the queue. The first choice is always the harmless one; "always" is never first.
local approvals = require('turnstone.approvals')
local util = require('turnstone.util')

local M = {}

---Ask for words; leaving the question without any takes the choice back.
---@param prompt string
---@param make fun(text: string): table
---@return fun(done: fun(answer: any))
local function with_words(prompt, make)
  return function(done)
    vim.ui.input({ prompt = prompt }, function(text)
      done(text and vim.trim(text) ~= '' and make(vim.trim(text)) or nil)
    end)
  end
end

local function lines_of(text, reasons, notes)
  local lines = {}
  for _, reason in ipairs(util.value(reasons) or {}) do
    lines[#lines + 1] = '! ' .. reason
  end
  vim.list_extend(lines, util.lines((text or ''):gsub('\n$', '') .. ''))
  for _, note in ipairs(util.value(notes) or {}) do
    lines[#lines + 1] = '· ' .. note
  end
  return lines
end

local YES = { tool = 'allow once', continue = 'go on', trust = 'trust it' }
local NO = { tool = 'deny', continue = 'stop', trust = 'do not trust it' }
local KEYS = { session = 's', workspace = 'w', user = 'u' }
local WHERE = { session = 'in this session', workspace = 'in this workspace', user = 'everywhere' }

---turnstone/requestApproval
function M.approval(params, reply)
  local item = util.value(params.item) or {}
  local choices = { { key = 'n', label = NO[params.kind] or 'no', answer = { decision = 'deny' } } }
  if params.kind == 'tool' then
    choices[2] = {
      key = 'f',
      label = 'deny, and say why',
      answer = with_words('Why not? ', function(text)
        return { decision = 'deny', feedback = text }
      end),
    }
  end
  choices[#choices + 1] =
    { key = 'y', label = YES[params.kind] or 'yes', answer = { decision = 'allow', scope = 'once' } }
  for _, scope in ipairs(util.value(item.always) and params.scopes or {}) do
    if KEYS[scope] then
      choices[#choices + 1] = {
        key = KEYS[scope],
        label = ('always %s: %s'):format(WHERE[scope], item.always),
        answer = { decision = 'allow', scope = scope },
      }
    end
  end
  approvals.add({
    id = params.promptId,
    title = params.title,
    lines = lines_of(params.text, item.reasons, item.notes),
    choices = choices,
    reply = reply,
  })
end

---turnstone/reviewPlan
function M.plan(params, reply)
  approvals.add({
    id = params.promptId,
    title = 'Plan ' .. vim.fs.basename(vim.uri_to_fname(params.uri)),
    lines = lines_of(params.text),
    choices = {
      { key = 'n', label = 'reject', answer = { decision = 'reject' } },
      {
        key = 'f',
        label = 'reject, and say why',
        answer = with_words('Why not? ', function(text)
          return { decision = 'reject', feedback = text }
        end),
      },
      {
        key = 'c',
        label = 'comment, for another draft',
        answer = with_words('Comment: ', function(text)
          return { decision = 'annotate', feedback = text }
        end),
      },
      { key = 'y', label = 'accept', answer = { decision = 'accept' } },
    },
    reply = reply,
  })
end

local count = 0
local LETTERS = 'abcdefghijklmoprstuvwxyz'

---window/showMessageRequest: Neovim's own way would take a digit that the user is typing for an answer.
function M.message(params, reply)
  count = count + 1
  local choices = { { key = 'n', label = 'close without an answer', answer = vim.NIL } }
  for i, action in ipairs(util.value(params.actions) or {}) do
    choices[#choices + 1] = { key = LETTERS:sub(i, i), label = action.title, answer = action }
  end
  approvals.add({
    id = 'message-' .. count,
    title = 'turnstone',
    lines = lines_of(params.message),
    choices = choices,
    reply = reply,
  })
end

return M
