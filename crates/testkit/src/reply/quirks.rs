//! What real servers were seen to send, to the byte where it matters: each of these once broke something.

use serde_json::json;

use super::{Reply, Step};

/// llama-cpp-python 0.3 when the prompt does not fit: a good status, and a body that ends well with nothing in it.
pub fn empty_stream() -> Reply {
    Reply::raw([
        Step::bytes(
            "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncache-control: no-store\r\nconnection: keep-alive\r\n\
             content-type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        Step::Close,
    ])
}

/// The same server asked for the same answer without streaming.
pub fn too_long_when_asked_whole() -> Reply {
    Reply::status(400).json(json!({"error": {
        "message": "This model's maximum context length is 4096 tokens. However, you requested 6209 tokens (6009 in the \
                    messages, 200 in the completion). Please reduce the length of the messages or completion.",
        "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}))
}

/// A thinking model that calls a tool, behind a server that reads neither (llama-cpp-python, or vLLM without its parsers).
pub fn unparsed_call() -> Reply {
    let deltas = [
        "<think>",
        "I",
        " should",
        " look",
        ".",
        "</think>",
        "<tool_call>",
        "\n",
        "{\"",
        "name",
        "\":",
        " \"",
        "bash",
        "\",",
        " ",
        "\"",
        "arguments",
        "\":{\"",
        "command",
        "\":\"",
        "echo",
        " hi",
        "\"}}\n",
        "</tool_call>",
    ];
    Reply::chat().text_deltas(deltas).no_usage().done()
}

/// llama.cpp at the end of its context (`-c 4096`): the same word as for an answer that used up `max_tokens`.
pub fn context_full() -> Reply {
    Reply::chat().text("and so on and").finish("length").usage(3009, 1087).done()
}

/// llama.cpp started without `--jinja`, asked with tools.
pub fn tools_need_jinja() -> Reply {
    Reply::status(500)
        .json(json!({"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}))
}

/// llama.cpp started with `--api-key`.
pub fn wants_a_key() -> Reply {
    Reply::status(401)
        .json(json!({"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}))
}
