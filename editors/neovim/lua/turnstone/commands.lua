-- :Turnstone: the words it knows, what they complete to, and what they do.
local util = require('turnstone.util')

local M = {}

---Send a prompt. @selection and @diagnostics are sent with the context; other words stand as they are.
---@param text string
---@param about { buf: integer, range: table? }?
---@return boolean
function M.send(text, about)
  local context = require('turnstone.context')
  local buf = about and about.buf or context.last
  local arguments = { text = text }
  if buf and vim.api.nvim_buf_is_valid(buf) and context.is_file(buf) then
    arguments.context = context.describe(buf, about and about.range)
  end
  require('turnstone.client').command('ask', arguments, function(result)
    require('turnstone.status').set({ session = result.sessionId })
  end)
  return true
end

local function client(name)
  return function()
    require('turnstone.client').command(name)
  end
end

local function said(name)
  return function(rest)
    require('turnstone.client').command(name, rest ~= '' and { turnId = rest } or {}, function(text)
      util.info(text or 'done')
      vim.cmd('silent! checktime')
    end)
  end
end

---@param verb 'accept'|'reject'
local function decide(verb)
  return function(rest, call)
    local review, navigate = require('turnstone.review'), require('turnstone.navigate')
    local scope, words = rest:match('^(%S*)%s*(.*)$')
    if scope == 'all' or call.bang then
      local feedback = call.bang and rest or words
      local files = review.files()
      if #files == 0 then
        return util.info('nothing is under review')
      end
      for _, file in ipairs(files) do
        if verb == 'accept' then
          review.accept_file(file)
        else
          review.reject_file(file, feedback ~= '' and feedback or nil)
        end
      end
      return
    end
    local file = review.file_of()
    if verb == 'accept' and file and file.proposal == vim.api.nvim_get_current_buf() then
      return navigate.accept_proposal(file)
    end
    if scope == 'file' then
      if not file then
        return util.warn('this buffer is not under review; :Turnstone next goes to one that is')
      elseif verb == 'accept' then
        return review.accept_file(file)
      end
      return review.reject_file(file, words ~= '' and words or nil)
    end
    local hunk
    file, hunk = navigate.at_cursor()
    if not file then
      return
    elseif not hunk then
      return verb == 'accept' and review.accept_file(file) or review.reject_file(file)
    elseif verb == 'reject' then
      hunk.decision = 'rejected'
      file.feedback = rest ~= '' and rest or file.feedback
      return review.after_decision(file)
    elseif hunk.conflict then
      return util.error('you have edited these lines; undo that, or reject the hunk')
    end
    review.accept(file, { hunk })
  end
end

---@class turnstone.Subcommand
---@field run fun(rest: string, call: table)
---@field about string
---@field words (string[]|fun(): string[])?

local function navigate(step)
  return function()
    require('turnstone.navigate').go(step)
  end
end

local SCOPES = { once = 'y', session = 's', workspace = 'w', user = 'u' }

