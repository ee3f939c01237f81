//! Calls in a row.

use super::*;

#[test]
fn sixty_calls_fit_a_screenful() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    let many: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    for n in 0..60 {
        let id = n.to_string();
        shown.tell(match n % 10 {
            4 => looked(&id, "git log", &many),
            8 if n < 30 => looked(&id, "git status", "clean\n"),
            9 => call(&id, "grep", json!({"pattern": "x"}), json!({"matches": 1, "files": 1})),
            _ => read(&id, &format!("src/{n}.rs")),
        });
    }
    shown.tell([over(Outcome::Completed)]);
    assert!(shown.settled.len() <= 12, "{}\n{}", shown.settled.len(), shown.settled.join("\n"));
}

#[test]
fn many_readers_in_a_row_are_one_line_and_the_last_shows_what_it_said() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    for (n, command) in ["git log", "git status", "cat a"].iter().enumerate() {
        shown.tell(looked(&n.to_string(), command, "a\nb\n"));
    }
    let few = [
        "• Ran git log · 2.1 s · exit 0 · +2 lines",
        "• Ran git status · 2.1 s · exit 0 · +2 lines",
        "• Ran cat a · 2.1 s · exit 0",
        "    a",
        "    b",
    ];
    assert_eq!(shown.live()[1..], few);
    shown.tell(looked("3", "cd web && RUST_LOG=debug /bin/ls", "a\nb\n"));
    let many = [
        "• Ran 3 commands · git log, git status, cat · 6.3 s",
        "• Ran cd web && RUST_LOG=debug /bin/ls · 2.1 s · exit 0",
        "    a",
        "    b",
    ];
    assert_eq!(shown.live()[1..], many);
    shown.tell(read("4", "src/a.rs"));
    let fold = "• Ran 4 commands, read 1 file · git log, git status, cat, ls, src/a.rs · 8.4 s";
    assert_eq!(shown.live()[1..], [fold]);
    shown.tell([requested("5", "bash", json!({"command": "make"})), started("5", "bash")]);
    shown.tell([Event::ToolProgress { id: "5".into(), chunk: "half\n".into() }]);
    assert_eq!(shown.live()[2..], ["• Running make · 0 s", "    half"]);
    assert_eq!(shown.settled, ["› go"], "nothing of it is given while it can still be folded");
    shown.tell([finished("5", "bash", ToolOutput::Ok(printed("done\n", 0)), None), delta("Fine.")]);
    assert_eq!(shown.settled[2..], [fold, "• Ran make · 2.1 s · exit 0", "    done"]);
    let whole = shown.whole();
    assert_eq!(whole.iter().filter(|row| row.starts_with("• Ran ")).count(), 5, "{whole:#?}");
}

#[test]
fn what_may_have_changed_something_is_never_folded() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    let commands = ["touch c", "sed -i s/a/b/ c", "git add -A", "git commit -m hi", "python3 -c 1"];
    for (n, command) in commands.iter().enumerate() {
        shown.tell(ran(&n.to_string(), command, "", 0));
        // It is given as soon as the next one begins: nothing will be told with it.
        assert_eq!(shown.settled.len(), if n == 0 { 1 } else { n + 2 }, "{:?}", shown.settled);
    }
    shown.tell(call("m", "github__close", json!({"id": 1}), json!({"ok": true})));
    shown.tell([over(Outcome::Completed)]);
    let rows = commands.map(|command| format!("• Ran {command} · 2.1 s · exit 0"));
    assert_eq!(shown.settled[2..7], rows);
    assert_eq!(shown.settled[7], "• Called github__close id=1 · 2.1 s");
}

#[test]
fn a_fold_holds_neighbours_in_the_order_they_were_asked_for() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    let command = |n: usize| if n == 1 { "make".to_owned() } else { format!("cat {n}") };
    shown.tell((0..12).map(|n| requested(&n.to_string(), "bash", json!({"command": command(n)}))));
    for n in 0..12 {
        let (request, id) = (RequestId(1), n.to_string());
        if n == 1 {
            let (decision, grant) = (Decision::AllowOnce, None);
            shown.tell([Event::ApprovalResolved { request, id: id.clone(), decision, grant, by: None }]);
        }
        shown.tell(looked(&id, &command(n), "").into_iter().skip(1));
    }
    shown.tell(call("w", "todoread", json!({}), json!({}))).tell([over(Outcome::Completed)]);
    let wanted = [
        "• Ran cat 0 · 2.1 s · exit 0",
        "• Ran make · 2.1 s · exit 0 · allowed",
        "• Ran 10 commands · cat · 21.0 s",
    ];
    assert_eq!(shown.settled[2..5], wanted, "{:#?}", shown.settled);
}

