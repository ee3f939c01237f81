//! Calls that were refused or broken off, and what was thought between calls: nothing of it is lost.

use std::path::PathBuf;

use zdx_protocol::{Action, ApprovalRequest, Danger, Reason, ReasonCode};

use super::*;

/// The question about a call that would change a file.
fn asked(id: &str) -> Event {
    let path = PathBuf::from("src/a.rs");
    Event::ApprovalRequested(ApprovalRequest {
        request: RequestId(1),
        agent: None,
        task: None,
        id: id.to_owned(),
        tool: "edit".into(),
        action: Action::Write { tool: "edit".into(), targets: Vec::new() },
        preview: Preview::Change {
            path,
            operation: zdx_protocol::Operation::Updated,
            additions: 1,
            deletions: 1,
            diff: DIFF.into(),
        },
        danger: Danger::Ask,
        reason: Reason { code: ReasonCode::ApprovalRequired, message: "the rules ask".into(), rule: None },
        grant: None,
        wider: None,
        approval: None,
    })
}

#[test]
fn a_refused_change_says_what_and_keeps_its_diff_to_be_read() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go"), requested("1", "edit", json!({"path": "src/a.rs"})), asked("1")]);
    let decision = Decision::Deny { word: Some("use the trait".into()) };
    let (request, id) = (RequestId(1), "1".to_owned());
    shown.tell([Event::ApprovalResolved { request, id, decision, grant: None, by: None }]);
    let rejected = ToolOutput::error(ToolCode::Rejected, "the user said no: use the trait");
    shown.tell([finished("1", "edit", rejected, None), over(Outcome::Completed)]);
    assert_eq!(shown.settled[2..], ["✗ Edit src/a.rs · denied: use the trait"]);
    let whole = shown.whole();
    assert!(whole.iter().any(|row| row.contains("three")), "{whole:#?}");
}

#[test]
fn a_no_reads_the_same_whatever_it_was_said_to() {
    let table = [
        ("read", json!({"path": "src/a.rs"}), "✗ Read src/a.rs · denied"),
        ("edit", json!({"path": "src/a.rs"}), "✗ Edit src/a.rs · denied"),
        ("bash", json!({"command": "make"}), "✗ Run make · denied"),
    ];
    for (name, input, row) in table {
        let decision = Decision::Deny { word: None };
        let (request, id) = (RequestId(1), "1".to_owned());
        let no = Event::ApprovalResolved { request, id, decision, grant: None, by: None };
        let rejected = ToolOutput::error(ToolCode::Rejected, "the user said no");
        let told =
            [prompt("go"), requested("1", name, input), asked("1"), no, finished("1", name, rejected, None)];
        let mut shown = Shown::new(80);
        shown.tell(told.clone()).tell([over(Outcome::Completed)]);
        assert_eq!(shown.settled[2..], [row]);
        let mut again = Shown::new(80);
        again.tell(told.map(|event| Event::Replayed { event: Box::new(event) }));
        again.tell([Event::StateChanged { state: zdx_protocol::TurnState::Idle }]);
        assert_eq!(again.settled[2..], [row], "told again");
    }
}

#[test]
fn what_was_broken_off_at_its_question_never_ran() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go"), requested("1", "bash", json!({"command": "git commit"})), asked("1")]);
    shown.tell([Event::ApprovalWithdrawn { request: RequestId(1), id: "1".into() }]);
    let stopped = ToolOutput::error(ToolCode::NotRun, "it never ran");
    shown.tell([finished("1", "bash", stopped, None), Event::Interrupted, over(Outcome::Interrupted)]);
    assert_eq!(shown.settled[2], "✗ Run git commit · not run: interrupted");
}

#[test]
fn all_that_a_stopped_command_printed_can_be_read() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go"), requested("1", "bash", json!({"command": "make"})), started("1", "bash")]);
    for n in 1..=38 {
        shown.tell([Event::ToolProgress { id: "1".into(), chunk: format!("line {n}\n") }]);
    }
    assert_eq!(shown.live()[2..], ["    line 36", "    line 37", "    line 38"]);
    shown.tell([Event::Interrupted, over(Outcome::Interrupted)]);
    assert_eq!(shown.settled[3..5], ["    +33 lines, Ctrl-O to expand", "    line 34"]);
    let whole = shown.whole();
    let lines: Vec<String> = whole.into_iter().filter(|row| row.contains(" line ")).collect();
    assert_eq!(lines, (1..=38).map(|n| format!("    line {n}")).collect::<Vec<_>>());
}

#[test]
fn what_was_thought_behind_calls_that_were_folded_can_be_read() {
    let think = |text: &str| Event::ReasoningDelta { text: text.into() };
    let mut shown = Shown::new(80);
    shown.tell([prompt("go"), think("before")]).tell(read("1", "a")).tell(read("2", "b"));
    shown.tell([think("between")]).tell(read("3", "c"));
    shown.tell([think("behind"), delta("So."), said("So.")]);
    let whole = shown.whole();
    for thought in ["before", "between", "behind"] {
        assert!(whole.iter().any(|row| row.trim() == thought), "{thought}: {whole:#?}");
    }
    // One that goes on, too, from its beginning.
    shown.tell([think(&format!("first\n{}", "and on\n".repeat(600)))]);
    assert!(shown.whole().iter().any(|row| row.trim() == "first"));
}

#[test]
fn what_was_allowed_is_told_whole_in_a_narrow_window() {
    let mut shown = Shown::new(40);
    shown.tell([prompt("go"), requested("1", "bash", json!({"command": "make test"})), asked("1")]);
    let decision = Decision::AllowAlways { scope: zdx_protocol::GrantScope::Session, wider: false };
    let (request, id, grant) = (RequestId(1), "1".to_owned(), Some("bash make test".to_owned()));
    shown.tell([Event::ApprovalResolved { request, id, decision, grant, by: None }]);
    let done = ToolOutput::Ok(json!({"stdout": "", "exit_code": 0}));
    shown.tell([finished("1", "bash", done, None), over(Outcome::Completed)]);
    assert_eq!(
        shown.settled[2..4],
        ["✓ allowed for this session: the command", "  make test"],
        "{:?}",
        shown.settled
    );
}

#[test]
fn an_answer_that_its_check_refutes_is_neither_plan_nor_answer() {
    let mut shown = Shown::new(80);
    let checked = zdx_protocol::Checked {
        id: "check-1-1".into(),
        command: "make test".into(),
        result: zdx_protocol::CheckResult::Failed,
        attempt: 1,
        attempts: 2,
    };
    shown.tell([prompt("go"), Event::AssistantDelta { text: "All done.".into() }]);
    shown.tell([Event::Checked(checked), Event::AssistantDelta { text: "Mended.".into() }]);
    shown.tell([over(Outcome::Completed)]);
    let marks: Vec<&String> = shown.settled.iter().filter(|row| row.starts_with('—')).collect();
    assert_eq!(marks.len(), 1, "{:?}", shown.settled);
    assert!(marks[0].starts_with("— ANSWER"));
}
