"""One scripted model for agents of every vendor: OpenAI's chat completions, Anthropic's messages, Gemini's generateContent.

Told to `change it`, it calls the tool it is given, once, and then says done. Told to count, it counts slowly, so that a turn can be
called off. Everything else, titles and summaries that agents want on the side included, is answered with a word.
"""

import http.server
import json
import threading
import time


def words_of(value):
    """All text that stands in a message, whatever its form."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(words_of(part) for part in value)
    if isinstance(value, dict):
        return "\n".join(words_of(value[key]) for key in ("text", "content", "parts") if key in value)
    return ""


class Model:
    def __init__(self, tool, given):
        self.tool, self.given, self.requests = tool, given, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.plain({"object": "list", "data": [{"id": "m"}], "models": []})

            def do_HEAD(self):
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def do_POST(self):
                length = int(self.headers.get("content-length") or 0)
                try:
                    body = json.loads(self.rfile.read(length) or b"{}")
                except ValueError:
                    body = {}
                outer.requests.append((self.path, body))
                try:
                    outer.answer(self, self.path.split("?")[0], body)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def plain(self, value):
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def begin(self):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True

            def event(self, value, name=None):
                head = f"event: {name}\n" if name else ""
                self.wfile.write(f"{head}data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode())
                self.wfile.flush()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, to, path, body):
        if path.endswith("/chat/completions"):
            self.chat(to, body)
        elif path.endswith("/messages"):
            self.messages(to, body)
        elif path.endswith("/count_tokens"):
            to.plain({"input_tokens": 10})
        elif ":countTokens" in path:
            to.plain({"totalTokens": 10})
        elif "enerateContent" in path:
            self.gemini(to, "stream" in path, body)
        else:
            to.plain({})

    def plan(self, last, tools):
        """What to do about the last thing that was said: ("call",), ("count",) or ("say", text)."""
        if "change it" in last and self.tool in tools:
            return "call"
        return "count" if "Count from 1 to 500" in last else "say"

    @staticmethod
    def pieces(what):
        if what == "say":
            yield "done"
            return
        for number in range(1, 60):
            yield f"{number}\n"
            time.sleep(0.25)

    def chat(self, to, body):
        last = body.get("messages", [{}])[-1]
        tools = [tool.get("function", {}).get("name") for tool in body.get("tools") or []]
        what = "say" if last.get("role") == "tool" else self.plan(words_of(last), tools)
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": self.tool, "arguments": json.dumps(self.given)}}
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        finish = "tool_calls" if what == "call" else "stop"
        if not body.get("stream"):
            message = {"role": "assistant", "content": None if what == "call" else "done"}
            if what == "call":
                message["tool_calls"] = [call]
            return to.plain({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
                             "choices": [{"index": 0, "message": message, "finish_reason": finish}]})
        to.begin()
        chunk = lambda delta, end=None: {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
                                         "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        to.event(chunk({"role": "assistant", "content": ""}))
        if what == "call":
            to.event(chunk({"tool_calls": [call]}))
        else:
            for piece in self.pieces(what):
                to.event(chunk({"content": piece}))
        to.event({**chunk({}, finish), "usage": usage})
        to.event("[DONE]")

    def messages(self, to, body):
        # Instructions may stand behind what the user said.
        said = [message for message in body.get("messages", []) if message.get("role") == "user"]
        content = said[-1].get("content") if said else ""
        results = isinstance(content, list) and content[-1].get("type") == "tool_result"
        tools = [tool.get("name") for tool in body.get("tools") or []]
        what = "say" if results else self.plan(words_of(content), tools)
        usage = {"input_tokens": 10, "output_tokens": 2, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        count = len(self.requests)
        head = {"id": f"msg_{count}", "type": "message", "role": "assistant", "model": body.get("model", "m"), "stop_sequence": None, "usage": usage}
        stop = "tool_use" if what == "call" else "end_turn"
        if not body.get("stream"):
            return to.plain({**head, "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"})
        to.begin()
        send = lambda kind, **more: to.event({"type": kind, **more}, kind)
        send("message_start", message={**head, "content": [], "stop_reason": None})
        if what == "call":
            send("content_block_start", index=0, content_block={"type": "tool_use", "id": f"toolu_{count}", "name": self.tool, "input": {}})
            send("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": json.dumps(self.given)})
        else:
            send("content_block_start", index=0, content_block={"type": "text", "text": ""})
            for piece in self.pieces(what):
                send("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        send("content_block_stop", index=0)
        send("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage)
        send("message_stop")

    def gemini(self, to, stream, body):
        last = (body.get("contents") or [{}])[-1]
        results = any("functionResponse" in part for part in last.get("parts", []))
        tools = [one.get("name") for tool in body.get("tools") or [] for one in tool.get("functionDeclarations", [])]
        what = "say" if results else self.plan(words_of(last), tools)
        chunk = lambda parts, end=None: {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **({"finishReason": end} if end else {})}],
                                         "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12}, "modelVersion": "m"}
        if not stream:
            # A router or a check wants JSON; whatever it looks for, it finds a word.
            wants_json = "json" in str(body.get("generationConfig", {}).get("responseMimeType", ""))
            return to.plain(chunk([{"text": "{}" if wants_json else "done"}], "STOP"))
        to.begin()
        if what == "call":
            to.event(chunk([{"functionCall": {"id": "call_1", "name": self.tool, "args": self.given}}], "STOP"))
            return
        for piece in self.pieces(what):
            to.event(chunk([{"text": piece}]))
        to.event(chunk([], "STOP"))
