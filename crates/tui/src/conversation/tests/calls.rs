//! Calls from their first word to their end, alone, side by side and of a task.

use super::*;

#[test]
fn a_call_that_is_being_written_names_its_file_and_grows_in_one_row() {
    let mut shown = Shown::new(40);
    shown.tell([
        prompt("go"),
        announced("write", None, None),
        announced("write", Some("src/a.rs"), Some(30)),
    ]);
    assert_eq!(shown.live(), ["", "• preparing write src/a.rs …"]);
    shown.tell([announced("write", Some("a\u{1b}/long/path/to/some/file.rs"), Some(12_345))]);
    let live = shown.live();
    assert!(live.len() == 2 && live[1].ends_with(".rs · 12 kB") && !live[1].contains('\u{1b}'), "{live:?}");
}

#[test]
fn a_running_call_shows_its_end_and_seconds() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    shown.tell([announced("bash", None, None)]);
    assert_eq!(shown.live(), ["", "• preparing bash …"]);
    shown.tell([requested("1", "bash", json!({"command": "make"})), started("1", "bash")]);
    shown.tell((1..9).map(|n| Event::ToolProgress { id: "1".into(), chunk: format!("{n} %\rstep {n}\n") }));
    shown.now += Duration::from_secs(3);
    assert!(shown.conversation.needs_tick());
    assert_eq!(shown.live()[1..], ["• Running make · 3 s", "    step 6", "    step 7", "    step 8"]);
    assert_eq!(shown.whole()[1..3], ["• Running make · 3 s", "    step 1"], "read whole, it is not missing");
    shown.tell([finished("1", "bash", ToolOutput::Ok(printed("a\n\n", 0)), None)]);
    assert_eq!(shown.live()[1..], ["• Ran make · 2.1 s · exit 0", "    a"]);
    assert_eq!(shown.settled, ["› go"]);
    assert!(!shown.conversation.needs_tick());
    shown.tell([delta("fine")]);
    assert_eq!(shown.settled, ["› go", "", "• Ran make · 2.1 s · exit 0", "    a"]);
}

#[test]
fn calls_side_by_side_are_committed_in_order() {
    let mut shown = Shown::new(80);
    let bash =
        |id: &str| [requested(id, "bash", json!({"command": format!("job {id}")})), started(id, "bash")];
    shown.tell([prompt("go")]).tell(bash("1")).tell(bash("2"));
    shown.tell([finished("2", "bash", ToolOutput::Ok(printed("", 0)), None)]);
    assert_eq!(shown.settled, ["› go"]);
    assert_eq!(shown.live(), ["", "• Running job 1 · 2 s", "• Ran job 2 · 2.1 s · exit 0"]);
    shown.tell([finished("1", "bash", ToolOutput::Ok(printed("", 1)), None), delta("x")]);
    assert_eq!(shown.settled[2..], ["✗ Ran job 1 · 2.1 s · exit 1", "• Ran job 2 · 2.1 s · exit 0"]);
}

#[test]
fn an_answered_question_is_a_line() {
    let answer = |id: &str, decision: Decision| {
        let (request, id) = (RequestId(1), id.to_owned());
        Event::ApprovalResolved { request, id, decision, grant: None, by: None }
    };
    let rejected = ToolOutput::error(ToolCode::Rejected, "the user said no: use git clean");
    let mut shown = Shown::new(80);
    shown.tell([
        prompt("go"),
        requested("1", "bash", json!({"command": "make"})),
        answer("1", Decision::AllowOnce),
    ]);
    shown.tell([finished("1", "bash", ToolOutput::Ok(printed("", 0)), None)]);
    let deny = Decision::Deny { word: Some("use git clean".into()) };
    shown.tell([requested("2", "bash", json!({"command": "rm -rf build"})), answer("2", deny)]);
    shown.tell([finished("2", "bash", rejected, None), over(Outcome::Completed)]);
    assert_eq!(
        shown.settled[2..],
        ["• Ran make · 2.1 s · exit 0 · allowed", "✗ Run rm -rf build · denied: use git clean"]
    );
}

