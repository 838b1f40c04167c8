-- Hunks of the server in the rows of a buffer, and where they go while the user types. No windows, no marks.
local buffers = require('turnstone.buffers')

local M = {}

local function split(text, ending)
  if text == '' then
    return {}
  end
  return (buffers.split(text, ending))
end

---The lines that a text has in a buffer; none for an empty text.
M.lines = split

---The hunks of a file in rows of its base.
---@param wire turnstone.WireFile
---@param ending string
---@return turnstone.Hunk[]
function M.of(wire, ending)
  local found = {}
  local lone = ending ~= '\r' and wire.baseText:find('\r[^\n]') or wire.baseText:find('\r$')
  if lone or (ending == '\r' and wire.baseText:find('\n')) then
    -- Neovim and the protocol do not agree on where lines end: the whole change is one hunk
    local before, after = split(wire.baseText, ending), split(wire.newText, ending)
    local all = {}
    for number in ipairs(wire.hunks) do
      all[number] = number - 1
    end
    return { { indexes = all, base_row = 0, row = 0, stop = #before, old = before, new = after, conflict = false } }
  end
  for number, hunk in ipairs(wire.hunks) do
    local old, new = table.concat(hunk.old), table.concat(hunk.new)
    found[#found + 1] = {
      indexes = { number - 1 },
      base_row = hunk.start,
      row = hunk.start,
      stop = hunk['end'],
      old = split(old, ending),
      new = split(new, ending),
      conflict = false,
    }
  end
  if wire.baseText == '' and found[1] then
    found[1].old, found[1].stop = { '' }, 1 -- a buffer has a line even when its text is empty
  end
  return found
end

---Whether the rows of a hunk hold what they should: its old lines, or its new ones once it is accepted.
---@param hunk turnstone.Hunk
---@param lines string[] the buffer's lines in [row, stop)
local function holds(lines, wanted)
  return vim.deep_equal(lines, wanted)
end

---Find the hunk's rows again in a text that has moved on, through the lines that did not change.
---@param hunk turnstone.Hunk
---@param ranges integer[][] what differs between the base and the buffer
local function relocate(hunk, ranges)
  local shift = 0
  for _, range in ipairs(ranges) do
    local from, count = range[1], range[2]
    if from + count <= hunk.base_row and not (count == 0 and from == hunk.base_row and #hunk.old == 0) then
      shift = shift + range[4] - count
    elseif from < hunk.base_row + #hunk.old or (#hunk.old == 0 and from < hunk.base_row) then
      hunk.row = range[3]
      hunk.stop = range[3] + range[4]
      hunk.conflict = true
      return
    end
  end
  hunk.row = hunk.base_row + shift
  hunk.stop = hunk.row + #hunk.old
  hunk.conflict = false
end

---Put undecided hunks where the buffer's text has them now.
---@param hunks turnstone.Hunk[]
---@param base string[]
---@param lines string[]
function M.relocate(hunks, base, lines)
  if #base == 0 then
    base = { '' }
  end
  local ranges = buffers.ranges(base, lines)
  for _, hunk in ipairs(hunks) do
    if hunk.decision ~= 'accepted' then
      relocate(hunk, ranges)
    end
  end
end

---Follow one change of a buffer: lines [first, before) became [first, after).
---@param hunk turnstone.Hunk
---@param first integer
---@param before integer
---@param after integer
---@param lines fun(row: integer, stop: integer): string[]
function M.follow(hunk, first, before, after, lines)
  local delta = after - before
  local empty = hunk.row == hunk.stop
  if before <= hunk.row and not (empty and first == hunk.row and before == hunk.row) then
    hunk.row, hunk.stop = hunk.row + delta, hunk.stop + delta
    if delta == 0 or before < hunk.row - delta or first == before then
      return
    end
  elseif first >= hunk.stop and not (empty and first == hunk.row and before > first) then
    return
  elseif empty then
    if first < hunk.row then
      hunk.row, hunk.stop, hunk.conflict = first, after, true
    end
    return
  else
    local wanted = hunk.decision == 'accepted' and hunk.new or hunk.old
    hunk.row = math.min(hunk.row, first)
    hunk.stop = math.max(hunk.stop, before) + delta
    local now = lines(hunk.row, hunk.stop)
    for at = 0, #now - #wanted do
      if holds(vim.list_slice(now, at + 1, at + #wanted), wanted) then
        hunk.row = hunk.row + at
        hunk.stop = hunk.row + #wanted
        break
      end
    end
  end
  M.judge(hunk, lines)
end

---Decide by its content whether a hunk was edited, or whether its acceptance was undone.
---@param hunk turnstone.Hunk
---@param lines fun(row: integer, stop: integer): string[]
function M.judge(hunk, lines)
  local now = lines(hunk.row, hunk.stop)
  if hunk.decision == 'accepted' then
    if holds(now, hunk.old) and not holds(hunk.old, hunk.new) then
      hunk.decision = nil
    end
    hunk.conflict = false
  else
    hunk.conflict = not holds(now, hunk.old)
  end
end

---Bytes that two lines share at their beginning and end, whole characters.
---@param old string
---@param new string
---@return integer head, integer tail
function M.shared(old, new)
  local most = math.min(#old, #new)
  local head = 0
  while head < most and old:byte(head + 1) == new:byte(head + 1) do
    head = head + 1
  end
  while head > 0 and head < #old and vim.str_utf_start(old, head + 1) ~= 0 do
    head = head - 1
  end
  local tail = 0
  while tail < most - head and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  while tail > 0 and vim.str_utf_start(old, #old - tail + 1) ~= 0 do
    tail = tail - 1
  end
  return head, tail
end

return M
