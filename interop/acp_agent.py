"""zdx acp-agent, driven by the client of the Python SDK, whose types refuse what is not as the protocol has it.

The model is the one of mcp_servers.py's kind: a small HTTP server in here; zdx is the real binary.
Usage: acp_agent.py PATH_OF_ZDX
"""

import asyncio
import http.server
import json
import logging
import os
import pathlib
import sys
import tempfile
import threading
import traceback

import acp
from acp import schema

ZDX = str(pathlib.Path(sys.argv[1]).resolve())
TIMEOUT = 60
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"\n  got    {got!r}\n  wanted {wanted!r}")


class Model:
    """Answers with what it is given, one an answer: a text, a pair for a call, or a reason in a list to end for. A text that ends with … never ends."""

    def __init__(self, answers):
        self.answers, self.requests = list(answers), []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                data = json.dumps({"data": [{"id": "m", "max_model_len": 200000}]}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                outer.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                answer = outer.answers.pop(0) if outer.answers else "done"
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                if isinstance(answer, str):
                    delta, finish = {"content": answer}, "stop"
                elif isinstance(answer, list):
                    delta, finish = {"content": "well"}, answer[0]
                else:
                    name, given = answer
                    function = {"name": name, "arguments": json.dumps(given)}
                    call = {"index": 0, "id": f"c{len(outer.requests)}", "type": "function", "function": function}
                    delta, finish = {"tool_calls": [call]}, "tool_calls"
                self.say({"delta": {"role": "assistant", **delta}})
                if isinstance(answer, str) and answer.endswith("…"):
                    # Until the other side has had enough.
                    self.rfile.read(1)
                    return
                self.say({"delta": {}, "finish_reason": finish})
                self.wfile.write(b"data: [DONE]\n\n")

            def say(self, choice):
                self.wfile.write(f"data: {json.dumps({'id': 'x', 'choices': [{'index': 0, **choice}]})}\n\n".encode())
                self.wfile.flush()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


class Editor(acp.Client):
    """A client with open files, and a person who always answers the same."""

    def __init__(self, choice="allow_once", buffers=None):
        self.choice, self.buffers, self.updates, self.asked = choice, buffers or {}, [], []

    async def session_update(self, session_id, update, **_):
        self.updates.append((session_id, update))

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call, options))
        chosen = [option for option in options if option.kind == self.choice]
        if not chosen:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, session_id, path, line=None, limit=None, **_):
        if path not in self.buffers:
            raise acp.RequestError.resource_not_found(path)
        return schema.ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(self, session_id, path, content, **_):
        self.buffers[path] = content
        pathlib.Path(path).write_text(content)
        return schema.WriteTextFileResponse()

    def of(self, session, kind):
        return [update for at, update in self.updates if at == session and isinstance(update, kind)]

    def said(self, session):
        return "".join(update.content.text for update in self.of(session, schema.AgentMessageChunk))


