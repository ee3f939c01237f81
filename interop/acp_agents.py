"""`zdx acp` against agents that others made, `zdx acp --conform` on each, and two of them as backends of `zdx exec`.

Without the last argument: only the agent made with the protocol's Python SDK, which needs no model and no network. With it: the agents
of interop/acp/package.json too, each with a scripted model behind it (interop/acp/model.py), doing a turn with a tool call, a permission
and a changed file. Prints what each agent conforms to as a table.
Usage: acp_agents.py PATH_OF_ZDX [FOLDER_OF_NODE_MODULES]
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "acp"))
from model import Model  # noqa: E402

ZDX = str(pathlib.Path(sys.argv[1]).resolve())
NODE = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
TIMEOUT = 180


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"\n  got    {got!r}\n  wanted {wanted!r}")


def holds(text, part):
    if part not in text:
        raise AssertionError(f"\n  {part!r} is not in\n  {text[-3000:]}")


class Agent:
    """A home, a folder, and an agent that is started in it."""

    def __init__(self, name, command, env=None, auth=None):
        self.name, self.auth = name, auth
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix=f"zdx-acp-{name}-")).resolve()
        self.root, self.home = self.dir / "root", self.dir / "home"
        self.root.mkdir()
        self.home.mkdir()
        (self.root / "a.txt").write_text("one\n")
        self.settings = self.dir / "agents.json"
        entry = {"command": command[0], "args": command[1:], "env": env or {}}
        self.settings.write_text(json.dumps({"agent_servers": {name: entry}}))
        # As a backend it is written down all that is said.
        self.tape = self.dir / "tape.jsonl"
        words = [ZDX, "acp", "--proxy", str(self.tape), "--", *command]
        variables = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in entry["env"].items())
        (self.home / ".zdx").mkdir()
        config = f"[acp.agents.{name}]\ncommand = {json.dumps(words)}\n[acp.agents.{name}.env]\n{variables}"
        (self.home / ".zdx" / "config.toml").write_text(config)

    def zdx(self, *args, **more):
        auth = ["--auth", self.auth] if self.auth else []
        return self.run("acp", "--settings", str(self.settings), "-a", self.name, *auth, *args, **more).stdout

    def exec(self, *args, **more):
        """As a backend: the lines of JSON, what stands on stderr, and what the two said to each other."""
        before = len(self.said())
        done = self.run("exec", "--backend", f"acp:{self.name}", "--format", "json", *args, **more)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr, self.said()[before:]

    def said(self):
        lines = self.tape.read_text().splitlines() if self.tape.exists() else []
        return [json.loads(line)["frame"] for line in lines]

    def run(self, *args, ok=(0,)):
        command = [ZDX, *args]
        env = {"HOME": str(self.home), "ZDX_HOME": str(self.home / ".zdx"), "PATH": os.environ["PATH"]}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        done = subprocess.run(command, cwd=self.root, env=env, text=True, timeout=TIMEOUT, **pipes)
        if done.returncode not in ok:
            raise AssertionError(f"exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        left = self.left()
        if left:
            raise AssertionError(f"still running: {left}")
        return done

    def left(self):
        """Processes that work in its folder; a supervisor on its way out gets a moment."""
        for _ in range(20):
            found = []
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    if pathlib.Path(os.readlink(process / "cwd")).is_relative_to(self.dir):
                        found.append((process / "cmdline").read_text().replace("\0", " "))
                except OSError:
                    pass
            if not found:
                return []
            time.sleep(0.1)
        return found

    def frames(self, *args, **more):
        return [json.loads(line) for line in self.zdx("-o", "jsonl", *args, **more).splitlines()]

    def gone(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def echo():
    return Agent("echo", [sys.executable, str(HERE / "acp" / "echo_agent.py")])


def echo_says():
    agent = echo()
    same(agent.zdx("-o", "simple", "hello"), "echo: hello\n")
    holds(agent.zdx("see @a.txt"), "echo: see")
    holds(agent.zdx("--list-caps"), "echo")
    holds(agent.zdx("--list-modes"), "quiet")
    same(agent.zdx("--mode", "loud", "-o", "simple", "hello"), "echo: hello\n")
    agent.gone()


def echo_works():
    agent = echo()
    text = agent.zdx("--write", "work")
    for part in ("[thought] what is there?", "[plan] ", "[tool] edit Write b.txt @ ", "[permission] auto-allow", "[diff] ", "[term] created", "it exits with 0 and says ONE"):
        holds(text, part)
    same((agent.root / "b.txt").read_text(), "ONE\n")
    (agent.root / "b.txt").unlink()
    text = agent.zdx("work")
    holds(text, "[permission] auto-deny")
    holds(text, "not allowed")
    same((agent.root / "b.txt").exists(), False)
    frames = agent.frames("--write", "work")
    same(frames[0]["method"], "client/selected_agent")
    methods = [frame["method"] for frame in frames if "method" in frame]
    for method in ("initialize", "session/new", "session/prompt", "fs/read_text_file", "session/request_permission", "fs/write_text_file", "terminal/create", "terminal/release"):
        if method not in methods:
            raise AssertionError(f"{method} is not among {methods}")
    agent.gone()


def conform(agent, prompt):
    """What passes, fails and is left out, by item, with a turn that changes a file."""
    told = agent.zdx("--conform", "--write", "-o", "jsonl", prompt, ok=(0, 1))
    lines = [json.loads(line) for line in told.splitlines()]
    if not lines:
        raise AssertionError("no report")
    return {line["item"]: line for line in lines}


def echo_conforms():
    agent = echo()
    report = conform(agent, "work")
    agent.gone()
    # Its SDK reads every JSON as an object, and dies of one that is none.
    same([item for item, line in report.items() if line["outcome"] == "fail"], ["JSON that is no frame is survived"])
    return {"echo (Python SDK)": report}


def vendors():
    """Each with its model, the tool that changes a file there, and how it is told of the model."""
    binary = lambda name: str(NODE / ".bin" / name)
    opencode = lambda url: {"OPENCODE_CONFIG_CONTENT": json.dumps({
        "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock", "options": {"baseURL": f"{url}/v1", "apiKey": "x"}, "models": {"m": {"name": "m"}}}},
        "model": "mock/m", "small_model": "mock/m", "permission": {"edit": "ask", "bash": "ask"}, "autoupdate": False, "share": "disabled"})}
    qwen = lambda url: {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "m"}
    gemini = lambda url: {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    claude = lambda url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "IS_SANDBOX": "1", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1"}
    return [
        ("opencode", [str(NODE / "opencode-linux-x64" / "bin" / "opencode"), "acp"], opencode, None, "write", "filePath", "new.txt"),
        ("qwen-code", [binary("qwen"), "--acp"], qwen, "openai", "write_file", "file_path", "new.txt"),
        # Its write_file to a new file fails with any client that reads files for it.
        ("gemini-cli", [binary("gemini"), "--acp", "--model", "gemini-2.5-flash"], gemini, "gemini-api-key", "write_file", "file_path", "a.txt"),
        ("claude-agent", [binary("claude-agent-acp")], claude, None, "Write", "file_path", "new.txt"),
    ]


def started(name, command, variables, auth, tool, argument, file):
    model = Model(tool, {})
    agent = Agent(name, command, variables(model.url), auth)
    model.given = {argument: str(agent.root / file), "content": "changed\n"}
    return agent, model


def changes_a_file(row):
    agent, _ = started(*row)
    frames = agent.frames("--write", "change it")
    asked = [frame for frame in frames if frame.get("method") == "session/request_permission"]
    if not asked:
        raise AssertionError("it asked for no permission")
    allowed = {option["optionId"] for option in asked[0]["params"]["options"] if option["kind"].startswith("allow")}
    answers = [frame["result"]["outcome"] for frame in frames if frame.get("id") == asked[0]["id"] and "outcome" in (frame.get("result") or {})]
    if not answers or answers[0].get("optionId") not in allowed:
        raise AssertionError(f"answered {answers}, to allow are {allowed}")
    kinds = [frame["params"]["update"]["sessionUpdate"] for frame in frames if frame.get("method") == "session/update"]
    if not {"tool_call", "tool_call_update"} & set(kinds):
        raise AssertionError(f"no tool call among {kinds}")
    same((agent.root / row[-1]).read_text(), "changed\n")
    agent.gone()
    used = sorted({frame["method"] for frame in frames if "id" in frame and frame.get("method", "").startswith(("fs/", "terminal/"))})
    return f"asked {len(asked)} permission(s); of the client it used {', '.join(used) or 'no files or terminals'}"


def is_refused(row):
    """The same without --write: nothing is changed."""
    agent, _ = started(*row)
    text = agent.zdx("change it", ok=(0, 1))
    holds(text, "[permission] auto-deny")
    file = agent.root / row[-1]
    same(file.read_text() if file.exists() else None, "one\n" if row[-1] == "a.txt" else None)
    agent.gone()


def of_method(frames, method):
    return [frame for frame in frames if frame.get("method") == method]


def chosen(frames):
    """The kind of the option that each permission was answered with."""
    kinds = []
    for asked in of_method(frames, "session/request_permission"):
        options = {option["optionId"]: option["kind"] for option in asked["params"]["options"]}
        answers = [frame["result"]["outcome"] for frame in frames if frame.get("id") == asked["id"] and "outcome" in (frame.get("result") or {})]
        kinds.append(options.get(answers[0].get("optionId")))
    return kinds


def answers_as_backend(row):
    """A turn behind our own events and approvals, then another process that goes on with the agent's own session."""
    agent, model = started(*row)
    file = agent.root / row[-1]
    lines, _, frames = agent.exec("--yolo", "-p", "change it")
    same(chosen(frames), ["allow_once"])
    same(file.read_text(), "changed\n")
    calls = [line for line in lines if line["type"] == "tool_requested"]
    remote = [line["id"] for line in calls if line.get("origin") == "remote"]
    ours = [line["name"] for line in calls if line.get("origin") != "remote"]
    same(len(remote), 1)
    finished = {line["id"]: line for line in lines if line["type"] == "tool_finished"}
    same(finished[remote[0]]["result"]["ok"], True)
    same(lines[-1]["text"], "done")
    session = [frame["result"]["sessionId"] for frame in frames if "sessionId" in (frame.get("result") or {})][0]

    lines, stderr, frames = agent.exec("-c", "-p", "and now?")
    same(of_method(frames, "session/new"), [])
    resumed = of_method(frames, "session/resume") + of_method(frames, "session/load")
    same([frame["params"]["sessionId"] for frame in resumed], [session])
    same("starts anew" in stderr, False)
    same(lines[-1]["text"], "done")
    # Its model is told what was said before.
    holds(json.dumps(model.requests[-1][1]), "change it")
    agent.gone()
    return f"of us it used {', '.join(ours) or 'nothing'}; gone on with by {resumed[0]['method']}"


