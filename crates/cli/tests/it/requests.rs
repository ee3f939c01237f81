//! What a model's server is sent over a long turn, byte for byte: servers cache by prefix, and a session that is resumed
//! by a newer zdx must look the same to them.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Request, Zdx};

use crate::place;

/// Written by `ZDX_RECORD=1 cargo test -p zdx-cli --test it requests`.
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/twenty_steps.json");

/// Twenty steps: every tool, calls side by side, failures, arguments that are no JSON, results that are cut.
fn script() -> Vec<Reply> {
    let one =
        |n: usize, tool: &str, input: Value| Reply::chat().tool_call(&format!("c{n}"), tool, input).done();
    let patch = "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-two\n+2\n*** Add File: new/b.txt\n+b\n*** End Patch";
    vec![
        Reply::chat().text("I look around.").tool_call("c1", "list", json!({})).done(),
        one(2, "read", json!({"path": "src/lib.rs"})),
        Reply::chat()
            .reasoning("three at once")
            .tool_call("c3a", "grep", json!({"pattern": "two"}))
            .tool_call("c3b", "glob", json!({"pattern": "**/*.rs"}))
            .tool_call("c3c", "read_file", json!({"path": "missing"}))
            .done(),
        one(4, "todowrite", json!({"items": [{"id": "1", "content": "mend it", "status": "in_progress"}]})),
        one(5, "edit", json!({"path": "src/lib.rs", "old": "one", "new": "1"})),
        one(6, "edit", json!({"path": "src/lib.rs", "old": "nowhere", "new": "1"})),
        one(7, "patch", json!({ "patch": patch })),
        one(8, "bash", json!({"command": "cat src/lib.rs; echo no >&2; exit 3"})),
        one(9, "write", json!({"path": "src/new.rs", "content": "fn main() {}\n"})),
        Reply::chat().tool_call_deltas("c10", "bash", ["{\"command\": ", "\"ls"]).done(),
        one(11, "no_such_tool", json!({"x": 1})),
        one(12, "bash", json!({"command": "rm -rf build"})),
        one(13, "bash", json!({"command": "seq 1 40000"})),
        Reply::chat()
            .tool_call("c14", "bash", json!({"command": "echo a"}))
            .tool_call("c14", "bash", json!({"command": "echo b"}))
            .done(),
        one(15, "todoread", json!({})),
        one(16, "bash", json!({"command": "true"})),
        one(17, "bash", json!({"command": "true"})),
        one(18, "bash", json!({"command": "true"})),
        Reply::chat()
            .tool_call("c19a", "read", json!({"path": "big.txt"}))
            .tool_call("c19b", "read", json!({"path": "big.txt", "offset": 2}))
            .tool_call("c19c", "read", json!({"path": "src/new.rs"}))
            .done(),
        one(20, "todowrite", json!({"items": [{"id": "1", "content": "mend it", "status": "completed"}]})),
        Reply::chat().text("Done.").done(),
    ]
}

/// What differs from one run to the next: where it ran and what the session is called.
fn normal(request: &Request, zdx: &Zdx) -> String {
    let session = zdx.session_files()[0].file_stem().unwrap().to_string_lossy().into_owned();
    let base = zdx.root().parent().unwrap().to_string_lossy().into_owned();
    String::from_utf8(request.raw.clone()).unwrap().replace(&base, "BASE").replace(&session, "SESSION")
}

#[test]
fn the_requests_of_twenty_steps_are_the_bytes_they_always_were() {
    let server = ModelServer::start_with(script());
    let zdx = place().chat(&server).config_more("[models.\"test/scripted\"]\ncontext_limit = 100000\n");
    zdx.write("src/lib.rs", "one\ntwo\nthree\n");
    zdx.write("big.txt", "0123456789abcdef\n".repeat(300));
    zdx.run(["exec", "-p", "1. look around\n2. mend it"]).success();

    let sent: Vec<String> = server.calls().iter().map(|request| normal(request, &zdx)).collect();
    assert_eq!(sent.len(), 21);
    let last = &sent[20];
    if std::env::var_os("ZDX_RECORD").is_some() {
        std::fs::create_dir_all(std::path::Path::new(FIXTURE).parent().unwrap()).unwrap();
        std::fs::write(FIXTURE, last).unwrap();
    }
    let recorded = std::fs::read_to_string(FIXTURE).unwrap();
    if let Some(at) = last.bytes().zip(recorded.bytes()).position(|(one, other)| one != other) {
        let around = |text: &str| {
            String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(200)..(at + 200).min(text.len())])
                .into_owned()
        };
        panic!("at byte {at}:\n{}\nwas\n{}", around(last), around(&recorded));
    }
    assert_eq!(last.len(), recorded.len());
    // Every earlier request is a beginning of it: only the messages grow.
    let messages = |body: &str| {
        let from = body.find(r#""messages":["#).unwrap();
        let upto = body.find(r#"],"tools":"#).unwrap();
        (body[..from].to_owned(), body[from..upto].to_owned(), body[upto..].to_owned())
    };
    let whole = messages(last);
    for (n, body) in sent.iter().enumerate() {
        let (before, said, after) = messages(body);
        assert!(whole.1.starts_with(&said), "request {n} is no beginning of the last");
        assert_eq!((before, after), (whole.0.clone(), whole.2.clone()), "request {n}");
    }
}
