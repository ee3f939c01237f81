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
            4 => ran(&id, "cargo check", &many, 0),
            8 if n < 30 => ran(&id, "git status", "clean\n", 0),
            9 => call(&id, "grep", json!({"pattern": "x"}), json!({"matches": 1, "files": 1})),
            _ => read(&id, &format!("src/{n}.rs")),
        });
    }
    shown.tell([over(Outcome::Completed)]);
    assert!(shown.settled.len() <= 12, "{}\n{}", shown.settled.len(), shown.settled.join("\n"));
}

#[test]
fn many_commands_in_a_row_are_one_line_and_the_last_shows_what_it_said() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    for (n, command) in ["cargo check", "git status", "cargo test"].iter().enumerate() {
        shown.tell(ran(&n.to_string(), command, "out\n", 0));
    }
    let few = [
        "• Ran cargo check · 2.1 s · exit 0 · +1 line",
        "• Ran git status · 2.1 s · exit 0 · +1 line",
        "• Ran cargo test · 2.1 s · exit 0",
        "    out",
    ];
    assert_eq!(shown.live()[1..], few);
    shown.tell(ran("3", "cd web && RUST_LOG=debug /bin/ls", "a\nb\n", 0));
    let many = [
        "• Ran 3 commands · cargo check, git status, cargo test · 6.3 s",
        "• Ran cd web && RUST_LOG=debug /bin/ls · 2.1 s · exit 0",
        "    a",
        "    b",
    ];
    assert_eq!(shown.live()[1..], many);
    shown.tell(read("4", "src/a.rs"));
    assert_eq!(
        shown.live()[1..],
        ["• Ran 4 commands, read 1 file · cargo check, git status, cargo test, ls… · 8.4 s"]
    );
    shown.tell([requested("5", "bash", json!({"command": "make"})), started("5", "bash")]);
    shown.tell([Event::ToolProgress { id: "5".into(), chunk: "half\n".into() }]);
    assert_eq!(shown.live()[2..], ["• Running make · 0 s", "    half"]);
    assert_eq!(shown.settled, ["› go"], "nothing of it is given while it can still be folded");
    shown.tell([finished("5", "bash", ToolOutput::Ok(printed("done\n", 0)), None), delta("Fine.")]);
    assert_eq!(shown.settled[3..], ["• Ran make · 2.1 s · exit 0", "    done"]);
    let whole = shown.whole();
    assert_eq!(whole.iter().filter(|row| row.starts_with("• Ran ")).count(), 5, "{whole:#?}");
}

#[test]
fn a_failure_ends_a_run_and_shows_what_it_said() {
    let mut shown = Shown::new(80);
    shown.tell([prompt("go")]);
    shown.tell((0..6).flat_map(|n| ran(&n.to_string(), "true", "", 0)));
    shown.tell(ran("6", "make", "no rule\n", 2));
    shown.tell((7..13).flat_map(|n| ran(&n.to_string(), "true", "", 0)));
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
    shown.tell((0..5).flat_map(|n| ran(&n.to_string(), "true", "", 0)));
    shown.tell([requested("5", "bash", json!({"command": "make"})), allow("5")]);
    shown.tell([finished("5", "bash", ToolOutput::Ok(printed("", 0)), None)]);
    shown.tell((6..11).flat_map(|n| ran(&n.to_string(), "true", "", 0)));
    shown.tell([requested("e", "edit", json!({"path": "src/a.rs"}))]);
    shown.tell([finished("e", "edit", ToolOutput::Ok(edited), Some(DIFF)), over(Outcome::Completed)]);
    let wanted = [
        "• Ran 5 commands · true · 10.5 s",
        "• Ran make · 2.1 s · exit 0 · allowed",
        "• Ran 4 commands · true · 8.4 s",
        "• Ran true · 2.1 s · exit 0",
        "• Edited src/a.rs · 2.1 s · +1 −1",
    ];
    assert_eq!(shown.settled[2..7], wanted);
    assert_eq!(shown.settled.len(), 10, "the diff is there: {:?}", shown.settled);
}
