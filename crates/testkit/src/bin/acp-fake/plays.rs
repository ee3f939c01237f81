//! Plays with a name: a good turn, and every way in which agents have been seen to misbehave.

use serde_json::{Value, json};

pub fn named(name: &str) -> Vec<Value> {
    let (name, number) = name.split_once(' ').unwrap_or((name, ""));
    let number = |otherwise: u64| number.parse().unwrap_or(otherwise);
    let play = match name {
        // As if nothing were scripted.
        "unscripted" => json!([]),
        "turn" => turn(),
        "files" => files(),
        "terminal" => terminal(),
        "terminal_kill" => terminal_kill(),
        "permissions" => permissions(),
        "elicit" => {
            json!([{"ask": "elicitation/create", "params": {"message": "why?", "mode": "form", "requestedSchema": {}}}, {"say": "asked"}])
        }
        // Faults.
        "update_first" => json!([
            {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c9", "status": "completed", "title": "Write w.txt", "kind": "edit"}},
            {"update": {"sessionUpdate": "tool_call", "toolCallId": "c9", "title": "Write w.txt", "kind": "edit", "locations": [{"path": "w.txt", "line": null}]}},
            {"say": "done"}
        ]),
        "empty" => json!([{"say": ""}, {"think": ""}, {"say": "a"}, {"say": ""}, {"say": "b"}]),
        "nulls" => json!([
            {"raw": "null"}, {"raw": ""},
            {"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": null, "kind": null, "status": null, "content": null, "locations": [{"path": "a.txt", "line": null}], "rawInput": null}},
            {"update": {"sessionUpdate": "agent_message_chunk", "content": null}},
            {"update": null}, {"notify": "session/update", "params": null}, {"say": "still here"}
        ]),
        "relative" => json!([
            {"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Edit w.txt", "kind": "edit", "status": "completed",
                "content": [{"type": "diff", "path": "w.txt", "oldText": null, "newText": "hi\n"}], "locations": [{"path": "w.txt"}]}},
            {"say": "changed"}
        ]),
        "garbage" => json!([
            {"raw": "Welcome to the agent!"}, {"bytes": [0, 255, 32, 110, 111, 10]}, {"raw": "{\"half\": "}, {"raw": "[]"}, {"raw": "{}"},
            {"raw": "{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}"}, {"raw": "\u{1b}[31mred\u{1b}[0m"}, {"say": "spoke"}
        ]),
        "dies" => json!([{"say": "half a sen"}, {"stderr": "panic: the table is gone"}, {"exit": 3}]),
        "leaves" => json!([{"stderr": "cannot find the database\nleaving"}, {"exit": 7}]),
        "silent" => json!([{"never": true}]),
        "waits" => json!([{"say": "waiting"}, {"wait": "cancel"}]),
        "deaf" => {
            json!([{"deaf": true}, {"say": "working"}, {"wait": "cancel"}, {"say": " on"}, {"never": true}])
        }
        "stubborn" => {
            json!([{"deaf": true}, {"say": "working"}, {"wait": "cancel"}, {"say": " to the end"}, {"stop": "end_turn"}])
        }
        "unknown" => json!([
            {"update": {"sessionUpdate": "hologram", "shape": {"deep": [1, 2]}}},
            {"notify": "session/hologram", "params": {"x": 1}}, {"notify": "_vendor/thing", "params": {}},
            {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "smell", "data": "rose"}}},
            {"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Odd", "kind": "teleport", "status": "halfway", "content": [{"type": "hologram"}]}},
            {"ask": "session/hologram", "params": {}, "as": "refused"},
            {"say": "odd, but fine"}, {"stop": "bored"}
        ]),
        "chunks" => json!([{"chunks": number(20_000)}]),
        "long" => json!([{"long": number(70) << 20}, {"say": "after it"}]),
        "child" => json!([{"child": number(3600)}, {"say": "started one"}]),
        other => panic!("unknown play {other}"),
    };
    play.as_array().cloned().expect("a play is a list")
}

fn options() -> Value {
    json!([
        {"optionId": "o-1", "name": "Reject for good", "kind": "reject_always"},
        {"optionId": "o-2", "name": "Always", "kind": "allow_always"},
        {"optionId": "o-3", "name": "No", "kind": "reject_once"},
        {"optionId": "o-4", "name": "Yes", "kind": "allow_once"}
    ])
}

