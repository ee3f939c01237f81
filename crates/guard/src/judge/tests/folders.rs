//! Folders outside the workspace: asked about, offered, added.

use super::*;

fn machine() -> PolicyContext {
    let mut disk = MapView::default();
    for path in ["/w", "/etc", "/data/set/sub", "/home/me/notes", "/home/me/.config"] {
        disk.insert(path, crate::FileEntry::Dir);
    }
    for path in ["/data/set/a.csv", "/data/set/AGENTS.md", "/data/b.csv", "/home/me/notes/n.md", "/home/me/x"]
    {
        disk.insert(path, crate::FileEntry::File);
    }
    PolicyContext { files: Arc::new(disk), own: Some("/home/me/.zdx".into()), ..cx(Approval::Balanced) }
}

fn with(grants: &[&str]) -> PolicyContext {
    let grants = grants.iter().map(|grant| (*grant).to_owned()).collect();
    PolicyContext { grants: Arc::new(grants), ..machine() }
}

fn target(path: &str) -> Target {
    Target { path: path.into(), inside: path.starts_with("/w"), exists: true, led_out: false }
}

fn read(path: &str) -> Action {
    Action::Read { tool: "read".to_owned(), targets: vec![target(path)] }
}

fn command(text: &str) -> Action {
    Action::Command { command: text.to_owned(), cwd: "/w".into(), origin: Origin::Model }
}

fn writing(path: &str) -> Action {
    Action::Write { tool: "write".to_owned(), targets: vec![target(path)] }
}

#[test]
fn a_path_outside_is_asked_about_and_denied_where_nobody_can_answer() {
    let nobody = PolicyContext { person: false, ..machine() };
    for action in [
        read("/data/b.csv"),
        writing("/data/b.csv"),
        command("cat /data/b.csv"),
        command("head < /data/b.csv"),
    ] {
        let asked = judge(&action, &machine());
        assert_eq!(asked.level(), Level::Ask, "{action:?}");
        let denied = judge(&action, &nobody);
        assert_eq!(code(&denied), Some(ReasonCode::ApprovalRequired), "{action:?}");
        assert!(denied.reason().unwrap().message.contains("/data/b.csv"), "{denied:?}");
    }
    let message = judge(&read("/data/b.csv"), &nobody).reason().unwrap().message.clone();
    assert!(message.ends_with("run interactively, or pass --add-dir FOLDER"), "{message}");
    // An option that answers what is dangerous does not answer this.
    let agreed = PolicyContext { allow_dangerous: true, ..nobody };
    for action in [command("rm /data/b.csv"), writing("/home/me/.bashrc")] {
        assert_eq!(judge(&action, &agreed).level(), Level::Deny, "{action:?}");
    }
}

#[test]
fn an_added_folder_counts_like_the_workspace() {
    let cx = with(&["folder /data/set"]);
    for (action, expected) in [
        (read("/data/set"), Level::Allow),
        (read("/data/set/sub/new.csv"), Level::Allow),
        (read("/data/settings"), Level::Ask),
        (read("/data/b.csv"), Level::Ask),
        (writing("/data/set/a.csv"), Level::Ask),
        (writing("/data/set/.git/config"), Level::Confirm),
        (command("cat /data/set/a.csv"), Level::Allow),
        (command("head -3 /data/set/a.csv | sort"), Level::Allow),
        (command("cat /data/set/a.csv /data/b.csv"), Level::Ask),
        (command("touch /data/set/new"), Level::Ask),
        (command("rm /data/set/a.csv"), Level::Confirm),
        (command("rm -rf /data/set/../../home/me"), Level::Deny),
    ] {
        assert_eq!(judge(&action, &cx).level(), expected, "{action:?}");
    }
    let why = judge(&writing("/data/set/a.csv"), &cx).reason().unwrap().message.clone();
    assert_eq!(why, "it changes a file; the rules ask first");
    let edits = with(&["folder /data/set", "edits"]);
    assert_eq!(judge(&writing("/data/set/a.csv"), &edits), Verdict::Allow);
    assert_eq!(judge(&writing("/data/set/AGENTS.md"), &edits).level(), Level::Ask);
    assert_eq!(judge(&writing("/data/b.csv"), &edits).level(), Level::Ask);
    let paranoid = PolicyContext { approval: Approval::Paranoid, ..cx };
    let why = judge(&read("/data/set/a.csv"), &paranoid).reason().unwrap().message.clone();
    assert!(!why.contains("outside"), "{why}");
}

#[test]
fn a_written_rule_about_paths_outside_stands_over_added_folders() {
    let rules = |permission| PolicyContext { rules: global(&permission), ..with(&["folder /data/set"]) };
    let denied = rules(serde_json::json!({"external_directory": {"/data/set/sub/**": "deny"}}));
    for action in [read("/data/set/sub/x"), command("cat /data/set/sub/x"), command("head /data/set/sub/x")] {
        assert_eq!(judge(&action, &denied).level(), Level::Deny, "{action:?}");
    }
    assert_eq!(judge(&read("/data/set/a.csv"), &denied), Verdict::Allow);
    let allowed = rules(serde_json::json!({"external_directory": {"/data/**": "allow"}}));
    assert_eq!(judge(&read("/data/b.csv"), &allowed), Verdict::Allow);
    assert_eq!(judge(&read("/home/me/x"), &allowed).level(), Level::Ask);
}

#[test]
fn the_folder_of_a_file_is_offered_and_never_too_much() {
    let cx = machine();
    for (action, folder) in [
        (read("/data/b.csv"), Some("folder /data")),
        (read("/data/set"), Some("folder /data/set")),
        (writing("/data/set/new.csv"), Some("folder /data/set")),
        (command("cat /data/set/a.csv | wc -l"), Some("folder /data/set")),
        (command("cp /data/set/a.csv ."), Some("folder /data/set")),
        (command("cat /data/set/a.csv /data/b.csv"), Some("folder /data")),
        (command("cat /data/set/a.csv /home/me/notes/n.md"), None),
        (read("/home/me/notes/n.md"), Some("folder /home/me/notes")),
        // The whole disk, a home and what is around it, and where keys are.
        (read("/x"), None),
        (read("/"), None),
        (read("/home/me/x"), None),
        (read("/home/me"), None),
        (read("/home/x"), None),
        (read("/home/me/.config/gh"), None),
        (read("/home/me/.config"), None),
        (read("/home/me/.zdx/config.toml"), None),
        (read("/etc/hosts"), None),
        (read("/proc/1/status"), None),
        (command("ls ~"), None),
        (command("ls /"), None),
        (read("/w/a"), None),
    ] {
        assert_eq!(wider_grant(&action, &cx).as_deref(), folder, "{action:?}");
    }
    let denied = PolicyContext { rules: global(&serde_json::json!({"external_directory": "deny"})), ..cx };
    assert_eq!(wider_grant(&read("/data/b.csv"), &denied), None);
}