def is_refused_as_backend(row):
    """Nobody is there to be asked."""
    agent, _ = started(*row)
    lines, _, frames = agent.exec("--approval", "balanced", "-p", "change it", ok=(0, 1))
    same(chosen(frames), ["reject_once"])
    same((agent.root / row[-1]).exists(), False)
    if not lines[-1]["denied"]:
        raise AssertionError(f"nothing was denied: {lines[-1]}")
    agent.gone()


# What each does not do as the protocol has it, in the version that is pinned.
SHORT_OF = {
    "opencode": [],
    "qwen-code": [
        "unknown session: session/load",
        "unknown session: session/resume",
        "updates are well-formed",
        "a tool call is told before its updates",
        "unknown mode is refused",
        "session/resume does not replay",
    ],
    "gemini-cli": ["a tool call is told before its updates", "session/load replays, then answers"],
    "claude-agent": [],
}


def vendor_conforms(row):
    agent, _ = started(*row)
    report = conform(agent, "change it")
    agent.gone()
    same([item for item, line in report.items() if line["outcome"] == "fail"], SHORT_OF[row[0]])
    return {row[0]: report}


def table(reports):
    names = list(reports)
    items = []
    for report in reports.values():
        items += [item for item in report if item not in items]
    print("\n| item | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for item in items:
        cells = [reports[name].get(item, {"outcome": "–"})["outcome"] for name in names]
        print(f"| {item} | " + " | ".join(cells) + " |")
    for name, report in reports.items():
        for line in report.values():
            if line["outcome"] == "fail":
                print(f"\n{name}: {line['item']}: {line['why']}\n    {(line.get('frame') or '')[:400]}")


def main():
    checks = [("echo_says", echo_says), ("echo_works", echo_works), ("echo_conforms", echo_conforms)]
    if NODE:
        for row in vendors():
            for check in (changes_a_file, is_refused, vendor_conforms):
                checks.append((f"{row[0]}: {check.__name__}", lambda check=check, row=row: check(row)))
        for row in (row for row in vendors() if row[0] in ("opencode", "claude-agent")):
            for check in (answers_as_backend, is_refused_as_backend):
                checks.append((f"{row[0]}: {check.__name__}", lambda check=check, row=row: check(row)))
    only = os.environ.get("ONLY", "")
    failed, reports = 0, {}
    for name, check in checks:
        if only not in name:
            continue
        try:
            told = check()
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}", flush=True)
            continue
        if isinstance(told, dict):
            reports.update(told)
        print(f"ok      {name}" + (f": {told}" if isinstance(told, str) else ""), flush=True)
    if reports:
        table(reports)
    sys.exit(1 if failed else 0)


main()