#[test]
fn a_task_counts_what_its_agent_does() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go"), requested("t", "task", json!({"agent": "explore", "description": "find it"}))]);
    shown.tell([started("t", "task")]);
    for n in 1..=3 {
        let (id, origin) = (format!("t/{n}"), CallOrigin::Subagent);
        let (name, input, parent) =
            ("read".to_owned(), json!({"path": format!("{n}.rs")}), Some("t".to_owned()));
        shown.tell([Event::ToolRequested { id, name, input, raw: None, signature: None, origin, parent }]);
    }
    assert_eq!(shown.live()[2], "    Read 3.rs", "it has not begun");
    shown.tell([started("t/3", "read")]);
    let chunk = "explore: read path=\"3.rs\"\n".to_owned();
    shown.tell([Event::ToolProgress { id: "t".into(), chunk }]);
    assert_eq!(shown.live()[1..], ["• Task explore: find it · 0 s · 3 calls", "    Reading 3.rs"]);
    let missing = ToolOutput::error(ToolCode::Enoent, "no such file: 1.rs");
    shown.tell([finished("t/1", "read", missing, None)]);
    shown.tell(
        (2..=3).map(|n| finished(&format!("t/{n}"), "read", ToolOutput::Ok(json!({"content": "a\n"})), None)),
    );
    let report = json!({"agent": "explore", "report": "It is in **2.rs**."});
    shown.tell([finished("t", "task", ToolOutput::Ok(report), None), over(Outcome::Completed)]);
    assert_eq!(
        shown.settled[2..],
        ["• Task explore: find it · 2.1 s · 3 calls · 1 failed", "    It is in **2.rs**."]
    );
    let whole = [
        "  ✗ Read 1.rs · failed",
        "    no such file: 1.rs",
        "  • Read 2.rs · 1 line",
        "  • Read 3.rs · 1 line",
        "",
        "    It is in 2.rs.",
    ];
    assert_eq!(shown.whole()[3..], whole);
}

#[test]
fn what_was_answered_says_so_while_others_wait_for_theirs() {
    let answer = |id: &str, decision: Decision| {
        let (request, id) = (RequestId(1), id.to_owned());
        Event::ApprovalResolved { request, id, decision, grant: None, by: None }
    };
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    shown.tell(["1", "2", "3"].map(|id| requested(id, "read", json!({"path": id}))));
    shown.tell([answer("1", Decision::AllowOnce), answer("2", Decision::Deny { word: None })]);
    assert_eq!(shown.live()[1..], ["• Read 1 · allowed", "• Read 2 · denied", "• Read 3 · waiting"]);
}

#[test]
fn what_was_left_out_of_an_output_is_not_counted_as_a_line() {
    let head: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let text = format!("{head}\n[zdx: 1234567 of 1300000 bytes left out here; the whole is in /x]\n{head}");
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]).tell(ran("1", "yes", &text, 0)).tell([delta("So.")]);
    let note = "    +75 lines and 1.2 MB that were left out, Ctrl-O to expand";
    assert_eq!(shown.settled[3], note, "{:?}", shown.settled);
}

#[test]
fn the_lines_of_a_gap_are_counted_where_somebody_counted_them() {
    let head: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let cut = "[... 9000 bytes (100 lines) left out to fit the context; run it again ...]";
    let text = format!(
        "{head}[zdx: 50000 of 70000 bytes (1000 lines) left out here; the whole is in /x]\n{cut}\nend\n"
    );
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]).tell(ran("1", "seq 1 1141", &text, 0)).tell([delta("So.")]);
    assert_eq!(shown.settled[3], "    +1136 lines, Ctrl-O to expand", "{:?}", shown.settled);
    assert_eq!(shown.settled.last().unwrap(), "    end");
}
