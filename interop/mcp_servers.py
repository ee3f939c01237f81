"""zdx against real MCP servers: every tool that they offer is called by a scripted model.

The model is a small HTTP server in here; zdx is the real binary. Faults that no real server shows on demand (a crash, silence,
garbage, floods, 500 tools) are lived through by the tests of crates/cli with zdx-mcp-fake.
Usage: mcp_servers.py PATH_OF_ZDX FOLDER_OF_NODE_PROGRAMS
"""

import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ZDX, NODE = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
TIMEOUT = 60
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"\n  got    {got!r}\n  wanted {wanted!r}")


def holds(text, part):
    if part not in text:
        raise AssertionError(f"\n  {part!r} is not in\n  {text[:3000]}")


class Model:
    """Answers with the calls it is given, one an answer, then with a word."""

    def __init__(self, calls):
        self.calls, self.requests = list(calls), []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.reply({"object": "list", "data": [{"id": "m", "max_model_len": 200000}]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append(body)
                message = {"role": "assistant", "content": "done"}
                if outer.calls:
                    name, given = outer.calls.pop(0)
                    function = {"name": name, "arguments": json.dumps(given)}
                    call = {"id": f"c{len(outer.requests)}", "type": "function", "function": function}
                    message = {"role": "assistant", "content": None, "tool_calls": [call]}
                finish = "tool_calls" if message.get("tool_calls") else "stop"
                self.reply({"id": "x", "choices": [{"index": 0, "message": message, "finish_reason": finish}]})

            def reply(self, value):
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def tools(self):
        return [tool["function"]["name"] for tool in self.requests[0]["tools"]]


class Place:
    """A home, a folder and one server of its own."""

    def __init__(self, name, command):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="zdx-interop-")).resolve()
        self.root, self.home = self.dir / "root", self.dir / "home"
        self.root.mkdir()
        self.home.mkdir()
        self.config = f"[mcp.{name}]\ncommand = {json.dumps(command)}\n[mcp]\nfirst_wait_ms = 30000\n"

    def start(self, model, *args, prompt="go"):
        provider = f'model = "t/m"\nstream = false\n[providers.t]\nwire = "openai-chat"\nbase_url = "{model.url}"\n'
        (self.home / "config.toml").write_text(provider + self.config)
        env = {"HOME": str(self.home), "ZDX_HOME": str(self.home), "PATH": os.environ["PATH"], "OPENAI_API_KEY": "canary-0123456789"}
        command = [ZDX, "exec", "--format", "json", *args, "-p", prompt]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.root, env=env, text=True, **pipes)

    def run(self, calls, **more):
        model = Model(calls)
        out, err = self.start(model, **more).communicate(timeout=TIMEOUT)
        events = [json.loads(line) for line in out.splitlines()]
        if not events or events[-1].get("outcome") != "completed":
            raise AssertionError(f"{out[-2000:]}\n{err}")
        return model, events

    def results(self, calls, **more):
        model, events = self.run(calls, **more)
        return model, [event["result"] for event in events if event["type"] == "tool_finished"], events


def everything():
    return Place("everything", [f"{NODE}/mcp-server-everything", "stdio"])


def text(result):
    if not result["ok"]:
        raise AssertionError(result)
    return result["data"].get("content", "")


@check
def every_tool_of_everything():
    calls = [
        ("echo", {"message": "hi"}),
        ("get-annotated-message", {"messageType": "error"}),
        ("get-env", {}),
        ("get-resource-links", {"count": 2}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
        ("get-structured-content", {"location": "New York"}),
        ("get-sum", {"a": 2, "b": 3}),
        ("get-tiny-image", {}),
        ("gzip-file-as-resource", {"name": "a.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resource"}),
        ("toggle-simulated-logging", {}),
        ("toggle-subscriber-updates", {}),
        ("trigger-long-running-operation", {"duration": 1, "steps": 4}),
    ]
    model, results, events = everything().results([(f"mcp__everything__{name}", given) for name, given in calls])
    offered = [name for name in model.tools() if name.startswith("mcp__")]
    same(sorted(offered), sorted(f"mcp__everything__{name}" for name, _ in calls))
    same([result["ok"] for result in results], [True] * len(calls))
    same(text(results[0]), "Echo: hi")
    if "canary" in text(results[2]) or "API_KEY" in text(results[2]):
        raise AssertionError("a key of ours is in the server's environment")
    holds(text(results[3]), "[link ")
    holds(text(results[6]), "5")
    holds(text(results[7]), "[image: everything/get-tiny-image, PNG 20×20, ")
    holds(text(results[8]), "not shown]")
    progress = [event["chunk"] for event in events if event["type"] == "tool_progress"]
    holds("".join(progress), "4/4")


@check
def bad_arguments_are_an_error_of_the_call():
    _, results, _ = everything().results([("mcp__everything__get-sum", {"a": "x"}), ("mcp__everything__echo", {"message": "on"})])
    same((results[0]["ok"], results[0]["error"]["code"]), (False, "mcp_error"))
    same(text(results[1]), "Echo: on")


@check
def an_interrupt_ends_a_long_call():
    place = everything()
    model = Model([("mcp__everything__trigger-long-running-operation", {"duration": 60, "steps": 60})])
    running = place.start(model)
    for line in running.stdout:
        if '"tool_progress"' in line:
            break
    begin = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=TIMEOUT)
    same(running.returncode, 130)
    holds(out, '"code":"interrupted"')
    if time.monotonic() - begin > 5:
        raise AssertionError("it took too long to stop")


