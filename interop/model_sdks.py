"""The official openai and anthropic libraries against the scripted model server.

Each check starts a server with one scenario, talks to it as a user of the library would, and compares what the
library understood. Usage: model_sdks.py PATH_OF_ZDX_SCRIPTED_SERVER
"""

import contextlib
import os
import subprocess
import sys
import traceback

import anthropic
import openai

CHECKS = []
TIMEOUT = 20
QUESTION = [{"role": "user", "content": "hello"}]


def check(function):
    CHECKS.append(function)
    return function


def same(got, wanted):
    if got != wanted:
        raise AssertionError(f"\n  got    {got!r}\n  wanted {wanted!r}")


@contextlib.contextmanager
def server(*scenario):
    process = subprocess.Popen(
        [sys.argv[1], *scenario], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.stdin.close()
        process.wait(TIMEOUT)


@contextlib.contextmanager
def openai_on(*scenario):
    with server(*scenario) as url:
        with openai.OpenAI(base_url=url + "/v1", api_key="none", timeout=TIMEOUT, max_retries=0) as client:
            yield client.chat.completions, client


@contextlib.contextmanager
def anthropic_on(*scenario):
    with server(*scenario) as url:
        with anthropic.Anthropic(base_url=url, api_key="none", timeout=TIMEOUT, max_retries=0) as client:
            yield client.messages, client


def tool(name, field):
    return {"name": name, "parameters": {"type": "object", "properties": {field: {"type": "string"}}}}


OPENAI_TOOLS = [{"type": "function", "function": tool(*t)} for t in (("read", "path"), ("bash", "command"))]
ANTHROPIC_TOOLS = [
    {"name": t["function"]["name"], "input_schema": t["function"]["parameters"]} for t in OPENAI_TOOLS
]


@check
def openai_streams_text():
    with openai_on("hello") as (chat, _):
        chunks = list(
            chat.create(model="m", messages=QUESTION, stream=True, stream_options={"include_usage": True})
        )
    choices = [choice for chunk in chunks for choice in chunk.choices]
    same([c.delta.content for c in choices if c.delta.content], ["he", "llo"])
    same([c.finish_reason for c in choices if c.finish_reason], ["stop"])
    same([c.usage.total_tokens for c in chunks if c.usage], [15])


@check
def openai_streams_20_000_deltas():
    with openai_on("deltas", "20000") as (chat, _):
        stream = chat.create(model="m", messages=QUESTION, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    same(text, "".join(f"word{n} " for n in range(20000)))


@check
def openai_streams_a_tool_loop():
    messages, calls = list(QUESTION), []
    with openai_on("tool-loop") as (chat, _):
        while True:
            with chat.stream(model="m", messages=messages, tools=OPENAI_TOOLS) as stream:
                message = stream.get_final_completion().choices[0].message
            if not message.tool_calls:
                break
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                calls.append((call.id, call.function.name, call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": "ok"})
    same(
        calls,
        [("call_0", "read", '{"path":"a.txt"}'), ("call_1", "bash", '{"command":"echo from the shell"}')],
    )
    same(messages[1]["content"], "reading")
    same(message.content, "all done")


@check
def openai_reads_several_calls_of_one_answer():
    with openai_on("tool-steps", "3", "3") as (chat, _):
        with chat.stream(model="m", messages=QUESTION, tools=OPENAI_TOOLS) as stream:
            choice = stream.get_final_completion().choices[0]
    same([c.function.arguments for c in choice.message.tool_calls], [f'{{"command":"true {n}"}}' for n in range(3)])
    same(choice.finish_reason, "tool_calls")


@check
def openai_reads_a_whole_answer():
    with openai_on("tool-loop") as (chat, _):
        choice = chat.create(model="m", messages=QUESTION, tools=OPENAI_TOOLS).choices[0]
    same((choice.message.content, choice.finish_reason), ("reading", "tool_calls"))
    same(choice.message.tool_calls[0].function.name, "read")


@check
def openai_lists_models():
    with openai_on("hello") as (_, client):
        same([model.id for model in client.models.list()], ["scripted"])


@check
def openai_understands_a_refusal():
    with openai_on("status", "429") as (chat, _):
        try:
            chat.create(model="m", messages=QUESTION, stream=True)
        except openai.RateLimitError as error:
            same(error.body["message"], "the scenario refuses")
        else:
            raise AssertionError("no error")


def ask_anthropic(messages, conversation):
    with messages.stream(model="m", max_tokens=99, messages=conversation, tools=ANTHROPIC_TOOLS) as stream:
        text = "".join(stream.text_stream)
        return text, stream.get_final_message()


@check
def anthropic_streams_text():
    with anthropic_on("hello") as (messages, _):
        text, message = ask_anthropic(messages, QUESTION)
    same((text, message.stop_reason), ("hello", "end_turn"))
    same((message.usage.input_tokens, message.usage.output_tokens), (10, 5))


@check
def anthropic_streams_signed_thinking():
    with anthropic_on("thinking") as (messages, _):
        _, message = ask_anthropic(messages, QUESTION)
    thinking = message.content[0]
    same((thinking.type, thinking.thinking), ("thinking", "a greeting wants one back"))
    same(thinking.signature, "c2lnbmVk")
    same(message.content[1].text, "hello")


@check
def anthropic_streams_a_tool_loop():
    conversation, calls = list(QUESTION), []
    with anthropic_on("tool-loop") as (messages, _):
        while True:
            text, message = ask_anthropic(messages, conversation)
            if message.stop_reason != "tool_use":
                break
            uses = [block for block in message.content if block.type == "tool_use"]
            calls += [(use.id, use.name, use.input) for use in uses]
            conversation.append({"role": "assistant", "content": message.content})
            results = [{"type": "tool_result", "tool_use_id": use.id, "content": "ok"} for use in uses]
            conversation.append({"role": "user", "content": results})
    same(
        calls,
        [("call_0", "read", {"path": "a.txt"}), ("call_1", "bash", {"command": "echo from the shell"})],
    )
    same(text, "all done")


@check
def anthropic_reads_a_whole_answer():
    with anthropic_on("tool-loop") as (messages, _):
        message = messages.create(model="m", max_tokens=99, messages=QUESTION, tools=ANTHROPIC_TOOLS)
    same((message.content[0].text, message.content[1].input), ("reading", {"path": "a.txt"}))


@check
def anthropic_understands_a_refusal():
    with anthropic_on("status", "401") as (messages, _):
        try:
            messages.create(model="m", max_tokens=99, messages=QUESTION)
        except anthropic.AuthenticationError as error:
            same(error.body["error"]["message"], "the scenario refuses")
        else:
            raise AssertionError("no error")


def main():
    # A proxy of the machine must not stand between a client and loopback.
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            del os.environ[name]
    print(f"interop: openai {openai.__version__}, anthropic {anthropic.__version__}")
    failed = 0
    for function in CHECKS:
        name = function.__name__.replace("_", " ")
        try:
            function()
        except Exception:
            failed += 1
            print(f"FAILED  {name}\n{traceback.format_exc()}")
        else:
            print(f"ok      {name}")
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
