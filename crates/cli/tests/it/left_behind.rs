//! What a revert does not take back, and what a reader of a session is shown of its calls.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::chat::{leave, wait_for_prompt};
use crate::{SOON, with_model};

fn bash(command: &str) -> (&'static str, Value) {
    ("bash", json!({"command": command}))
}

fn turn(server: &ModelServer, calls: &[(&str, Value)]) {
    let mut reply = Reply::chat();
    for (n, (name, input)) in calls.iter().enumerate() {
        reply = reply.tool_call(&format!("c{n}"), name, input.clone());
    }
    server.push(reply);
    server.push(Reply::chat().text("done"));
}

fn only_id(zdx: &Zdx) -> String {
    zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn what_commands_changed_is_named_and_stays() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write(".gitignore", "ignored/\n");
    zdx.write("untouched.txt", "as it was");
    zdx.write("sub/old.txt", "old");
    let command = "mkdir ignored; echo x > ignored/x; echo x > made.txt; touch -d 2001-01-01 sub/old.txt";
    turn(&server, &[bash(command), ("write", json!({"path": "ours.txt", "content": "ours"}))]);
    let out = zdx.command().stdin("go\n/revert\n").run().success();
    let told = "back to before turn 1\nremoved ours.txt\n\
                changed meanwhile by commands or somebody else, and left so:\n  made.txt\n  sub/old.txt\n";
    assert!(out.stderr.contains(told), "{}", out.stderr);
    assert_eq!((zdx.read("made.txt"), zdx.read("sub/old.txt")), ("x\n".to_owned(), "old".to_owned()));
    let left = json!({"commands": true, "files": ["made.txt", "sub/old.txt"]});
    assert_eq!(out.records_of("revert")[0]["left"], left);
    let shown = zdx.run(["sessions", "show", &only_id(&zdx)]).success().stdout;
    assert!(shown.contains("left so:\n  made.txt\n  sub/old.txt\n"), "{shown}");
}

#[test]
fn that_no_file_was_touched_is_said_only_when_it_is_known() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    turn(&server, &[("list", json!({"path": "."}))]);
    turn(&server, &[bash("true")]);
    zdx.run(["exec", "-p", "look"]).success();
    zdx.run(["exec", "-c", "-p", "run it"]).success();
    let revert = |args: &[&str]| {
        let out = zdx.command().args(["sessions", "revert", &only_id(&zdx)]).args(args).run().success();
        out.stdout
    };
    assert_eq!(
        revert(&["--dry-run"]),
        "would be: back to before turn 2: the conversation only, no file was put back\n\
         commands ran: what they removed or did elsewhere is not undone; no changed file was found here\n"
    );
    zdx.write("mine.txt", "by the user's own hand");
    assert!(revert(&["--turn", "2"]).ends_with("left so:\n  mine.txt\n"));
    assert_eq!(revert(&[]), "back to before turn 1: the conversation only, for no file was changed since\n");
}

fn worked(server: &ModelServer, zdx: &Zdx) {
    zdx.write("a.txt", "old\n");
    let todos = json!([{"id": "1", "content": "plan", "status": "completed"}]);
    turn(
        server,
        &[
            bash("seq -f 'line %g' 1 30; echo oh no >&2"),
            ("edit", json!({"path": "a.txt", "old": "old", "new": "new"})),
            ("todowrite", json!({"todos": todos})),
        ],
    );
}

const TOLD: [&str; 6] = ["  … 22 more lines", "  line 30", "  oh no", "  -old", "  +new", "[x] plan"];

#[test]
fn a_session_is_shown_with_what_commands_printed_and_edits_changed() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    worked(&server, &zdx);
    let out =
        zdx.command().stdin("go\n/export told.txt\n/export told.md\n/export\n/export\n").run().success();
    assert!(
        !out.stderr.contains("line 30"),
        "in a pipe the lines of stderr are as they were: {}",
        out.stderr
    );
    let shown = zdx.run(["sessions", "show", &only_id(&zdx)]).success().stdout;
    assert_eq!(zdx.read("told.txt"), shown);
    // Without a name nothing is left in the project, and each time is a file of its own.
    let in_project = std::fs::read_dir(zdx.root()).unwrap().flatten().map(|entry| entry.file_name());
    assert!(!in_project.into_iter().any(|name| name.to_string_lossy().starts_with("zdx-")));
    let exports: Vec<_> = std::fs::read_dir(zdx.storage().join("exports")).unwrap().flatten().collect();
    assert_eq!(exports.len(), 2);
    for file in exports {
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), shown);
        assert!(out.stderr.contains(&format!("written to {}", file.path().display())), "{}", out.stderr);
    }
    for line in TOLD {
        assert!(shown.lines().any(|shown| shown == line), "{line:?} in {shown}");
    }
    assert!(!shown.contains("line 22\n"), "{shown}");
    let head = shown.lines().next().unwrap();
    let when = head.split(" · ").nth(1).unwrap();
    assert_eq!((when.len(), when.contains(['T', 'Z', '.'])), ("2026-01-01 00:00".len(), false), "{head}");
    let document = zdx.read("told.md");
    for line in [
        "## Prompt",
        "> go",
        "- Ran `seq -f 'line %g' 1 30; echo oh no >&2` · exit 0",
        "- Edited `a.txt` · +1 −1",
        "- [x] plan",
    ] {
        assert!(document.lines().any(|told| told == line), "{line:?} in {document}");
    }
    assert!(!document.contains("Tool ") && !document.contains("line 30"), "{document}");
}

