-- The connection: starting the server, attaching buffers, handlers, commands.
local config = require('turnstone.config')
local util = require('turnstone.util')

local M = {}

---@type integer?
local id
local group = vim.api.nvim_create_augroup('turnstone.client', { clear = true })
---@type fun(client: vim.lsp.Client)[]
local waiting = {}

---@return vim.lsp.Client?
function M.get()
  local client = id and vim.lsp.get_client_by_id(id)
  if client and not client:is_stopped() then
    return client
  end
end

---The workspace: the folder that holds a marker, above the current file or the working directory.
---@return string
function M.root()
  local start = vim.bo.buftype == '' and vim.api.nvim_buf_get_name(0) ~= '' and 0 or vim.fn.getcwd()
  return vim.fs.root(start, config.get().root_markers) or vim.fn.getcwd()
end

---Answer a request later: Neovim runs a handler as a coroutine that may wait.
---@param ask fun(reply: fun(result: any))
---@return any
local function later(ask)
  local co = coroutine.running()
  local answered, result = false, nil
  ask(function(value)
    if answered then
      return
    end
    answered, result = true, value
    if co and coroutine.status(co) == 'suspended' then
      vim.schedule(function()
        coroutine.resume(co, value)
      end)
    end
  end)
  if not answered then
    result = coroutine.yield()
  end
  return result == nil and vim.NIL or result
end

local function asking(begin)
  return function(_, params, ctx)
    if ctx.client_id ~= id then
      return vim.NIL
    end
    return later(function(reply)
      begin(params, reply)
    end)
  end
end

---@return table<string, function>
local function handlers()
  return {
    ['turnstone/update'] = function(_, params)
      require('turnstone.events').update(params)
    end,
    ['turnstone/resolved'] = function(_, params)
      require('turnstone.approvals').withdraw(params.promptId)
      require('turnstone.review').withdraw(params.promptId)
    end,
    ['turnstone/requestApproval'] = asking(function(params, reply)
      require('turnstone.questions').approval(params, reply)
    end),
    ['turnstone/reviewPlan'] = asking(function(params, reply)
      require('turnstone.questions').plan(params, reply)
    end),
    ['window/showMessageRequest'] = asking(function(params, reply)
      require('turnstone.questions').message(params, reply)
    end),
    ['turnstone/reviewEdits'] = asking(function(params, reply)
      require('turnstone.review').open(params, reply)
    end),
    ['turnstone/saveDocument'] = function(_, params)
      local buffers = require('turnstone.buffers')
      local buf = buffers.find(vim.uri_to_fname(params.uri))
      local problem = buf and buffers.save(buf) or (not buf and 'it is not open') or nil
      if problem then
        util.warn(('%s was not saved: %s'):format(vim.uri_to_fname(params.uri), problem))
      end
      return { saved = problem == nil }
    end,
    ['turnstone/applyEdit'] = function(_, params)
      return require('turnstone.buffers').apply(params)
    end,
  }
end

local function capabilities()
  local own = vim.lsp.protocol.make_client_capabilities()
  own.experimental = { turnstone = { version = 1, updates = true, approvals = true, reviews = true } }
  return own
end

---@param buf integer
local function attach(buf)
  local client = M.get()
  if
    client
    and vim.api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ''
    and vim.api.nvim_buf_get_name(buf) ~= ''
    and not vim.api.nvim_buf_get_name(buf):match('^%a[%w+.-]+://')
    and not vim.lsp.buf_is_attached(buf, client.id)
  then
    vim.lsp.buf_attach_client(buf, client.id)
  end
end

local function watch_buffers()
  vim.api.nvim_clear_autocmds({ group = group })
  -- `:edit!` detaches a client that was started by hand for good
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufWritePost', 'BufFilePost' }, {
    group = group,
    callback = function(event)
      attach(event.buf)
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(event.buf) then
          attach(event.buf)
        end
      end)
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    attach(buf)
  end
end

local function ready(client)
  watch_buffers()
  require('turnstone.context').watch()
  require('turnstone.status').set({ connection = 'ready' })
  local callbacks = waiting
  waiting = {}
  for _, callback in ipairs(callbacks) do
    callback(client)
  end
end

local function exited(code, signal, client_id)
  vim.schedule(function()
    if client_id ~= id then
      return
    end
    id, waiting = nil, {}
    require('turnstone.approvals').clear()
    require('turnstone.review').detach()
    require('turnstone.events').reset()
    require('turnstone.status').set({ connection = 'stopped', state = 'idle', session = '' })
    if code ~= 0 or signal ~= 0 then
      util.error(
        ('the server ended (code %d, signal %d); :Turnstone log shows why, :Turnstone restart starts it again'):format(
          code,
          signal
        )
      )
    end
  end)
end

---Start the server unless it runs, and call back when it is ready.
---@param callback fun(client: vim.lsp.Client)?
function M.start(callback)
  local client = M.get()
  if client and client.initialized then
    if callback then
      callback(client)
    end
    return
  end
  waiting[#waiting + 1] = callback
  if client then
    return
  end
  local options, root = config.get(), M.root()
  if vim.fn.executable(options.cmd[1]) == 0 then
    waiting = {}
    util.error(('%s is not executable; install turnstone-lsp or set cmd in vim.g.turnstone'):format(options.cmd[1]))
    return
  end
  local trusted = options.trusted
  if type(trusted) == 'function' then
    trusted = trusted(root)
  end
  require('turnstone.highlight').define()
  require('turnstone.status').set({ connection = 'starting' })
  id = vim.lsp.start({
    name = 'turnstone',
    cmd = options.cmd,
    cmd_env = options.env,
    root_dir = root,
    capabilities = capabilities(),
    init_options = vim.tbl_extend('force', options.init_options, { trusted = trusted }),
    handlers = handlers(),
    on_init = ready,
    on_exit = exited,
    reuse_client = function()
      return false
    end,
  }, { attach = false, silent = true })
  if not id then
    waiting = {}
    util.error('the server could not be started; see :Turnstone log')
  end
end

---Stop the server; `callback` when it is gone.
---@param callback fun()?
function M.stop(callback)
  local client = M.get()
  if not client then
    return callback and callback()
  end
  client:stop()
  local tries = 0
  local function look()
    tries = tries + 1
    if client:is_stopped() and not id then
      return callback and callback()
    elseif tries == 60 then
      client:stop(true)
    end
    vim.defer_fn(look, 50)
  end
  look()
end

---Run a command of the server. Errors are shown; `callback` gets the result.
---@param name string without "turnstone."
---@param arguments table?
---@param callback fun(result: any)?
---@param failed fun(message: string)?
function M.command(name, arguments, callback, failed)
  M.start(function(client)
    local object = next(arguments or {}) and arguments or vim.empty_dict()
    client:request(
      'workspace/executeCommand',
      { command = 'turnstone.' .. name, arguments = { object } },
      function(err, result)
        if err then
          (failed or util.error)(err.message)
        elseif callback then
          callback(util.value(result))
        end
      end
    )
  end)
end

---@param method string
---@param params table
function M.notify(method, params)
  local client = M.get()
  if client and client.initialized then
    client:notify(method, params)
  end
end

return M
