-- :checkhealth turnstone
local config = require('turnstone.config')

local M = {}

local function check_neovim()
  if vim.fn.has('nvim-0.11') == 1 then
    vim.health.ok('Neovim ' .. tostring(vim.version()))
  else
    vim.health.error('Neovim is older than 0.11', 'Install Neovim 0.11 or newer.')
  end
end

local function check_config()
  local faults = config.faults(config.user())
  for _, fault in ipairs(faults) do
    vim.health.error('vim.g.turnstone: ' .. fault, 'See :help turnstone-configuration.')
  end
  if #faults == 0 then
    vim.health.ok('the configuration is valid')
  end
  return #faults == 0
end

local function run(arguments)
  local options = config.get()
  local ok, process = pcall(vim.system, arguments, { text = true, env = options.env, timeout = 20000 })
  return ok and process:wait() or { code = -1, stdout = '', stderr = tostring(process) }
end

---The server's command without its last word, `serve`.
local function base_command()
  local command = vim.deepcopy(config.get().cmd)
  if command[#command] == 'serve' then
    command[#command] = nil
  end
  return command
end

local function check_server()
  local command = base_command()
  if vim.fn.executable(command[1]) == 0 then
    vim.health.error(
      ('%s is not executable'):format(command[1]),
      { 'Install it: pip install turnstone-lsp', 'Or set cmd in vim.g.turnstone.' }
    )
    return
  end
  local version = run(vim.list_extend(vim.deepcopy(command), { '--version' }))
  if version.code ~= 0 then
    vim.health.error(
      'the server does not start: ' .. vim.trim(version.stderr),
      'Run it by hand: ' .. table.concat(command, ' ')
    )
    return
  end
  vim.health.ok(vim.trim(version.stdout))
  local doctor = run(vim.list_extend(vim.deepcopy(command), { 'doctor' }))
  local report = doctor.code == 0 and vim.health.info or vim.health.warn
  report(('doctor (code %d):\n%s'):format(doctor.code, vim.trim(doctor.stdout .. doctor.stderr)))
end

local function check_client()
  local client = require('turnstone.client').get()
  if not client then
    vim.health.info('the server does not run; :Turnstone starts it')
    return
  end
  vim.health.ok(('the server runs, root %s, positions in %s'):format(client.root_dir, client.offset_encoding))
end

local function check_options()
  if not vim.o.autoread then
    vim.health.warn("'autoread' is off: files that the agent writes are not read again", 'Set it: :set autoread')
  end
  if vim.lsp.log.get_level() <= vim.log.levels.DEBUG then
    vim.health.warn('the LSP log is at level DEBUG, and grows quickly', "vim.lsp.set_log_level('warn')")
  end
  vim.health.info('log: ' .. vim.lsp.log.get_filename())
  if not vim.o.termguicolors and vim.fn.has('gui_running') == 0 then
    vim.health.info("'termguicolors' is off; highlights use the terminal's colours")
  end
end

local function check_keys()
  for _, pair in ipairs(require('turnstone.keys').defaults) do
    local taken = vim.fn.maparg(pair[1], 'n')
    if taken ~= '' and not taken:match('turnstone') then
      vim.health.warn(
        ('%s is mapped already; reviews will not use it'):format(pair[1]),
        ('Map another key to <Plug>(turnstone-%s).'):format(pair[2])
      )
    end
  end
end

function M.check()
  vim.health.start('turnstone')
  check_neovim()
  if check_config() then
    check_server()
  end
  check_client()
  check_options()
  check_keys()
end

return M
