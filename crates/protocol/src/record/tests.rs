use serde_json::{Value, json};

use super::*;
use crate::code::ToolCode;
use crate::policy::GrantScope;
use crate::todo::TodoStatus;
use crate::tool::{Signature, ToolError, ToolOutput};

fn ts() -> Timestamp {
    "2025-12-17T03:21:09Z".parse().unwrap()
}

fn message(role: Role, text: &str) -> Record {
    Record::Message(Message::new(role, text, ts()))
}

fn ran(end: ShellEnd) -> Record {
    let shell = Some(Shell { command: "make".to_owned(), end, duration_ms: None, order: Vec::new() });
    Record::Message(Message { shell, ..Message::new(Role::Assistant, "$ make", ts()) })
}

fn meta() -> Meta {
    Meta {
        schema_version: 1,
        id: None,
        root: None,
        model: None,
        parent: None,
        task: None,
        one_prompt: false,
        ts: ts(),
    }
}

fn tool_use(input: Value, raw: Option<&str>) -> Record {
    Record::ToolUse(ToolUse { raw: raw.map(str::to_owned), ..ToolUse::new("call_1", "read", input, ts()) })
}

fn tool_result(output: ToolOutput) -> Record {
    Record::ToolResult(ToolResult::new("call_1", output, ts()))
}

