-- The event stream: in order, missed events asked for, each given to whoever shows it.
local chat = require('turnstone.chat')
local status = require('turnstone.status')
local util = require('turnstone.util')

local M = {}

local seq = 0
---Updates that came while missed events are asked for.
---@type table[]?
local held

function M.reset()
  seq, held = 0, nil
  chat.interrupted()
end

local function state_changed(event)
  status.set({ state = event.state })
  if event.state == 'idle' then
    chat.turn_ended(event)
    pcall(vim.cmd.checktime)
    util.emit('TurnstoneTurnEnd', { stopReason = event.stopReason, message = event.message })
  end
end

local shown = {
  stateChanged = state_changed,
  userMessage = function(event)
    chat.user(event.messageId, event.text)
  end,
  textDelta = function(event)
    chat.text(event.messageId, event.text)
  end,
  reasoningDelta = function(event)
    chat.reasoning(event.messageId, event.text)
  end,
  messageDone = function(event)
    chat.done(event)
  end,
  toolCallUpdate = function(event)
    chat.tool(event)
  end,
  toolOutput = function(event)
    chat.tool_output(event.callId, event.text)
  end,
  usage = function(event)
    status.set({
      tokens = event.promptTokens,
      session_tokens = event.sessionTokens,
      context_window = event.contextWindow,
    })
  end,
  notice = function(event)
    chat.notice(event.text, event.level)
  end,
}

local function take(events)
  for _, event in ipairs(events) do
    if event.seq > seq then
      seq = event.seq
      local current = status.get().session
      if current == '' then
        status.set({ session = event.sessionId })
      end
      local show = shown[event.type]
      -- what runs in another session is not shown in this one's chat
      if show and (current == '' or event.sessionId == current) then
        show(event)
      end
    end
  end
  chat.flush()
end

local function resync()
  held = {}
  require('turnstone.client').command('state', { since = seq }, function(state)
    local waiting = held or {}
    held = nil
    take(state.events or {})
    for _, events in ipairs(waiting) do
      take(events)
    end
  end, function()
    held = nil
  end)
end

---turnstone/update
---@param params table
function M.update(params)
  if held then
    held[#held + 1] = params.events
    return
  end
  local first = params.events[1]
  if first and first.seq > seq + 1 and seq > 0 then
    held = {}
    resync()
    held[#held + 1] = params.events
    return
  end
  take(params.events)
  util.emit('TurnstoneUpdate', { events = #params.events })
end

return M