---@type table<string, turnstone.Subcommand>
M.known = {
  toggle = {
    about = 'show or hide the chat',
    run = function()
      require('turnstone.window').toggle()
      require('turnstone.client').start()
    end,
  },
  send = {
    about = 'ask; with a range, about those lines',
    run = function(rest, call)
      local buf = vim.api.nvim_get_current_buf()
      local range = call.range > 0 and require('turnstone.context').range(buf, call.line1, call.line2) or nil
      local function go(text)
        if text and vim.trim(text) ~= '' then
          M.send(text, require('turnstone.context').is_file(buf) and { buf = buf, range = range } or nil)
          require('turnstone.window').show()
        end
      end
      if rest == '' then
        vim.ui.input({ prompt = 'Ask: ' }, go)
      else
        go(rest)
      end
    end,
  },
  stop = { about = 'stop the running turn', run = client('stop') },
  accept = { about = 'accept the hunk at the cursor; file; all', run = decide('accept'), words = { 'all', 'file' } },
  reject = { about = 'reject the hunk at the cursor; file; all', run = decide('reject'), words = { 'all', 'file' } },
  next = { about = 'go to the next hunk under review', run = navigate(1) },
  prev = { about = 'go to the previous hunk under review', run = navigate(-1) },
  diff = {
    about = 'the proposal side by side, to be edited',
    run = function()
      require('turnstone.navigate').diff()
    end,
  },
  review = {
    about = 'list the hunks under review',
    run = function()
      require('turnstone.navigate').list()
    end,
  },
  approve = {
    about = 'allow what is asked: once, session, workspace, user',
    words = { 'once', 'session', 'user', 'workspace' },
    run = function(rest)
      local key = SCOPES[rest == '' and 'once' or rest]
      if not key then
        return util.error(('approve takes once, session, workspace or user, not %s'):format(rest))
      end
      require('turnstone.approvals').answer(key)
    end,
  },
  deny = {
    about = 'deny what is asked, with words for the model',
    run = function(rest)
      require('turnstone.approvals').deny(rest)
    end,
  },
  pending = {
    about = 'go to the open question, or to the review',
    run = function()
      if not require('turnstone.approvals').focus() then
        require('turnstone.navigate').go(1)
      end
    end,
  },
  undo = { about = 'take back what the last turn wrote', run = said('undoTurn') },
  redo = { about = 'do it again', run = said('redoTurn') },
  session = {
    about = 'new, list, resume, rename, fork, delete, export',
    words = { 'delete', 'export', 'fork', 'list', 'new', 'rename', 'resume' },
    run = function(rest)
      local action, words = rest:match('^(%S*)%s*(.*)$')
      local actions = require('turnstone.sessions').actions
      local run = actions[action == '' and 'list' or action]
      if not run then
        return util.error(('no session command %s%s'):format(action, util.nearest_hint(action, vim.tbl_keys(actions))))
      end
      run(words)
    end,
  },
  model = {
    about = 'choose the model',
    run = function(rest)
      require('turnstone.sessions').model(rest)
    end,
  },
  mode = {
    about = 'ask, edit, plan or auto',
    words = { 'ask', 'auto', 'edit', 'plan' },
    run = function(rest)
      require('turnstone.sessions').mode(rest)
    end,
  },
  memories = {
    about = 'list; set {key} {value}; delete {key}',
    words = { 'delete', 'list', 'set' },
    run = function(rest)
      require('turnstone.sessions').memories(rest)
    end,
  },
  context = {
    about = 'what the agent is told of where you are',
    run = function()
      local context = require('turnstone.context')
      local buf = context.is_file(0) and vim.api.nvim_get_current_buf() or context.last
      if not buf then
        return util.info('no file')
      end
      require('turnstone.chat').note('context', vim.inspect(context.describe(buf)))
      require('turnstone.window').show()
    end,
  },
  log = {
    about = 'open the log of the server',
    run = function()
      vim.cmd.tabedit(vim.fn.fnameescape(vim.lsp.log.get_filename()))
      vim.cmd('normal! G')
    end,
  },
  doctor = {
    about = "run the server's own checks, and :checkhealth",
    run = function()
      vim.cmd('checkhealth turnstone')
    end,
  },
  restart = {
    about = 'start the server again',
    run = function()
      local link = require('turnstone.client')
      link.stop(function()
        link.start(function()
          util.info('the server runs')
        end)
      end)
    end,
  },
  trust = { about = 'trust this workspace', run = client('trust') },
}

---@return string[]
function M.names()
  local names = vim.tbl_keys(M.known)
  table.sort(names)
  return names
end

---@param call table of nvim_create_user_command
function M.run(call)
  local name, rest = call.args:match('^(%S*)%s*(.*)$')
  if name == '' then
    name = call.range > 0 and 'send' or 'toggle'
  end
  local known = M.known[name]
  if not known then
    return util.error(('there is no :Turnstone %s%s'):format(name, util.nearest_hint(name, M.names())))
  end
  known.run(vim.trim(rest), call)
end

---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local words = vim.split(line:sub(1, position):gsub('^.-Turnstone!?%s*', ''), '%s+')
  local choices = {}
  if #words <= 1 then
    choices = M.names()
  elseif #words == 2 then
    local known = M.known[words[1]]
    choices = known and known.words or {}
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, choices --[[@as string[] ]])
end

return M