class Place:
    """A home and a folder."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="zdx-interop-")).resolve()
        self.root, self.home = self.dir / "root", self.dir / "home"
        self.root.mkdir()
        self.home.mkdir()

    def start(self, editor, answers, *args):
        model = Model(answers)
        provider = f'model = "t/m"\n[providers.t]\nwire = "openai-chat"\nbase_url = "{model.url}"\n'
        (self.home / "config.toml").write_text(provider)
        env = {"HOME": str(self.home), "ZDX_HOME": str(self.home), "PATH": os.environ["PATH"]}
        return acp.spawn_agent_process(editor, ZDX, "acp-agent", *args, env=env, cwd=self.root)


async def greeted(agent, **fs):
    capabilities = schema.ClientCapabilities(fs=schema.FileSystemCapabilities(**fs)) if fs else None
    hello = await agent.initialize(acp.PROTOCOL_VERSION, capabilities)
    same(hello.protocol_version, 1)
    same(hello.agent_capabilities.load_session, True)


async def prompt(agent, session, text):
    return (await agent.prompt(session_id=session, prompt=[acp.text_block(text)])).stop_reason


async def until(what, holds):
    for _ in range(2000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not in time: {what}")


@check
async def a_turn_with_text_a_plan_and_calls():
    place, editor = Place(), Editor()
    (place.root / "a.txt").write_text("one\n")
    items = [{"content": "look", "status": "in_progress"}]
    edit = ("edit", {"path": "a.txt", "old": "one", "new": "two"})
    answers = [("todowrite", {"items": items}), edit, "all done"]
    async with place.start(editor, answers, "--yolo") as (agent, _):
        await greeted(agent)
        session = (await agent.new_session(cwd=str(place.root))).session_id
        same(await prompt(agent, session, "go"), "end_turn")
        same(editor.said(session), "all done")
        same(editor.of(session, schema.AgentPlanUpdate)[0].entries[0].content, "look")
        last = [update for update in editor.of(session, schema.ToolCallProgress) if update.tool_call_id == "c2"][-1]
        same((last.status, last.content[0].type, last.content[0].new_text), ("completed", "diff", "two\n"))
        same(len(editor.of(session, schema.UsageUpdate)), 1)


@check
async def a_permission_answered_each_way():
    for choice, reason, made in [("allow_once", "end_turn", True), ("reject_once", "end_turn", False), (None, "cancelled", False)]:
        place, editor = Place(), Editor(choice)
        async with place.start(editor, [("bash", {"command": "touch it"}), "ok"]) as (agent, _):
            await greeted(agent)
            session = (await agent.new_session(cwd=str(place.root))).session_id
            same(await prompt(agent, session, "go"), reason)
        same(((place.root / "it").exists(), len(editor.asked)), (made, 1))


@check
async def a_permission_for_good_is_asked_for_once():
    place, editor = Place(), Editor("allow_always")
    touch = ("bash", {"command": "touch it"})
    async with place.start(editor, [touch, touch, "ok"]) as (agent, _):
        await greeted(agent)
        session = (await agent.new_session(cwd=str(place.root))).session_id
        same(await prompt(agent, session, "go"), "end_turn")
    same(((place.root / "it").exists(), len(editor.asked)), (True, 1))


@check
async def every_end_has_its_reason():
    place, editor = Place(), Editor()
    answers = [["length"], ["content_filter"], ("list", {})]
    async with place.start(editor, answers, "--max-steps", "1") as (agent, _):
        await greeted(agent)
        session = (await agent.new_session(cwd=str(place.root))).session_id
        for reason in ("max_tokens", "refusal", "max_turn_requests"):
            same(await prompt(agent, session, "go"), reason)


@check
async def a_file_through_the_client():
    place = Place()
    file = place.root / "a.txt"
    file.write_text("on disk\n")
    editor = Editor(buffers={str(file): "unsaved\n"})
    edit = ("edit", {"path": "a.txt", "old": "unsaved", "new": "edited"})
    async with place.start(editor, [edit, "ok"]) as (agent, _):
        await greeted(agent, read_text_file=True, write_text_file=True)
        session = (await agent.new_session(cwd=str(place.root))).session_id
        same(await prompt(agent, session, "go"), "end_turn")
    same((editor.buffers[str(file)], file.read_text()), ("edited\n", "edited\n"))


@check
async def a_cancel_in_the_middle():
    place, editor = Place(), Editor()
    async with place.start(editor, ["half…", "again"]) as (agent, _):
        await greeted(agent)
        session = (await agent.new_session(cwd=str(place.root))).session_id
        turn = asyncio.ensure_future(prompt(agent, session, "go"))
        await until("half an answer", lambda: editor.said(session) == "half…")
        await agent.cancel(session_id=session)
        same(await turn, "cancelled")
        same(await prompt(agent, session, "go on"), "end_turn")


@check
async def load_resume_list_and_close():
    place, editor = Place(), Editor()
    async with place.start(editor, ["first"]) as (agent, _):
        await greeted(agent)
        session = (await agent.new_session(cwd=str(place.root))).session_id
        await prompt(agent, session, "hello")
        await agent.set_session_mode(session_id=session, mode_id="plan")
        options = (await agent.set_config_option(session_id=session, config_id="approval", value="yolo")).config_options
        same([option.current_value for option in options], ["plan", "t/m", "yolo"])
    editor = Editor()
    async with place.start(editor, []) as (agent, _):
        await greeted(agent)
        same([one.session_id for one in (await agent.list_sessions(cwd=str(place.root))).sessions], [session])
        loaded = await agent.load_session(session_id=session, cwd=str(place.root))
        same(loaded.modes.current_mode_id, "plan")
        same(editor.said(session), "first")
    editor = Editor()
    async with place.start(editor, ["second"]) as (agent, _):
        await greeted(agent)
        await agent.resume_session(session_id=session, cwd=str(place.root))
        await prompt(agent, session, "and?")
        same(editor.said(session), "second")
        await agent.close_session(session_id=session)
        try:
            await prompt(agent, session, "still there?")
        except acp.RequestError as error:
            same(error.code, -32002)
        else:
            raise AssertionError("a closed session answers")


@check
async def two_sessions_at_once():
    place, editor = Place(), Editor()
    async with place.start(editor, ["slow…", "quick"]) as (agent, _):
        await greeted(agent)
        one, other = [(await agent.new_session(cwd=str(place.root))).session_id for _ in range(2)]
        slow = asyncio.ensure_future(prompt(agent, one, "a"))
        await until("the slow one begins", lambda: editor.said(one) == "slow…")
        same(await prompt(agent, other, "b"), "end_turn")
        same((editor.said(other), editor.said(one)), ("quick", "slow…"))
        await agent.cancel(session_id=one)
        same(await slow, "cancelled")


class Complaints(logging.Handler):
    """The SDK only logs what it cannot read; that is a fault of ours all the same."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.heard = []

    def emit(self, record):
        self.heard.append(record.getMessage())


def main():
    complaints, failed = Complaints(), 0
    logging.getLogger().addHandler(complaints)
    for function in CHECKS:
        try:
            asyncio.run(asyncio.wait_for(function(), TIMEOUT))
            same(complaints.heard, [])
            print(f"ok      acp_agent (Python): {function.__name__}")
        except Exception:
            failed += 1
            print(f"FAIL    acp_agent (Python): {function.__name__}")
            traceback.print_exc()
        complaints.heard.clear()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