/// The same for a person.
const IN_A_CHAT: [&str; 6] = [
    "• Ran seq -f 'line %g' 1 30; echo oh no >&2 · exit 0",
    "    +26 lines",
    "    line 27",
    "    oh no",
    "• Edited a.txt · +1 −1",
    "      1 + new",
];

#[test]
fn a_chat_shows_them_as_they_happen_and_again_when_it_is_resumed() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    worked(&server, &zdx);
    for (args, lines) in [(&["--yolo"][..], &["go"][..]), (&["-c"][..], &[][..])] {
        let pty = zdx.command().args(args).line_mode(60, 100);
        wait_for_prompt(&pty);
        for line in lines {
            pty.send(format!("{line}\r"));
            pty.wait_for_text("\ndone", SOON);
            wait_for_prompt(&pty);
        }
        let screen = pty.contents();
        // How long it took is said of what took long, which may be anything on a busy machine.
        let timeless = |shown: &str| {
            let parts = shown.trim_end().split(" · ").filter(|part| !part.ends_with(" s"));
            parts.collect::<Vec<_>>().join(" · ")
        };
        for line in IN_A_CHAT {
            assert!(screen.lines().any(|shown| timeless(shown) == line), "{line:?} in {screen}");
        }
        leave(pty);
    }
}

/// What was refused did nothing, in an agent's hands too.
#[test]
fn a_revert_speaks_only_of_commands_that_ran() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for command in ["sudo reboot", "true"] {
        let task = json!({"agent": "general", "prompt": "help"});
        server.push(Reply::chat().tool_call("t", "task", task));
        turn(&server, &[bash(command)]);
        server.push(Reply::chat().text("done"));
    }
    turn(&server, &[bash("sudo reboot")]);
    let told = |ran| {
        let out = zdx.command().args(["--yolo"]).stdin("go\n/revert\n").run().success();
        let back = "back to before turn 1: the conversation only, ";
        assert!(out.stderr.contains(back), "{}", out.stderr);
        assert_eq!(out.stderr.contains("commands ran: "), ran, "{}", out.stderr);
        let left = out.records_of("revert").pop().unwrap()["left"]["commands"].clone();
        assert_eq!(left, ran, "{}", out.stderr);
    };
    [false, true, false].into_iter().for_each(told);
}

/// A file that is as it should be needs nothing, and is nothing to warn of.
#[test]
fn a_file_that_is_as_it_was_is_not_told_of() {
    use std::os::unix::fs::PermissionsExt;
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "old\n");
    let write = |path: &str, content: &str| ("write", json!({"path": path, "content": content}));
    turn(&server, &[write("b.txt", "new\n")]);
    turn(&server, &[write("a.txt", "new\n")]);
    // Taken back one by one: what the first revert wrote is no change of somebody else's.
    let out = zdx.command().args(["--yolo"]).stdin("one\ntwo\n/revert\n/revert\n").run().success();
    assert!(out.stderr.contains("back to before turn 2\nrestored a.txt\n"), "{}", out.stderr);
    assert!(out.stderr.contains("back to before turn 1\nremoved b.txt\n"), "{}", out.stderr);
    assert!(!out.stderr.contains("meanwhile"), "{}", out.stderr);

    // Put back by hand, with a mode of its own.
    turn(&server, &[write("a.txt", "new\n"), bash("sleep 0"), write("c.txt", "new\n")]);
    let mut run = zdx.command().args(["--yolo"]).stdin_open().spawn();
    run.write("go\n");
    run.wait_for_stdout("done", SOON);
    zdx.write("a.txt", "old\n");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(zdx.root().join("a.txt"), mode).unwrap();
    run.write("/revert\n");
    run.close_stdin();
    let out = run.finish(SOON).success();
    assert!(out.stderr.contains("back to before turn 1\nremoved c.txt\n"), "{}", out.stderr);
    assert!(
        !out.stderr.contains("a.txt was changed since") && !out.stderr.contains("meanwhile"),
        "{}",
        out.stderr
    );
    assert_eq!(zdx.read("a.txt"), "old\n");
}

/// What a command made is a change of the session's too; what somebody else did, or zdx keeps to itself, is not.
#[test]
fn files_that_commands_changed_are_listed() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write(".gitignore", "ignored/\n");
    zdx.write("old.txt", "old\n");
    zdx.write("mine.txt", "by the user's own hand");
    let command = "mkdir ignored sub; echo x > ignored/x; echo x > sub/made.txt; touch old.txt";
    turn(&server, &[bash(command), ("write", json!({"path": "ours.txt", "content": "ours"}))]);
    let typed = "go\n/files\n!echo y > typed.txt\n/files\n";
    let out = zdx.command().args(["--yolo"]).stdin(typed).run().success();
    let told = "created ours.txt (+1)\nchanged old.txt · by a command\nchanged sub/made.txt · by a command\n";
    assert!(out.stderr.contains(told), "{}", out.stderr);
    assert!(out.stderr.contains("changed typed.txt · by a command\n"), "{}", out.stderr);
    assert!(!out.stderr.contains("mine.txt"), "{}", out.stderr);
    assert!(!out.stderr.contains("changed ignored"), "{}", out.stderr);
}
