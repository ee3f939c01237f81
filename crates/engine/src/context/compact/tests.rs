use serde_json::json;
use zdx_protocol::compaction::{Author, Touch};
use zdx_protocol::record::{self, Record};
use zdx_protocol::{Compacted, Event, Role, Todo, TodoStatus, ToolOutput};

use super::super::budget::limited;
use super::*;

fn said(transcript: &mut Transcript, role: Role, text: &str) {
    transcript.absorb(Record::Message(record::Message::new(role, text, record::now())));
}

fn call(transcript: &mut Transcript, id: &str, name: &str, input: serde_json::Value) {
    transcript.absorb(Record::ToolUse(record::ToolUse::new(id, name, input, record::now())));
}

fn result(transcript: &mut Transcript, id: &str, output: ToolOutput) {
    transcript.absorb(Record::ToolResult(record::ToolResult::new(id, output, record::now())));
}

fn step(
    transcript: &mut Transcript,
    id: &str,
    name: &str,
    input: serde_json::Value,
    data: serde_json::Value,
) {
    call(transcript, id, name, input);
    result(transcript, id, ToolOutput::Ok(data));
}

fn gauge(transcript: &Transcript) -> Gauge {
    Gauge::new(&limited(8192), "", &[], transcript.size())
}

/// A compaction without a model, as the engine would record it, and the context it leads to.
fn compact(transcript: &mut Transcript) -> Compaction {
    let plan = plan(transcript, &gauge(transcript), Trigger::Auto, Squeeze::Ease).expect("something to drop");
    let compaction = plan.finish(None, transcript);
    let record = Event::Compacted(Compacted(Box::new(compaction))).record(record::now()).unwrap();
    transcript.apply(&record);
    let Ok(Record::Compaction(read)) = Record::parse(&record.to_line().unwrap()) else {
        panic!("unreadable")
    };
    *read
}

fn text_of(transcript: &Transcript) -> &str {
    transcript.messages()[0].parts[0].as_text().expect("a summary")
}

fn worked() -> Transcript {
    let mut transcript = Transcript::default();
    said(&mut transcript, Role::User, "port it; keep the public API");
    step(
        &mut transcript,
        "a",
        "skill",
        json!({"name": "porting"}),
        json!({"name": "porting", "content": "use a sieve"}),
    );
    step(&mut transcript, "b", "read", json!({"path": "old.c"}), json!({"content": "x".repeat(6_000)}));
    step(&mut transcript, "c", "write", json!({"path": "new.rs", "content": "y"}), json!({"bytes": 1}));
    step(
        &mut transcript,
        "d",
        "bash",
        json!({"command": "cargo test"}),
        json!({"exit_code": 101, "stdout": "z".repeat(6_000)}),
    );
    step(&mut transcript, "e", "bash", json!({"command": "cargo fmt"}), json!({"exit_code": 1}));
    step(&mut transcript, "f", "bash", json!({"command": "cargo fmt"}), json!({"exit_code": 0}));
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
    step(&mut transcript, "g", "apply_patch", json!({ "patch": patch }), json!({}));
    said(&mut transcript, Role::Assistant, "The parser is ported; the tests fail in lex.");
    transcript.todos = [("port the parser", TodoStatus::Completed), ("port lex", TodoStatus::InProgress)]
        .map(|(content, status)| Todo { id: content.to_owned(), content: content.to_owned(), status })
        .to_vec();
    said(&mut transcript, Role::User, "and no unsafe");
    step(&mut transcript, "h", "read", json!({"path": "lex.c"}), json!({"content": "w".repeat(2_000)}));
    transcript
}

/// As other programs' sessions have them.
#[test]
fn other_names_and_spellings_tell_the_same() {
    let mut transcript = Transcript::default();
    said(&mut transcript, Role::User, "go on");
    let content = json!({"content": "x".repeat(12_000)});
    step(&mut transcript, "a", "view", json!({"filename": "old.c"}), content);
    step(&mut transcript, "b", "create_file", json!({"file_path": "new.rs"}), json!({}));
    let patch = "--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n";
    step(&mut transcript, "d", "apply_diff", json!({"diff": patch}), json!({"files": []}));
    step(&mut transcript, "e", "use_skill", json!({"skill": "s"}), json!({"name": "s", "content": "do"}));
    step(&mut transcript, "f", "shell", json!({"cmd": "make"}), json!({"exit_code": 2}));
    said(&mut transcript, Role::User, "more");
    let compaction = compact(&mut transcript);
    let files: Vec<_> = compaction.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    let expected = [("old.c", Touch::Read), ("new.rs", Touch::Changed), ("x.rs", Touch::Changed)];
    assert_eq!(files, expected);
    assert_eq!(compaction.skills[0].content, "do");
    assert_eq!(compaction.risks, ["bash command=\"make\": bash exit=2"]);
    let calls: Vec<_> = compaction.dropped.calls.iter().map(|step| (&*step.call, &*step.outcome)).collect();
    assert!(calls.contains(&("read path=\"old.c\"", "1 line")), "{calls:?}");
}