/// Everything that an honest turn shows.
fn turn() -> Value {
    json!([
        {"think": "let me look"},
        {"update": {"sessionUpdate": "plan", "entries": [
            {"content": "read it", "priority": "high", "status": "in_progress"}, {"content": "change it", "priority": "low", "status": "pending"}]}},
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Read a.txt", "kind": "read", "status": "pending",
            "locations": [{"path": "$cwd/a.txt", "line": 1}], "rawInput": {"path": "a.txt"}}},
        {"ask": "fs/read_text_file", "params": {"path": "$cwd/a.txt"}, "as": "read"},
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed", "rawOutput": "$read",
            "content": [{"type": "content", "content": {"type": "text", "text": "read"}}]}},
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "c2", "title": "Write b.txt", "kind": "edit", "status": "pending", "locations": [{"path": "$cwd/b.txt"}]}},
        {"ask": "session/request_permission", "as": "may", "params": {"options": options(),
            "toolCall": {"toolCallId": "c2", "title": "Write b.txt", "kind": "edit", "locations": [{"path": "$cwd/b.txt"}]}}},
        {"ask": "fs/write_text_file", "params": {"path": "$cwd/b.txt", "content": "new\n"}, "as": "wrote"},
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c2", "status": "completed",
            "content": [{"type": "diff", "path": "$cwd/b.txt", "oldText": null, "newText": "new\n"}]}},
        {"update": {"sessionUpdate": "current_mode_update", "currentModeId": "code"}},
        {"update": {"sessionUpdate": "session_info_update", "title": "a turn"}},
        {"update": {"sessionUpdate": "usage_update", "used": 1200, "size": 8000, "cost": {"amount": 0.02, "currency": "USD"}}},
        {"say": "all "}, {"say": "done"}
    ])
}

/// Asked and told back, each with what the client said.
fn files() -> Value {
    json!([
        {"ask": "fs/read_text_file", "params": {"path": "$cwd/a.txt", "line": 2, "limit": 1}},
        {"ask": "fs/read_text_file", "params": {"path": "$cwd/missing.txt"}},
        {"ask": "fs/read_text_file", "params": {"path": "/etc/passwd"}},
        {"ask": "fs/write_text_file", "params": {"path": "$cwd/new/deep.txt", "content": "deep\n"}},
        {"ask": "fs/write_text_file", "params": {"path": "/tmp/zdx-acp-fake-must-not-be-there", "content": "x"}},
        {"ask": "fs/write_text_file", "params": {"path": "$cwd/.git/config", "content": "x"}},
        {"say": "asked six times"}
    ])
}

fn terminal() -> Value {
    json!([
        {"ask": "terminal/create", "as": "made", "params": {"command": "sh", "args": ["-c", "printf out; printf err >&2; exit 3"]}},
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "sh", "kind": "execute", "status": "in_progress",
            "content": [{"type": "terminal", "terminalId": "$made/terminalId"}]}},
        {"ask": "terminal/wait_for_exit", "params": {"terminalId": "$made/terminalId"}},
        {"ask": "terminal/output", "params": {"terminalId": "$made/terminalId"}},
        {"ask": "terminal/release", "params": {"terminalId": "$made/terminalId"}},
        {"ask": "terminal/output", "params": {"terminalId": "$made/terminalId"}},
        {"say": "ran"}
    ])
}

fn terminal_kill() -> Value {
    json!([
        {"ask": "terminal/create", "as": "made", "params": {"command": "sleep", "args": ["3600"]}},
        {"ask": "terminal/kill", "params": {"terminalId": "$made/terminalId"}},
        {"ask": "terminal/wait_for_exit", "params": {"terminalId": "$made/terminalId"}},
        {"say": "killed"}
    ])
}

/// One request of each class of tool, then one that cannot be answered by kind.
fn permissions() -> Value {
    let ask = |kind: &str, more: Value| {
        let mut call =
            json!({"toolCallId": format!("p-{kind}"), "title": format!("do {kind}"), "kind": kind});
        for (name, value) in more.as_object().into_iter().flatten() {
            call[name] = value.clone();
        }
        json!({"ask": "session/request_permission", "params": {"toolCall": call, "options": options()}})
    };
    json!([
        ask("read", json!({"locations": [{"path": "$cwd/a.txt"}]})),
        ask("edit", json!({"locations": [{"path": "$cwd/a.txt"}]})),
        ask("execute", json!({"rawInput": {"command": "ls"}})),
        ask("execute", json!({"rawInput": {"command": "rm -rf /"}})),
        ask("other", json!({})),
        {"ask": "session/request_permission", "params": {"toolCall": {"toolCallId": "odd"}, "options": [{"optionId": "x", "name": "allow", "kind": "sideways"}]}},
        {"say": "asked"}
    ])
}