/// Every record, with the exact line it is written as.
fn shapes() -> Vec<(Record, &'static str)> {
    let whole_meta = Meta {
        id: Some("550e8400-e29b-41d4-a716-446655440000".to_owned()),
        root: Some("/home/u/p".into()),
        model: Some("lab/qwen".to_owned()),
        parent: Some("650e8400-e29b-41d4-a716-446655440000".to_owned()),
        ..meta()
    };
    let reasoning = Reasoning {
        text: "hm".to_owned(),
        wire: "anthropic".to_owned(),
        model: "m".to_owned(),
        opaque: Some(json!({"signature": "s"})),
        took_ms: None,
    };
    let usage = Usage { input_tokens: 3, output_tokens: 5, cache_read_tokens: 2, ..Usage::default() };
    let todo = Todo { id: "1".to_owned(), content: "ship".to_owned(), status: TodoStatus::InProgress };
    let allow = Decision::AllowAlways { scope: GrantScope::Session, wider: false };
    let cut = InputCut {
        message: 0,
        part: 1,
        was: 9,
        text: "a…z".to_owned(),
        file: Some("/s/turn-1.input".to_owned()),
    };
    vec![
        (
            Record::Cut(Cut { cuts: vec![cut], ts: ts() }),
            r#"{"type":"cut","cuts":[{"message":0,"part":1,"was":9,"text":"a…z","file":"/s/turn-1.input"}],"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (Record::Meta(meta()), r#"{"type":"meta","schema_version":1,"ts":"2025-12-17T03:21:09.000Z"}"#),
        (
            Record::Meta(whole_meta),
            r#"{"type":"meta","schema_version":1,"id":"550e8400-e29b-41d4-a716-446655440000","root":"/home/u/p","model":"lab/qwen","parent":"650e8400-e29b-41d4-a716-446655440000","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            message(Role::User, "hi\n\u{1b}[31m 你好"),
            r#"{"type":"message","role":"user","text":"hi\n\u001b[31m 你好","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            message(Role::Assistant, "hello"),
            r#"{"type":"message","role":"assistant","text":"hello","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Message(Message { partial: true, ..Message::new(Role::Assistant, "hel", ts()) }),
            r#"{"type":"message","role":"assistant","text":"hel","partial":true,"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Message(Message { continues: true, ..Message::new(Role::Assistant, "lo", ts()) }),
            r#"{"type":"message","role":"assistant","text":"lo","continues":true,"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Message(Message { hidden: true, ..Message::new(Role::User, "mind the list", ts()) }),
            r#"{"type":"message","role":"user","text":"mind the list","hidden":true,"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            ran(ShellEnd::Exited { exit_code: 1 }),
            r#"{"type":"message","role":"assistant","text":"$ make","shell":{"command":"make","end":"exited","exit_code":1},"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            ran(ShellEnd::Signalled { signal: 9 }),
            r#"{"type":"message","role":"assistant","text":"$ make","shell":{"command":"make","end":"signalled","signal":9},"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            ran(ShellEnd::TimedOut { after_ms: 1500 }),
            r#"{"type":"message","role":"assistant","text":"$ make","shell":{"command":"make","end":"timed_out","after_ms":1500},"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            ran(ShellEnd::Interrupted),
            r#"{"type":"message","role":"assistant","text":"$ make","shell":{"command":"make","end":"interrupted"},"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            ran(ShellEnd::NotRun { why: "denied".to_owned(), code: None }),
            r#"{"type":"message","role":"assistant","text":"$ make","shell":{"command":"make","end":"not_run","why":"denied"},"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            tool_use(json!({"path": "a.rs"}), None),
            r#"{"type":"tool_use","id":"call_1","name":"read","input":{"path":"a.rs"},"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            tool_use(json!({}), Some("{\"path\":")),
            r#"{"type":"tool_use","id":"call_1","name":"read","input":{},"raw":"{\"path\":","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::ToolUse(ToolUse {
                signature: Some(Box::new(Signature {
                    wire: "gemini".to_owned(),
                    model: "m".to_owned(),
                    opaque: json!("s"),
                    call_id: None,
                })),
                ..ToolUse::new("call_1", "read", json!({}), ts())
            }),
            r#"{"type":"tool_use","id":"call_1","name":"read","input":{},"signature":{"wire":"gemini","model":"m","opaque":"s"},"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            tool_result(ToolOutput::Ok(json!({"bytes": 3}))),
            r#"{"type":"tool_result","tool_use_id":"call_1","output":{"ok":true,"data":{"bytes":3}},"ok":true,"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            tool_result(ToolOutput::Err(ToolError::new(ToolCode::Enoent, "no such file"))),
            r#"{"type":"tool_result","tool_use_id":"call_1","output":{"ok":false,"error":{"code":"ENOENT","message":"no such file"}},"ok":false,"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Interrupted(Interrupted::at(ts())),
            r#"{"type":"interrupted","role":"system","text":"Interrupted","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Reasoning(ReasoningRecord { reasoning, ts: ts() }),
            r#"{"type":"reasoning","text":"hm","wire":"anthropic","model":"m","opaque":{"signature":"s"},"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Model(Model { model: "lab/other".to_owned(), ts: ts() }),
            r#"{"type":"model","model":"lab/other","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Approval(ApprovalRecord {
                tool_use_id: "call_1".to_owned(),
                decision: allow,
                grant: None,
                by: None,
                ts: ts(),
            }),
            r#"{"type":"approval","tool_use_id":"call_1","decision":"allow_always","scope":"session","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Approval(ApprovalRecord {
                tool_use_id: "call_1".to_owned(),
                decision: Decision::AllowOnce,
                grant: None,
                by: Some("--allow-dangerous".to_owned()),
                ts: ts(),
            }),
            r#"{"type":"approval","tool_use_id":"call_1","decision":"allow_once","by":"--allow-dangerous","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Revoked(Revoked { grant: "edits".to_owned(), ts: ts() }),
            r#"{"type":"revoked","grant":"edits","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::FolderAdded(FolderAdded { path: "/srv/data".into(), ts: ts() }),
            r#"{"type":"folder_added","path":"/srv/data","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Preset(Preset { approval: Approval::Paranoid, ts: ts() }),
            r#"{"type":"preset","approval":"paranoid","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Todos(Todos { items: vec![todo], draft: false, ts: ts() }),
            r#"{"type":"todos","items":[{"id":"1","content":"ship","status":"in_progress"}],"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Usage(UsageRecord { usage, ts: ts() }),
            r#"{"type":"usage","input_tokens":3,"output_tokens":5,"cache_read_tokens":2,"cache_write_tokens":0,"reasoning_tokens":0,"ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
        (
            Record::Error(ErrorRecord { kind: ErrorKind::Provider, message: "gone".to_owned(), ts: ts() }),
            r#"{"type":"error","kind":"provider","message":"gone","ts":"2025-12-17T03:21:09.000Z"}"#,
        ),
    ]
}

#[test]
fn records_have_their_exact_shape_and_come_back() {
    for (record, line) in shapes() {
        let written = String::from_utf8(record.to_line().unwrap()).unwrap();
        assert_eq!(written, format!("{line}\n"));
        assert_eq!(Record::parse(line.as_bytes()).unwrap(), record);
        assert_eq!(Record::parse(written.as_bytes()).unwrap(), record, "with its newline");
    }
}