#[test]
fn what_matters_is_kept_word_for_word() {
    let mut transcript = worked();
    let compaction = compact(&mut transcript);
    assert_eq!(compaction.instructions, ["port it; keep the public API", "and no unsafe"]);
    assert_eq!((compaction.objective.as_str(), compaction.author), ("and no unsafe", Author::Session));
    let changed: Vec<_> =
        compaction.files.iter().filter(|f| f.change == Touch::Changed).map(|f| f.path.as_str()).collect();
    assert_eq!(changed, ["new.rs", "src/a.rs"]);
    assert_eq!(
        compaction.risks,
        ["bash command=\"cargo test\": bash exit=101"],
        "what was put right is no risk"
    );
    assert_eq!(compaction.next_steps, ["port lex"]);
    assert_eq!(compaction.skills[0].content, "use a sieve");
    let text = text_of(&transcript);
    for part in [
        "keep the public API",
        "no unsafe",
        "use a sieve",
        "[~] port lex",
        "[x] port the parser",
        "fail in lex",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!((transcript.turns, transcript.todos.len()), (2, 2));
    assert!(
        compaction.dropped.calls.iter().any(|step| step.call.contains("old.c")),
        "{:?}",
        compaction.dropped
    );
}

#[test]
fn a_second_compaction_goes_on_from_the_first() {
    let mut transcript = worked();
    compact(&mut transcript);
    said(&mut transcript, Role::User, "third wish");
    for n in 0..4 {
        let path = json!({"path": format!("n{n}")});
        step(&mut transcript, &format!("n{n}"), "read", path, json!({"content": "v".repeat(4_000)}));
    }
    step(&mut transcript, "t", "bash", json!({"command": "cargo test"}), json!({"exit_code": 0}));
    let second = compact(&mut transcript);
    assert_eq!(second.instructions, ["port it; keep the public API", "and no unsafe", "third wish"]);
    assert_eq!(second.risks, Vec::<String>::new(), "the tests pass now");
    assert!(second.files.iter().any(|file| file.path == "new.rs"), "{:?}", second.files);
    assert_eq!(second.skills.len(), 1);
    assert!(
        text_of(&transcript).contains("fail in lex"),
        "what the first summary knew: {}",
        text_of(&transcript)
    );
}

#[test]
fn a_result_that_is_too_large_even_alone_is_kept_cut() {
    let mut transcript = Transcript::default();
    said(&mut transcript, Role::User, "go");
    step(&mut transcript, "a", "read", json!({"path": "a"}), json!({"content": "x".repeat(9_000)}));
    step(&mut transcript, "b", "read", json!({"path": "b"}), json!({"content": "y".repeat(16_000)}));
    compact(&mut transcript);
    let [_, calling, answering] = transcript.messages() else { panic!("{:?}", transcript.messages()) };
    assert!(matches!(&calling.parts[..], [Part::ToolUse { id, .. }] if id == "b"));
    let Part::ToolResult { output, .. } = &answering.parts[0] else { panic!() };
    let ToolOutput::Ok(data) = output.unpack() else { panic!() };
    assert!(data["content"].as_str().unwrap().contains("left out to fit the context"));
    assert!(gauge(&transcript).used < 8192 * 6 / 10, "{}", gauge(&transcript).used);
    assert!(
        plan(&transcript, &gauge(&transcript), Trigger::Auto, Squeeze::Ease).is_none(),
        "and there is an end to it"
    );
}

#[test]
fn prompts_that_fill_the_context_alone_are_bounded_and_say_so() {
    let mut transcript = Transcript::default();
    for n in 0..30 {
        said(&mut transcript, Role::User, &format!("wish {n} {}", "w".repeat(900)));
        said(&mut transcript, Role::Assistant, "ok");
    }
    said(&mut transcript, Role::User, &format!("last wish {}", "l".repeat(30_000)));
    let compaction = compact(&mut transcript);
    assert!(compaction.instructions[0].starts_with("wish 0 "));
    let last = compaction.instructions.last().unwrap();
    assert!(last.starts_with("last wish") && last.contains("left out to fit the context"));
    assert_eq!(compaction.instructions_omitted, 29);
    assert!(text_of(&transcript).contains("29 prompts in between were left out"));
    assert!(gauge(&transcript).used < 8192 * 85 / 100, "{}", gauge(&transcript).used);
}

#[test]
fn an_asked_one_needs_something_to_drop() {
    let mut short = Transcript::default();
    assert!(plan(&short, &gauge(&short), Trigger::Asked, Squeeze::Ease).is_none());
    said(&mut short, Role::User, "hi");
    said(&mut short, Role::Assistant, "hello");
    assert!(
        plan(&short, &gauge(&short), Trigger::Auto, Squeeze::Ease).is_none(),
        "a summary would be longer"
    );
    let asked = plan(&short, &gauge(&short), Trigger::Asked, Squeeze::Ease);
    assert!(asked.is_some(), "who asks for it has a reason");
    let transcript = worked();
    let weight = |trigger| {
        plan(&transcript, &gauge(&transcript), trigger, Squeeze::Ease).unwrap().weight(transcript.size())
    };
    assert!(weight(Trigger::Asked) <= weight(Trigger::Auto));
}

#[test]
fn a_prompt_that_is_kept_joins_the_summary() {
    let mut transcript = worked();
    said(&mut transcript, Role::Assistant, "lex is ported");
    said(&mut transcript, Role::User, "now the docs");
    compact(&mut transcript);
    let roles: Vec<Role> = transcript.messages().iter().map(|message| message.role).collect();
    assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{roles:?}");
    assert_eq!(roles.first(), Some(&Role::User));
    assert_eq!(roles.last(), Some(&Role::User));
    let last = transcript.messages().last().unwrap().parts.last().unwrap();
    assert_eq!(*last, Part::text("now the docs"));
}

#[test]
fn what_a_token_weighs_is_not_forgotten() {
    let mut transcript = worked();
    let usage =
        zdx_protocol::Usage { input_tokens: 4_000, output_tokens: 10, ..zdx_protocol::Usage::default() };
    transcript.absorb(Record::Usage(record::UsageRecord { usage, ts: record::now() }));
    let learnt = transcript.size().learnt;
    compact(&mut transcript);
    assert!(learnt.is_some());
    assert_eq!((transcript.size().learnt, transcript.size().reported), (learnt, None));
    assert_eq!(transcript.usage, usage);
}

/// What a server refuses again and again ends up as little as a context can be, and never as nothing at all.
#[test]
fn each_squeeze_makes_it_smaller_also_when_only_a_summary_is_left() {
    let mut transcript = worked();
    for n in 0..4 {
        said(&mut transcript, Role::User, &format!("wish {n} {}", "w".repeat(1_500)));
        said(&mut transcript, Role::Assistant, "ok");
    }
    compact(&mut transcript);
    let mut before = transcript.size().total();
    for squeeze in [Squeeze::Tight, Squeeze::Last] {
        let plan =
            plan(&transcript, &gauge(&transcript), Trigger::Refused, squeeze).expect("less is possible");
        let compaction = plan.finish(None, &transcript);
        transcript.apply(&Record::Compaction(Box::new(compaction)));
        assert!(transcript.size().total() < before, "{squeeze:?}: {} of {before}", transcript.size().total());
        before = transcript.size().total();
    }
    assert!(
        text_of(&transcript).contains("wish 3"),
        "the newest wish is the last to go: {}",
        text_of(&transcript)
    );
}

#[test]
fn what_was_just_attached_outlives_a_compaction_and_alone_it_is_none() {
    let file = format!("@file:a.rs\n{}", "a".repeat(9_000));
    let mut first = Transcript::default();
    said(&mut first, Role::System, &file);
    said(&mut first, Role::User, &format!("explain {}", "x".repeat(20_000)));
    for squeeze in Squeeze::ALL {
        assert!(plan(&first, &gauge(&first), Trigger::Auto, squeeze).is_none(), "there is nothing to sum up");
    }
    let mut transcript = worked();
    said(&mut transcript, Role::System, &file);
    said(&mut transcript, Role::User, "explain");
    compact(&mut transcript);
    let parts: Vec<&Part> = transcript.messages().iter().flat_map(|message| &message.parts).collect();
    assert!(parts.iter().any(|part| part.as_text() == Some(file.as_str())), "{parts:?}");
    said(&mut transcript, Role::Assistant, "it is a file");
    step(&mut transcript, "z", "read", json!({"path": "b"}), json!({"content": "v".repeat(9_000)}));
    let compaction = compact(&mut transcript);
    assert!(
        compaction.files.iter().any(|file| file.path == "a.rs"),
        "later it is named: {:?}",
        compaction.files
    );
}
