use std::borrow::Cow;

use zdx_protocol::{ToolCode, ToolSpec};

use super::*;

fn tools() -> Vec<ToolSpec> {
    let spec = |name: &'static str| ToolSpec {
        name: Cow::Borrowed(name),
        description: Cow::Borrowed(""),
        schema: json!({}),
    };
    ["read", "write", "edit", "bash"].map(spec).to_vec()
}

fn ask(messages: &[Message], tools: &[ToolSpec]) -> (String, Option<ToolCall>) {
    let request = ModelRequest {
        model: "demo",
        system: "",
        messages,
        images: crate::RequestImages::none(),
        tools,
        max_tokens: 100,
        temperature: None,
        top_p: None,
        thinking: None,
        thinking_off: None,
        stream: true,
    };
    let (mut text, mut call) = (String::new(), None);
    let events = answer(&request);
    assert_eq!(events, answer(&request), "deterministic");
    assert!(matches!(events.last(), Some(ModelEvent::Stop(_))));
    for event in events {
        match event {
            ModelEvent::Text(more) => text.push_str(&more),
            ModelEvent::ToolCall(made) => call = Some(made),
            _ => {}
        }
    }
    (text, call)
}

/// Plays a turn to its end with a function in the place of the tools; returns all text and calls.
fn play(prompt: &str, tool: impl Fn(&ToolCall) -> ToolOutput) -> (Vec<String>, Vec<(String, Value)>) {
    let mut messages = vec![Message::text(Role::User, prompt)];
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let (text, call) = ask(&messages, &tools());
        texts.push(text.clone());
        let Some(call) = call else { return (texts, calls) };
        let output = tool(&call);
        calls.push((call.name.clone(), call.arguments.input()));
        let id = call.id.clone();
        messages.push(Message {
            role: Role::Assistant,
            parts: vec![
                Part::text(text),
                Part::ToolUse {
                    id: call.id,
                    name: call.name.into(),
                    arguments: call.arguments.into(),
                    signature: None,
                },
            ],
        });
        messages.push(Message { role: Role::User, parts: vec![Part::result(id, output)] });
    }
    panic!("the demo does not end: {calls:?}");
}

fn folder(call: &ToolCall) -> ToolOutput {
    match call.name.as_str() {
        "bash" => {
            ToolOutput::Ok(json!({ "stdout": "src/\nAlpha.txt\nREADME.md\n", "stderr": "", "exit_code": 0 }))
        }
        "read" => ToolOutput::Ok(json!({ "content": "# Title\n\nbody\n", "bytes": 15, "truncated": false })),
        "write" => ToolOutput::Ok(json!({ "bytes": 6, "created": true })),
        other => panic!("{other}"),
    }
}

#[test]
fn anything_unspecific_looks_around_and_tells_facts() {
    for prompt in
        ["what is in this folder?", "hello", "fix the bug", "", "这个文件夹里有什么？", "что здесь?"]
    {
        let (texts, calls) = play(prompt, folder);
        assert_eq!(calls[0], ("bash".to_owned(), json!({ "command": "ls -1p" })), "{prompt}");
        assert_eq!(calls[1], ("read".to_owned(), json!({ "path": "README.md" })), "{prompt}");
        assert_eq!(calls.len(), 2);
        assert!(texts[0].contains("not a language model"), "{texts:?}");
        assert!(texts[1].contains("2 files and 1 folder") && texts[1].contains("Alpha.txt"), "{texts:?}");
        assert!(texts[2].contains("README.md has 3 lines") && texts[2].contains("# Title"), "{texts:?}");
    }
}

#[test]
fn an_empty_folder_ends_at_once() {
    let (texts, calls) = play("hi", |_| ToolOutput::Ok(json!({ "stdout": "" })));
    assert_eq!(calls.len(), 1);
    assert!(texts[1].contains("empty"), "{texts:?}");
}

#[test]
fn a_failing_or_denied_tool_ends_the_turn_with_its_reason() {
    let (texts, calls) = play("read a.txt", |_| ToolOutput::error(ToolCode::Denied, "a rule says no"));
    assert_eq!(calls.len(), 1);
    assert!(texts[1].contains("denied") && texts[1].contains("a rule says no"), "{texts:?}");
}

#[test]
fn it_writes_when_asked() {
    let (texts, calls) = play("write hello.txt with \"hi you\"", folder);
    assert_eq!(calls, [("write".to_owned(), json!({ "path": "hello.txt", "content": "hi you\n" }))]);
    assert!(texts[1].contains("created hello.txt (6 bytes)"), "{texts:?}");
}

#[test]
fn sentences_it_knows() {
    let write = |path: &str, text: &str| Intent::Write { path: path.into(), content: format!("{text}\n") };
    let read = |path: &str| Intent::Read { path: path.into() };
    let cases = [
        ("read src/main.rs", read("src/main.rs")),
        ("What does `notes.md` say?", read("notes.md")),
        ("explain Cargo.toml.", read("Cargo.toml")),
        ("Create a file named todo.md containing buy milk", write("todo.md", "buy milk")),
        ("please create file notes", write("notes", "hello from zdx")),
        ("write 'good day' to a/b.txt", write("a/b.txt", "good day")),
        ("write a poem", Intent::Look),
        ("Run `cargo --version`", Intent::Run { command: "cargo --version".into() }),
        ("run ", Intent::Look),
        ("version 1.2.3?", Intent::Look),
        ("see https://example.org/a.html", Intent::Look),
        ("écris é", Intent::Look),
        ("ß", Intent::Look),
    ];
    for (prompt, expected) in cases {
        assert_eq!(intent::of(prompt), expected, "{prompt}");
    }
}

#[test]
fn a_later_turn_begins_anew_with_new_ids() {
    let call = |id: &str| Part::ToolUse {
        id: id.into(),
        name: "read".into(),
        arguments: Arguments::Object(Map::new()).into(),
        signature: None,
    };
    let messages = [
        Message::text(Role::User, "read a.txt"),
        Message { role: Role::Assistant, parts: vec![call("demo_1")] },
        Message { role: Role::User, parts: vec![Part::result("demo_1", ToolOutput::Ok(json!({})))] },
        Message::text(Role::Assistant, "done"),
        Message::text(Role::User, "run true"),
    ];
    let (_, made) = ask(&messages, &tools());
    let made = made.unwrap();
    assert_eq!((made.id.as_str(), made.name.as_str()), ("demo_2", "bash"));
    assert!(ask(&[], &tools()).1.is_some());
}

#[test]
fn without_its_tool_it_says_so() {
    let (text, call) = ask(&[Message::text(Role::User, "hi")], &[]);
    assert!(call.is_none() && text.contains("`bash`"), "{text}");
}