#[test]
fn the_last_reader_is_in_its_fold_where_another_call_follows() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    shown.tell((0..5).flat_map(|n| looked(&n.to_string(), "cat a", "x\ny\n")));
    shown.tell([requested("w", "write", json!({"path": "a"}))]);
    assert_eq!(shown.settled[2..], ["• Ran 5 commands · cat · 10.5 s"]);
}

#[test]
fn a_mixed_fold_counts_calls_and_what_ran_side_by_side_took_its_time_once() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    shown.tell(
        (0..12).flat_map(|n| [looked(&format!("l{n}"), "ls", ""), read(&format!("r{n}"), "a")].concat()),
    );
    shown.tell([requested("w", "write", json!({"path": "a"}))]);
    assert_eq!(shown.settled[2..], ["• Ran 12 commands, read 12 files · ls, a · 25.2 s"]);

    // Of another agent, all at once.
    let mut remote = Shown::new(80);
    remote.tell([prompt("go")]);
    let ask = |n: usize| {
        let (id, name, origin) = (n.to_string(), format!("Read {n}.rs"), CallOrigin::Remote);
        let input = json!({});
        Event::ToolRequested { id, name, input, raw: None, signature: None, origin, parent: None }
    };
    remote.tell((0..4).map(ask));
    let now = remote.now;
    for n in 0..4 {
        remote.now = now;
        let (id, name, origin) = (n.to_string(), format!("Read {n}.rs"), CallOrigin::Remote);
        let (result, reads) = (ToolOutput::Ok(json!({"text": "x"})), Some(CallKind::Read));
        let duration_ms = 2_100;
        remote.tell([Event::ToolFinished {
            id,
            name,
            origin,
            result,
            diff: None,
            content: Vec::new(),
            duration_ms,
            reads,
            beside: None,
        }]);
    }
    remote.tell([over(Outcome::Completed)]);
    assert_eq!(remote.settled[2], "• Read 3 files · 0.rs, 1.rs, 2.rs · 2.1 s", "{:?}", remote.settled);
}

#[test]
fn a_failure_ends_a_run_and_shows_what_it_said() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    shown.tell((0..6).flat_map(|n| looked(&n.to_string(), "true", "")));
    shown.tell(ran("6", "make", "no rule\n", 2));
    shown.tell((7..13).flat_map(|n| looked(&n.to_string(), "true", "")));
    shown.tell([delta("So."), said("So."), over(Outcome::Completed)]);
    let wanted = [
        "• Ran 6 commands · true · 12.6 s",
        "✗ Ran make · 2.1 s · exit 2",
        "    no rule",
        "• Ran 5 commands · true · 10.5 s",
        "• Ran true · 2.1 s · exit 0",
    ];
    assert_eq!(shown.settled[2..7], wanted);
}

#[test]
fn what_was_asked_about_and_what_changed_a_file_keeps_its_line() {
    let edited = json!({"replacements": 1, "additions": 1, "deletions": 1});
    let allow = |id: &str| {
        let (request, id, decision) = (RequestId(1), id.to_owned(), Decision::AllowOnce);
        Event::ApprovalResolved { request, id, decision, grant: None, by: None }
    };
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    shown.tell((0..5).flat_map(|n| looked(&n.to_string(), "true", "")));
    shown.tell([requested("5", "bash", json!({"command": "make"})), allow("5")]);
    shown.tell([finished("5", "bash", ToolOutput::Ok(printed("", 0)), None)]);
    shown.tell((6..11).flat_map(|n| looked(&n.to_string(), "true", "")));
    shown.tell([requested("e", "edit", json!({"path": "src/a.rs"}))]);
    shown.tell([finished("e", "edit", ToolOutput::Ok(edited), Some(DIFF)), over(Outcome::Completed)]);
    let wanted = [
        "• Ran 5 commands · true · 10.5 s",
        "• Ran make · 2.1 s · exit 0 · allowed",
        "• Ran 5 commands · true · 10.5 s",
        "• Edited src/a.rs · 2.1 s · +1 −1",
    ];
    assert_eq!(shown.settled[2..6], wanted);
    assert_eq!(shown.settled.len(), 9, "the diff is there: {:?}", shown.settled);
}

#[test]
fn one_line_that_was_printed_is_shown_where_there_is_room() {
    let mut shown = Shown::new(60);
    shown.tell([prompt("go")]).tell(ran("1", "git rev-parse HEAD", "abc123\n", 0));
    shown.tell(ran("2", "cat long", &format!("{}\n", "word ".repeat(10)), 0)).tell(ran("3", "true", "", 0));
    let rows =
        ["• Ran git rev-parse HEAD · 2.1 s · exit 0 · abc123", "• Ran cat long · 2.1 s · exit 0 · +1 line"];
    assert_eq!(shown.settled[2..], rows);
}
