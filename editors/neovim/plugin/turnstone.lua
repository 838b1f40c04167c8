-- Defines the command and the mappings. Loads nothing: everything is required when it is first used.
if vim.g.loaded_turnstone then
  return
end
vim.g.loaded_turnstone = true

vim.api.nvim_create_user_command('Turnstone', function(call)
  require('turnstone.commands').run(call)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'turnstone: the agent, its reviews and its questions',
  complete = function(lead, line, position)
    return require('turnstone.commands').complete(lead, line, position)
  end,
})

for name, words in pairs({
  ['toggle'] = 'toggle',
  ['stop'] = 'stop',
  ['accept-hunk'] = 'accept',
  ['reject-hunk'] = 'reject',
  ['accept-file'] = 'accept file',
  ['reject-file'] = 'reject file',
  ['accept-all'] = 'accept all',
  ['reject-all'] = 'reject all',
  ['next-hunk'] = 'next',
  ['prev-hunk'] = 'prev',
  ['diff'] = 'diff',
  ['review'] = 'review',
  ['approvals'] = 'pending',
  ['undo-turn'] = 'undo',
  ['redo-turn'] = 'redo',
}) do
  vim.keymap.set('n', '<Plug>(turnstone-' .. name .. ')', '<Cmd>Turnstone ' .. words .. '<CR>')
end
vim.keymap.set('x', '<Plug>(turnstone-send)', ':Turnstone send<CR>')
vim.keymap.set('n', '<Plug>(turnstone-send)', '<Cmd>Turnstone send<CR>')
