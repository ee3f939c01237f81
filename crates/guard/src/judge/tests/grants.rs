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
    let families = ["cargo test", "git commit -m x"].map(|command| offered(command, "/w", &cx).unwrap());
    let never = ["every rm", "every sh -c"].map(str::to_owned);
    cx.grants = Arc::new(families.into_iter().chain(never).collect());
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

fn offered(command: &str, cwd: &str, cx: &PolicyContext) -> Option<String> {
    wider_grant(&Action::Command { command: command.to_owned(), cwd: cwd.into(), origin: Origin::Model }, cx)
}

/// A project with a file for each family, and a folder with another project in it.
fn projects(change: impl FnOnce(&mut MapView)) -> PolicyContext {
    let mut disk = MapView::default();
    for (name, text) in [
        ("Cargo.toml", "[package]"),
        ("package.json", "{}"),
        ("Makefile", "test:"),
        ("go.mod", "module x"),
        ("pyproject.toml", "[tool]"),
        ("src/main.rs", "fn main() {}"),
        ("sub/Cargo.toml", "[package]"),
        ("other/deep/x", ""),
    ] {
        disk.write(format!("/w/{name}"), text);
    }
    change(&mut disk);
    PolicyContext { files: Arc::new(disk), ..cx(Approval::Balanced) }
}

#[test]
fn a_family_is_asked_about_again_once_a_project_file_changed() {
    for (command, file) in [
        ("cargo test", "Cargo.toml"),
        ("cargo test", "build.rs"),
        ("cargo build", ".cargo/config.toml"),
        ("cargo check", "rust-toolchain.toml"),
        ("npm test", "package.json"),
        ("npm run lint", "package.json"),
        ("pnpm run lint", "package.json"),
        ("yarn test", "package.json"),
        ("make test", "Makefile"),
        ("make test", "GNUmakefile"),
        ("go test ./...", "go.mod"),
        ("go build", "go.work"),
        ("pytest -q", "pyproject.toml"),
        ("pytest -q", "conftest.py"),
        ("git commit -m x", ".pre-commit-config.yaml"),
        ("git add x", ".gitattributes"),
    ] {
        let before = projects(|_| ());
        let grants = Arc::new([offered(command, "/w", &before).unwrap()].into_iter().collect());
        let judged =
            |cx: PolicyContext| run(command, &PolicyContext { grants: Arc::clone(&grants), ..cx }).level();
        assert_eq!(judged(before), Level::Allow, "{command}");
        let code_changed = projects(|disk| disk.write("/w/src/main.rs", "fn main() { x() }"));
        assert_eq!(judged(code_changed), Level::Allow, "{command}");
        let changed = projects(|disk| disk.write(format!("/w/{file}"), "something else"));
        assert_eq!(judged(changed), Level::Ask, "{command} after {file}");
        let linked = projects(|disk| {
            disk.insert(format!("/w/{file}"), crate::FileEntry::Link("src/main.rs".into()));
        });
        assert_eq!(judged(linked), Level::Ask, "{command} with a link for {file}");
    }
}

#[test]
fn a_family_is_granted_for_one_folder() {
    let cx = projects(|_| ());
    let here = offered("cargo test", "/w", &cx).unwrap();
    let grants = Arc::new([here].into_iter().collect());
    let cx = PolicyContext { grants, ..cx };
    for (command, cwd, expected) in [
        ("cargo test", "/w", Level::Allow),
        ("cd . && cargo test", "/w", Level::Allow),
        ("cargo test", "/w/sub", Level::Ask),
        ("cd sub && cargo test", "/w", Level::Ask),
        ("cd sub; cargo test", "/w", Level::Ask),
        ("cd .. && cargo test", "/w/sub", Level::Allow),
        ("cd $x && cargo test", "/w", Level::Ask),
        ("cd nowhere || cargo test", "/w", Level::Ask),
        ("ls || cd sub; cargo test", "/w", Level::Ask),
        ("cargo test", "/w/other/deep", Level::Ask),
        // The project files may be other ones by the time they are read.
        ("touch x && cargo test", "/w", Level::Ask),
        ("echo >> Cargo.toml; cargo test", "/w", Level::Ask),
        ("cargo test --manifest-path sub/Cargo.toml", "/w", Level::Ask),
    ] {
        let action = Action::Command { command: command.to_owned(), cwd: cwd.into(), origin: Origin::Model };
        assert_eq!(judge(&action, &cx).level(), expected, "{command} in {cwd}");
    }
    let allowed = PolicyContext { rules: global(&serde_json::json!({"bash": {"touch *": "allow"}})), ..cx };
    assert_eq!(run("touch build.rs && cargo test", &allowed).level(), Level::Ask);
    assert!(offered("cargo test", "/w/sub", &allowed).unwrap().ends_with(" Cargo.toml sub"));
    // What earlier versions stored says no place: it is not taken for any.
    let old =
        PolicyContext { grants: Arc::new(["every cargo test".to_owned()].into_iter().collect()), ..allowed };
    assert_eq!(run("cargo test", &old).level(), Level::Ask);
}

#[test]
fn a_wider_grant_is_offered_where_it_would_do() {
    let cx = cx(Approval::Balanced);
    let offered = |command: &str| offered(command, "/w", &cx);
    for command in ["cargo test", "cargo test --lib x 2>&1", "cargo test | cat", "ls && cargo test"] {
        let grant = offered(command).unwrap();
        assert!(grant.starts_with("every cargo test #") && grant.ends_with(" Cargo.toml ."), "{grant}");
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
