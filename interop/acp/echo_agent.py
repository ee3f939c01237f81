"""An agent without a model, made with the protocol's Python SDK: a peer of zdx that somebody else wrote the wire of.

It says back what it is told. `work` does everything that a client serves: reads a.txt, asks whether it may, writes b.txt, runs a
program. `count` goes on until it is called off.
"""

import asyncio
import pathlib
import uuid

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    plan_entry,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)
from acp.schema import (
    Implementation,
    PermissionOption,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
    ToolCallLocation,
    ToolCallUpdate,
)


class Echo:
    def __init__(self):
        self.sessions, self.cancelled = {}, {}

    def on_connect(self, client):
        self.client = client

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **_):
        return InitializeResponse(protocol_version=PROTOCOL_VERSION, agent_info=Implementation(name="echo", version="1.0"))

    async def new_session(self, cwd, mcp_servers=None, **_):
        session = uuid.uuid4().hex
        self.sessions[session] = pathlib.Path(cwd)
        modes = [SessionMode(id="loud", name="Loud"), SessionMode(id="quiet", name="Quiet")]
        return NewSessionResponse(session_id=session, modes=SessionModeState(current_mode_id="quiet", available_modes=modes))

    def cwd(self, session):
        if session not in self.sessions:
            raise RequestError.resource_not_found(session)
        return self.sessions[session]

    async def set_session_mode(self, session_id, mode_id, **_):
        self.cwd(session_id)
        if mode_id not in ("loud", "quiet"):
            raise RequestError.invalid_params({"modeId": mode_id})
        return SetSessionModeResponse()

    async def cancel(self, session_id, **_):
        if session_id in self.cancelled:
            self.cancelled[session_id].set()

    async def prompt(self, session_id, prompt, **_):
        cwd = self.cwd(session_id)
        cancelled = self.cancelled[session_id] = asyncio.Event()
        words = " ".join(getattr(block, "text", None) or getattr(block, "uri", "") for block in prompt)
        if words.startswith("work"):
            await self.work(session_id, cwd)
        elif words.lower().startswith("count"):
            await self.say(session_id, "1\n")
            await cancelled.wait()
            return PromptResponse(stop_reason="cancelled")
        else:
            await self.say(session_id, f"echo: {words}")
        return PromptResponse(stop_reason="end_turn")

    async def say(self, session, text):
        await self.client.session_update(session, update_agent_message_text(text))

    async def work(self, session, cwd):
        tell = self.client.session_update
        await tell(session, update_agent_thought_text("what is there?"))
        await tell(session, update_plan([plan_entry("read"), plan_entry("write")]))
        source, target = str(cwd / "a.txt"), str(cwd / "b.txt")
        read = await self.client.read_text_file(session_id=session, path=source)
        at = [ToolCallLocation(path=target)]
        await tell(session, start_tool_call("c1", "Write b.txt", kind="edit", status="pending", locations=at))
        options = [
            PermissionOption(option_id="n", name="No", kind="reject_once"),
            PermissionOption(option_id="y", name="Yes", kind="allow_once"),
        ]
        call = ToolCallUpdate(tool_call_id="c1", title="Write b.txt", kind="edit", locations=at)
        answer = await self.client.request_permission(session_id=session, tool_call=call, options=options)
        if getattr(answer.outcome, "option_id", None) != "y":
            await tell(session, update_tool_call("c1", status="failed"))
            return await self.say(session, "not allowed")
        new = read.content.upper()
        await self.client.write_text_file(session_id=session, path=target, content=new)
        await tell(session, update_tool_call("c1", status="completed", content=[tool_diff_content(target, new)]))
        made = await self.client.create_terminal(session_id=session, command="cat", args=["b.txt"], cwd=str(cwd))
        ended = await self.client.wait_for_terminal_exit(session_id=session, terminal_id=made.terminal_id)
        shown = await self.client.terminal_output(session_id=session, terminal_id=made.terminal_id)
        await self.client.release_terminal(session_id=session, terminal_id=made.terminal_id)
        await tell(session, start_tool_call("c2", "cat b.txt", kind="execute", status="completed", content=[tool_content(text_block(shown.output))]))
        await self.say(session, f"it exits with {ended.exit_code} and says {shown.output}")


if __name__ == "__main__":
    asyncio.run(run_agent(Echo()))
