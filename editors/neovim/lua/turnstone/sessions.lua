-- Sessions, model, mode and memories: what :Turnstone session, model, mode and memories do.
local chat = require('turnstone.chat')
local client = require('turnstone.client')
local status = require('turnstone.status')
local util = require('turnstone.util')

local M = {}

---Take over what the server says of the current session.
---@param state table
function M.take(state)
  status.set({ session = state.sessionId, title = state.title, mode = state.mode })
end

local function refresh()
  client.command('state', {}, M.take)
end

local function label(session)
  local when = os.date('%Y-%m-%d %H:%M', math.floor(session.updated))
  local title = session.title ~= '' and session.title or '(no title)'
  return ('%s  %s  %d messages'):format(when, title, session.messages)
end

---Let the user pick a session unless one is named by the beginning of its id.
---@param ident string?
---@param prompt string
---@param work fun(session: table)
local function pick(ident, prompt, work)
  client.command('listSessions', {}, function(sessions)
    if ident and ident ~= '' then
      local found = vim.tbl_filter(function(session)
        return vim.startswith(session.id, ident)
      end, sessions)
      if #found == 1 then
        return work(found[1])
      end
      return util.error(('%d sessions begin with %s; :Turnstone session list shows them'):format(#found, ident))
    elseif #sessions == 0 then
      return util.info('there is no session in this workspace yet')
    end
    vim.ui.select(sessions, { prompt = prompt, format_item = label }, function(session)
      if session then
        work(session)
      end
    end)
  end)
end

---@type table<string, fun(rest: string)>
M.actions = {
  new = function()
    client.command('newSession', {}, function(state)
      chat.clear()
      M.take(state)
    end)
  end,
  list = function()
    client.command('listSessions', {}, function(sessions)
      local lines = {}
      for _, session in ipairs(sessions) do
        lines[#lines + 1] = session.id:sub(1, 12) .. '  ' .. label(session)
      end
      chat.note('sessions of this workspace', #lines > 0 and table.concat(lines, '\n') or 'none yet')
      require('turnstone.window').show()
    end)
  end,
  resume = function(rest)
    pick(rest, 'Resume', function(session)
      client.command('resumeSession', { sessionId = session.id }, function(state)
        chat.clear()
        for number, message in ipairs(util.value(state.conversation) or {}) do
          local show = message.role == 'user' and chat.user or chat.text
          show(state.sessionId .. number, message.text)
        end
        chat.flush()
        M.take(state)
      end)
    end)
  end,
  rename = function(rest)
    if rest == '' then
      return util.error('give the new title: :Turnstone session rename {title}')
    end
    client.command('renameSession', { title = rest }, refresh)
  end,
  fork = function()
    client.command('forkSession', {}, function(state)
      M.take(state)
      chat.note('forked', 'this is a copy from now on')
    end)
  end,
  delete = function(rest)
    pick(rest, 'Delete', function(session)
      local question = ('Delete the session "%s"?'):format(session.title)
      vim.ui.select({ 'Keep it', 'Delete it' }, { prompt = question }, function(choice)
        if choice == 'Delete it' then
          client.command('deleteSession', { sessionId = session.id }, function()
            util.info('deleted')
            refresh()
          end)
        end
      end)
    end)
  end,
  export = function(rest)
    client.command('exportSession', { format = rest == 'json' and 'json' or 'markdown' }, function(text)
      vim.cmd.enew()
      vim.api.nvim_buf_set_lines(0, 0, -1, false, util.lines(text))
      vim.bo.filetype = rest == 'json' and 'json' or 'markdown'
    end)
  end,
}

---@param name string
function M.model(name)
  if name ~= '' then
    return client.command('setModel', { model = name }, function(result)
      status.set({ model = result.model })
      util.info('model: ' .. result.model)
    end)
  end
  client.command('models', {}, function(result)
    status.set({ model = result.model })
    vim.ui.select(result.models, {
      prompt = 'Model (now ' .. result.model .. ')',
    }, function(choice)
      if choice then
        M.model(choice)
      end
    end)
  end)
end

M.modes = { 'ask', 'auto', 'edit', 'plan' }

---@param name string
function M.mode(name)
  if name == '' then
    return client.command('state', {}, function(state)
      M.take(state)
      util.info('mode: ' .. (state.mode or 'ask'))
    end)
  end
  client.command('setMode', { mode = name }, M.take)
end

---@param rest string "", "set KEY VALUE" or "delete KEY"
function M.memories(rest)
  local action, key, value = rest:match('^(%S*)%s*(%S*)%s*(.*)$')
  local arguments = {}
  if action == 'set' then
    arguments = { action = 'set', key = key, value = value }
  elseif action == 'delete' then
    arguments = { action = 'delete', key = key }
  elseif action ~= '' and action ~= 'list' then
    return util.error(('memories takes list, set or delete, not %s'):format(action))
  end
  client.command('memories', arguments, function(memories)
    local lines = {}
    for _, memory in ipairs(memories) do
      lines[#lines + 1] = ('%s = %s'):format(memory.key, memory.value)
    end
    chat.note('memories', #lines > 0 and table.concat(lines, '\n') or 'none yet')
    require('turnstone.window').show()
  end)
end

return M