/// The three record types of a call are one type in memory; each line is written back byte for byte.
#[test]
fn calls_and_results_of_every_origin_keep_their_record_types() {
    let origins =
        [("tool", ToolUseOrigin::Model), ("remote", ToolUseOrigin::Remote), ("check", ToolUseOrigin::Check)];
    for (kind, origin) in origins {
        let call = format!(
            r#"{{"type":"{kind}_use","id":"c","name":"bash","input":{{"command":"ls"}},"ts":"2025-12-17T03:21:09.000Z"}}"#
        );
        let result = format!(
            r#"{{"type":"{kind}_result","tool_use_id":"c","output":{{"ok":true,"data":1}},"ok":true,"diff":"@@","duration_ms":7,"ts":"2025-12-17T03:21:09.000Z"}}"#
        );
        let made = [
            Record::ToolUse(ToolUse { origin, ..ToolUse::new("c", "bash", json!({"command": "ls"}), ts()) }),
            Record::ToolResult(ToolResult {
                origin,
                diff: Some("@@".to_owned()),
                duration_ms: Some(7),
                ..ToolResult::new("c", ToolOutput::Ok(json!(1)), ts())
            }),
        ];
        for (record, line) in made.into_iter().zip([call, result]) {
            assert_eq!(Record::parse(line.as_bytes()).unwrap(), record);
            assert_eq!(record.to_line().unwrap(), format!("{line}\n").into_bytes());
        }
    }
}

#[test]
fn key_order_and_spaces_do_not_matter() {
    for (record, line) in shapes() {
        let Value::Object(fields) = serde_json::from_str(line).unwrap() else {
            panic!("{line} is no object")
        };
        let turned: serde_json::Map<_, _> = fields.into_iter().rev().collect();
        let line = serde_json::to_string_pretty(&turned).unwrap();
        assert_eq!(Record::parse(line.as_bytes()).unwrap(), record, "{line}");
    }
}

#[test]
fn fields_of_a_later_version_are_no_obstacle() {
    let line =
        br#"{"type":"message","role":"user","text":"x","mood":{"a":[1]},"ts":"2025-12-17T03:21:09.000Z"}"#;
    assert_eq!(Record::parse(line).unwrap(), message(Role::User, "x"));
}

/// What a command was and said is worth more than how a later zdx says that it ended.
#[test]
fn an_ending_of_a_later_version_is_no_obstacle() {
    let line = br#"{"type":"message","role":"assistant","text":"$ make","shell":{"command":"make","end":"frozen","by":3},"ts":"2025-12-17T03:21:09.000Z"}"#;
    assert_eq!(Record::parse(line).unwrap(), ran(ShellEnd::Unknown));
}

#[test]
fn unknown_types_are_kept_to_the_last_byte() {
    let lines = [
        r#"{"type":"todo_board","n":1.0,"big":123456789012345678901234567890,"e":1e5,"esc":"\u0041\/","ts":"x"}"#,
        r#"{ "b" : 1 ,  "type" : "later", "a" : [ 1,2 ] }"#,
        r#"{"type":"mess\u0061ge2","x":null}"#,
    ];
    for line in lines {
        let record = Record::parse(line.as_bytes()).unwrap();
        assert!(matches!(&record, Record::Unknown(unknown) if unknown.as_str() == line), "{record:?}");
        assert_eq!(record.to_line().unwrap(), format!("{line}\n").into_bytes());
    }
}

#[test]
fn an_escaped_type_is_still_read() {
    let line = br#"{"type":"mess\u0061ge","role":"user","text":"x","ts":"2025-12-17T03:21:09.000Z"}"#;
    assert_eq!(Record::parse(line).unwrap(), message(Role::User, "x"));
}

#[test]
fn what_is_no_record_is_an_error() {
    let lines: [&[u8]; 10] = [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"{\"type\":3}",
        b"{\"type\":\"later\"",
        b"{\"type\":\"message\"}",
        b"{\"type\":\"later\",\"x\":\"\xff\"}",
        b"{\"type\":\"message\",\"role\":\"cook\",\"text\":\"\",\"ts\":\"2025-12-17T03:21:09Z\"}",
        b"\0\0\0\0",
    ];
    for line in lines {
        assert!(Record::parse(line).is_err(), "{}", line.escape_ascii());
    }
}

#[cfg(unix)]
#[test]
fn a_folder_whose_name_is_not_utf8_is_saved_and_read_back() {
    use std::os::unix::ffi::OsStrExt;
    let root = PathBuf::from(std::ffi::OsStr::from_bytes(b"/tmp/\xff"));
    let record = Record::Meta(Meta { root: Some(root), ..meta() });
    let line = record.to_line().unwrap();
    assert!(std::str::from_utf8(&line).unwrap().contains(r#""root":"//tmp/\\xFF""#));
    assert_eq!(Record::parse(line.trim_ascii_end()).unwrap(), record);
}

#[test]
fn now_is_rfc_3339_utc_to_the_millisecond() {
    let text = now().to_string();
    assert!(text.ends_with('Z') && text.len() <= "2025-12-17T03:21:09.123Z".len(), "{text}");
}
