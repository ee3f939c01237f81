-- `zdx acp-agent` from Neovim's own job API, as its ACP plugins start it: a turn with calls and a permission, a cancel, the end.
-- Started by interop/acp_agent_nvim.py, which names the program (ZDX) and a folder (ROOT).

local zdx, root = vim.env.ZDX, vim.env.ROOT
local frames, rest, over, complaints = {}, "", nil, {}

local function give_up(why)
  io.stderr:write("FAILED  acp_agent (Neovim): " .. why .. "\n" .. table.concat(complaints, "\n") .. "\n")
  vim.cmd("cquit 1")
end

local job = vim.fn.jobstart({ zdx, "acp-agent" }, {
  cwd = root,
  -- A list of lines; the first goes on with what the last call ended with.
  on_stdout = function(_, lines)
    lines[1] = rest .. lines[1]
    rest = table.remove(lines)
    for _, line in ipairs(lines) do
      table.insert(frames, vim.fn.json_decode(line))
    end
  end,
  on_stderr = function(_, lines) vim.list_extend(complaints, lines) end,
  on_exit = function(_, code) over = code end,
})

local function send(frame)
  frame.jsonrpc = "2.0"
  vim.fn.chansend(job, vim.fn.json_encode(frame) .. "\n")
end

local function wait(what, find)
  local found
  vim.wait(30000, function()
    found = find()
    return found ~= nil
  end, 10)
  if found == nil then give_up(what .. " did not come: " .. vim.fn.json_encode(frames)) end
  return found
end

local function frame(of)
  for _, one in ipairs(frames) do
    if of(one) then return one end
  end
end

local function call(id, method, params)
  send({ id = id, method = method, params = params })
  local answer = wait("the answer to " .. method, function()
    return frame(function(one) return one.id == id and one.method == nil end)
  end)
  if answer.error then give_up(method .. ": " .. answer.error.message) end
  return answer.result
end

local function said()
  local text = ""
  for _, one in ipairs(frames) do
    local update = one.method == "session/update" and one.params.update
    if update and update.sessionUpdate == "agent_message_chunk" then text = text .. update.content.text end
  end
  return text
end

local function holds(text, part)
  if not string.find(text, part, 1, true) then give_up(part .. " is not in " .. text) end
end

local hello = call("a text", "initialize", { protocolVersion = 1, clientCapabilities = { fs = { readTextFile = false, writeTextFile = false } } })
holds(hello.agentInfo.name, "zdx")
local session = call(1, "session/new", { cwd = root, mcpServers = {} }).sessionId
local prompt = { { type = "text", text = "change it" } }
send({ id = 2, method = "session/prompt", params = { sessionId = session, prompt = prompt } })
local asked = wait("a permission", function()
  return frame(function(one) return one.method == "session/request_permission" end)
end)
send({ id = asked.id, result = { outcome = { outcome = "selected", optionId = "allow_once" } } })
local ended = wait("the end of the turn", function()
  return frame(function(one) return one.id == 2 and one.method == nil end)
end)
holds(ended.result.stopReason, "end_turn")
holds(said(), "done")
holds(table.concat(vim.fn.readfile(root .. "/new.txt"), "\n"), "changed")

send({ id = 3, method = "session/prompt", params = { sessionId = session, prompt = { { type = "text", text = "Count from 1 to 500" } } } })
wait("the first words", function() return string.find(said(), "1\n", 1, true) end)
send({ method = "session/cancel", params = { sessionId = session } })
local cancelled = wait("the end of the cancelled turn", function()
  return frame(function(one) return one.id == 3 and one.method == nil end)
end)
holds(cancelled.result.stopReason, "cancelled")

vim.fn.chanclose(job, "stdin")
wait("its end", function() return over end)
if over ~= 0 then give_up("it ended with " .. over) end
local version = vim.version()
io.stdout:write(("ok      acp_agent (Neovim %d.%d.%d): a turn, a permission, a cancel\n"):format(version.major, version.minor, version.patch))
vim.cmd("qall!")
