//! What a grant covers, exactly and wider.

use super::*;

#[test]
fn a_grant_covers_exactly_what_was_shown() {
    let mut cx = cx(Approval::Balanced);
    let action = |command: &str| Action::Command {
        command: command.to_owned(),
        cwd: "/w".into(),
        origin: Origin::Model,
    };
    let key = grant_key(&action("cargo   test"), &cx).unwrap();
    cx.grants = Arc::new([key, grant_key(&action("rm x"), &cx).unwrap()].into_iter().collect());
    assert_eq!(run("cargo test", &cx), Verdict::Allow);
    assert_eq!(run("cargo test -p x", &cx).level(), Level::Ask);
    assert_eq!(run("cargo test && rm y", &cx).level(), Level::Confirm);
    assert_eq!(run("rm x", &cx).level(), Level::Confirm);
}

#[test]
fn a_wider_grant_covers_every_command_that_begins_so_and_no_other() {
    let mut cx = cx(Approval::Balanced);
    let grants = ["every cargo test", "every rm", "every sh -c", "every git commit"];
    cx.grants = Arc::new(grants.map(str::to_owned).into_iter().collect());
    for (command, expected) in [
        ("cargo test", Level::Allow),
        ("cargo test --lib parser -- --nocapture", Level::Allow),
        ("cargo test 2>&1 | grep x", Level::Allow),
        ("cargo test -p a && cargo test -p b", Level::Allow),
        ("git commit -m 'rm -rf x'", Level::Allow),
        ("cargo testament", Level::Ask),
        ("cargo check", Level::Ask),
        ("cargo test && cargo check", Level::Ask),
        ("cargo test > new.txt", Level::Ask),
        ("X=1 cargo test", Level::Ask),
        ("cargo test $X", Level::Ask),
        ("cargo test *", Level::Ask),
        ("cargo test $(ls)", Level::Ask),
        ("timeout 5 cargo test", Level::Ask),
        ("./cargo test", Level::Ask),
        ("cargo() { ls; }; cargo test", Level::Ask),
        ("xargs cargo test", Level::Ask),
        ("cargo test --target-dir x", Level::Ask),
        ("sh -c 'make'", Level::Ask),
        ("cargo test; rm x", Level::Confirm),
        ("cargo test --config a.b=c", Level::Confirm),
        ("cargo test > existing.txt", Level::Confirm),
        ("rm x", Level::Confirm),
        ("cargo test --manifest-path ../x/Cargo.toml", Level::Ask),
        ("cd /etc && cargo test", Level::Ask),
    ] {
        assert_eq!(run(command, &cx).level(), expected, "{command}");
    }
    let elsewhere =
        Action::Command { command: "cargo test".to_owned(), cwd: "/tmp".into(), origin: Origin::Model };
    assert_ne!(judge(&elsewhere, &cx), Verdict::Allow);
    cx.approval = Approval::Paranoid;
    assert_eq!(run("cargo test", &cx), Verdict::Allow);
    cx.rules = global(&serde_json::json!({"bash": {"cargo *": "deny"}}));
    assert_eq!(run("cargo test", &cx).level(), Level::Deny);
}

#[test]
fn a_wider_grant_is_offered_where_it_would_do() {
    let cx = cx(Approval::Balanced);
    let offered = |command: &str| {
        let cwd = "/w".into();
        wider_grant(&Action::Command { command: command.to_owned(), cwd, origin: Origin::Model }, &cx)
    };
    for command in ["cargo test", "cargo test --lib x 2>&1", "cargo test | cat", "ls && cargo test"] {
        assert_eq!(offered(command).as_deref(), Some("every cargo test"), "{command}");
    }
    for command in [
        "cargo test > new.txt",
        "X=1 cargo test",
        "cargo test $X",
        "cargo test && cargo check",
        "cargo test && python x.py",
        "cargo test; rm x",
        "python -m pytest",
        "npx jest",
        "curl x",
        "sh x.sh",
        "rm x",
    ] {
        assert_eq!(offered(command), None, "{command}");
    }
}

#[test]
fn all_edits_are_those_of_plain_files_in_the_workspace() {
    let mut cx = cx(Approval::Balanced);
    cx.grants = Arc::new(["edits".to_owned()].into_iter().collect());
    for (path, expected) in [
        ("/w/a.txt", Level::Allow),
        ("/w/sub/new.rs", Level::Allow),
        ("/w/AGENTS.md", Level::Ask),
        ("/w/sub/CLAUDE.md", Level::Ask),
        ("/w/.git/config", Level::Confirm),
        ("/w/.mcp.json", Level::Confirm),
        ("/home/me/x", Level::Ask),
    ] {
        assert_eq!(write(path, &cx).level(), expected, "{path}");
        let target =
            Target { path: path.into(), inside: path.starts_with("/w"), exists: false, led_out: false };
        let action = Action::Write { tool: "patch".to_owned(), targets: vec![target] };
        let offered = wider_grant(&action, &PolicyContext { grants: Arc::default(), ..cx.clone() });
        assert_eq!(offered.is_some(), expected == Level::Allow, "{path}");
    }
    assert_eq!(run("touch new.txt", &cx).level(), Level::Ask, "a command is no edit");
    cx.rules = global(&serde_json::json!({"edit": "deny"}));
    assert_eq!(write("/w/a.txt", &cx).level(), Level::Deny);
}
