use serde_json::json;
use zdx_protocol::record::{self, Message, Record, Shell, ShellEnd, ToolUse};
use zdx_protocol::{Role, Todo, TodoStatus, ToolOutput};

use super::*;

fn noted(records: impl IntoIterator<Item = Record>) -> SessionActivity {
    let mut activity = SessionActivity::default();
    records.into_iter().for_each(|record| activity.note(record));
    activity.end();
    activity
}

fn said(role: Role, text: &str) -> Record {
    Record::Message(Message::new(role, text, record::now()))
}

fn ran(command: &str, exit_code: i32) -> Record {
    let shell = Shell {
        command: command.to_owned(),
        end: ShellEnd::Exited { exit_code },
        duration_ms: None,
        order: Vec::new(),
    };
    let text = format!("$ {command}\nexit code {exit_code}");
    Record::Message(Message { shell: Some(shell), ..Message::new(Role::Assistant, text, record::now()) })
}

fn called(id: &str, name: &str, input: serde_json::Value, data: serde_json::Value) -> [Record; 2] {
    let ts = record::now();
    [
        Record::ToolUse(ToolUse::new(id, name, input, ts)),
        Record::ToolResult(record::ToolResult::new(id, ToolOutput::Ok(data), ts)),
    ]
}

fn session(root: &Path) -> SessionActivity {
    let todo = |content: &str, status| Todo { id: content.to_owned(), content: content.to_owned(), status };
    let items = vec![todo("write it", TodoStatus::Completed), todo("test it", TodoStatus::InProgress)];
    let mut records = vec![said(Role::User, "build a parser")];
    records.extend(called(
        "1",
        "read_file",
        json!({"file_path": "a.rs"}),
        json!({"path": root.join("a.rs")}),
    ));
    records.extend(called("2", "write", json!({}), json!({"path": root.join("src/b.rs")})));
    records.extend(called("3", "shell", json!({"cmd": "make ok"}), json!({"exit_code": 0})));
    records.extend(called("4", "bash", json!({"command": "make bad"}), json!({"exit_code": 2})));
    records.push(Record::Todos(record::Todos { items, draft: false, ts: record::now() }));
    records.push(said(Role::Assistant, "It parses now."));
    records.push(said(Role::User, "!make typed"));
    records.push(ran("make typed", 0));
    records.push(said(Role::User, "!make trouble"));
    records.push(ran("make trouble", 2));
    records.push(said(Role::User, "now the tests"));
    noted(records)
}

fn bundle(root: &Path, activity: &SessionActivity, answer: Result<&str, NoAnswer>) -> Bundle {
    let redactor = &Redactor::new::<&str>([]).unwrap();
    Handoff { goal: "finish the *parser*", root, activity, redactor }.bundle(answer.map(str::to_owned))
}

#[test]
fn a_session_tells_all_five_sections_of_itself() {
    let root = Path::new("/work/here");
    let bundle = bundle(root, &session(root), Err(NoAnswer::Empty));
    insta::assert_snapshot!(bundle.markdown, @r"
    # Handoff

    ## Goal

    finish the *parser*

    ## Starter prompt

    ```text
    finish the *parser*

    This continues earlier work.
    It began with: build a parser
    The last request was: now the tests
    The last answer was: It parses now.
    Read first: src/b.rs, a.rs
    Open: test it
    ```

    ## Relevant files

    - src/b.rs
    - a.rs

    ## Open tasks

    - [ ] test it

    ## Repro commands

    ```sh
    make ok
    make typed
    ```
    ");
    assert!(bundle.notice.unwrap().starts_with("the model answered with nothing"));
}

#[test]
fn only_the_missing_sections_are_made_up_for() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    std::fs::write(root.join("real.rs"), "").unwrap();
    let answer =
        "## Relevant files\n- real.rs\n- invented.rs\n- ./a.rs\n## Open tasks\n- [ ] cover the edge cases\n";
    let bundle = bundle(root, &session(root), Ok(answer));
    assert!(bundle.markdown.contains("## Relevant files\n\n- real.rs\n- a.rs\n\n"), "{}", bundle.markdown);
    assert!(bundle.markdown.contains("- [ ] cover the edge cases\n"), "{}", bundle.markdown);
    assert!(bundle.markdown.contains("make ok"), "{}", bundle.markdown);
    let notice = bundle.notice.unwrap();
    assert!(notice.contains("repro commands, starter prompt"), "{notice}");
}

#[test]
fn an_empty_session_still_has_every_section() {
    let markdown = bundle(Path::new("/x"), &SessionActivity::default(), Err(NoAnswer::NoModel)).markdown;
    for heading in ["Goal", "Starter prompt", "Relevant files", "Open tasks", "Repro commands"] {
        assert!(markdown.contains(&format!("## {heading}\n")), "{markdown}");
    }
}

#[test]
fn secrets_and_escapes_stay_behind_and_fences_hold() {
    let activity = noted([said(Role::User, "x ``` y \u{1b}[2J z")].into_iter().chain(called(
        "1",
        "bash",
        json!({"command": "curl -H 'authorization: Bearer sk-proj-abcdefghijklmnopqrstuvwxyz0123456789'"}),
        json!({"exit_code": 0}),
    )));
    let markdown = bundle(Path::new("/x"), &activity, Err(NoAnswer::ToolCall)).markdown;
    assert!(!markdown.contains("sk-proj-abc") && !markdown.contains('\u{1b}'), "{markdown}");
    assert!(markdown.contains("````text\n"), "{markdown}");
}

#[test]
fn what_was_reverted_is_not_told() {
    let root = Path::new("/work/here");
    let mut past = session(root);
    past.note(said(Role::User, "a wrong turn"));
    for record in called("9", "write", json!({}), json!({"path": root.join("wrong.rs")})) {
        past.note(record);
    }
    past.note(Record::Revert(record::Revert { turn: 5, files: Vec::new(), left: None, ts: record::now() }));
    let reverted = bundle(root, &past, Err(NoAnswer::Empty)).markdown;
    assert!(!reverted.contains("wrong"), "{reverted}");
    past.note(Record::Redo(record::Redo { files: Vec::new(), ts: record::now() }));
    assert!(bundle(root, &past, Err(NoAnswer::Empty)).markdown.contains("wrong.rs"));
}

#[test]
fn paths_are_told_from_the_root() {
    let from = |path: &str| relative(Path::new(path), Some(Path::new("/work/here")));
    assert_eq!(from("/work/here/src/a.rs"), "src/a.rs");
    assert_eq!(from("/work/there/a.rs"), "../there/a.rs");
    assert_eq!(from("/etc/hosts"), "/etc/hosts");
}