@check
def prompts_and_resources():
    place = everything()
    model, _ = place.run([])
    model, events = place.run([], prompt="/mcp__everything__args-prompt Rome")
    holds(json.dumps(model.requests[0]["messages"]), "Rome")
    uri = "demo://resource/static/document/architecture.md"
    model, events = place.run([], prompt=f"what says @everything:{uri} ?")
    same([event["label"] for event in events if event["type"] == "attached"], [f"everything:{uri}"])


@check
def every_tool_of_filesystem():
    place = Place("files", [f"{NODE}/mcp-server-filesystem", "."])
    root = place.root
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    at = lambda name: str(root / name)
    calls = [
        ("read_file", {"path": at("a.txt")}),
        ("read_text_file", {"path": at("a.txt"), "head": 1}),
        ("read_media_file", {"path": at("p.png")}),
        ("read_multiple_files", {"paths": [at("a.txt")]}),
        ("write_file", {"path": at("b.txt"), "content": "new"}),
        ("edit_file", {"path": at("a.txt"), "edits": [{"oldText": "one", "newText": "1"}]}),
        ("create_directory", {"path": at("d")}),
        ("list_directory", {"path": str(root)}),
        ("list_directory_with_sizes", {"path": str(root)}),
        ("directory_tree", {"path": str(root)}),
        ("move_file", {"source": at("b.txt"), "destination": at("c.txt")}),
        ("search_files", {"path": str(root), "pattern": "*.txt"}),
        ("get_file_info", {"path": at("a.txt")}),
        ("list_allowed_directories", {}),
    ]
    model, results, _ = place.results([(f"mcp__files__{name}", given) for name, given in calls])
    offered = [name for name in model.tools() if name.startswith("mcp__")]
    same(sorted(offered), sorted(f"mcp__files__{name}" for name, _ in calls))
    same([(name, result["ok"]) for (name, _), result in zip(calls, results)], [(name, True) for name, _ in calls])
    same((text(results[0]), text(results[1])), ("one\ntwo\n", "one"))
    same(((root / "a.txt").read_text(), (root / "c.txt").read_text()), ("1\ntwo\n", "new"))


@check
def the_python_library():
    place = Place("notes", [sys.executable, str(HERE / "mcp" / "notes.py")])
    calls = [("add", {"a": 2, "b": 3}), ("count", {"steps": 3}), ("crash", {}), ("add", {"a": 4, "b": 5})]
    _, results, events = place.results([(f"mcp__notes__{name}", given) for name, given in calls])
    holds(text(results[0]), "5")
    same(text(results[1]), "counted")
    holds("".join(event["chunk"] for event in events if event["type"] == "tool_progress"), "3/3 number 3")
    same(results[2]["error"]["code"], "mcp_unavailable")
    holds(results[2]["error"]["message"], "exit code 5")
    holds(text(results[3]), "9")
    _, events = place.run([], prompt="@notes:note://today ?")
    holds(json.dumps(events), "attached")
    model, _ = place.run([], prompt="/mcp__notes__plan rest")
    holds(json.dumps(model.requests[0]["messages"]), "Make a plan to rest.")


def main():
    failed = 0
    for function in CHECKS:
        begin = time.monotonic()
        try:
            function()
            print(f"ok      {function.__name__} ({time.monotonic() - begin:.1f} s)")
        except Exception:
            failed += 1
            print(f"FAILED  {function.__name__}\n{traceback.format_exc()}")
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} checks passed")
    sys.exit(1 if failed else 0)


main()
