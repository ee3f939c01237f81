//! What holds when somebody comes back to a session or a folder, and what he is told of it: presets, grants, the place itself.

use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Pty, Reply};

use crate::approvals::{bash, begin, open, told, wait_for_keys, wait_for_question};
use crate::chat::{leave, wait_for_prompt};
use crate::{SOON, hold_before, tui_start, with_model};

fn say(server: &ModelServer, pty: &Pty) {
    let call = begin(server, pty, bash("ls"));
    assert_eq!(told(server, call, pty)["ok"], true);
}

/// One row of it, however it is broken.
fn shown(pty: &Pty) -> String {
    pty.contents().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Allows the command that is asked about for good.
fn always(server: &ModelServer, pty: &Pty, reply: impl Into<Reply>, how_long: &str) {
    let call = begin(server, pty, reply);
    wait_for_question(pty);
    pty.send("a\r");
    wait_for_keys(pty, "[b] back");
    pty.send(format!("{how_long}\r"));
    assert_eq!(told(server, call, pty)["ok"], true);
}

/// To leave and come back loosens nothing; boldness is chosen anew each time.
#[test]
fn paranoid_outlives_leaving_and_yolo_does_not() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    say(&server, &pty);
    pty.send("/approval paranoid\r");
    pty.wait_for_text("approval: paranoid", SOON);
    leave(pty);
    let pty = open(&zdx, 80, &["-c"]);
    pty.wait_for_text("paranoid, as this session was left", SOON);
    let call = begin(&server, &pty, bash("ls"));
    wait_for_question(&pty);
    pty.send("n\r");
    assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected");
    // A fresh one that follows it has no other, and keeps it in turn.
    pty.send("/new\r");
    wait_for_prompt(&pty);
    let call = begin(&server, &pty, bash("ls"));
    wait_for_question(&pty);
    pty.send("n\r");
    told(&server, call, &pty);
    leave(pty);
    let pty = open(&zdx, 80, &["-c"]);
    pty.wait_for_text("paranoid, as this session was left", SOON);
    leave(pty);
    let pty = open(&zdx, 80, &["-c", "--approval", "balanced"]);
    say(&server, &pty);
    assert!(!shown(&pty).contains("paranoid"), "{}", pty.contents());
    pty.send("/approval yolo\r");
    pty.wait_for_text("approval: yolo", SOON);
    leave(pty);
    let pty = open(&zdx, 80, &["-c"]);
    pty.wait_for_text("balanced again, yolo ended with the last run", SOON);
    leave(pty);
}

#[test]
fn what_a_project_was_granted_is_told_to_whoever_begins_there() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("shop/cart.py", "");
    let pty = open(&zdx, 80, &[]);
    let write = json!({"path": "shop/cart.py", "content": "x\n"});
    always(&server, &pty, Reply::chat().tool_call("w", "write", write), "p");
    assert!(shown(&pty).contains("allowed for this project: changes to shop/cart.py"), "{}", pty.contents());
    always(&server, &pty, bash("touch made"), "s");
    leave(pty);
    let project = "allowed in this project: changes to shop/cart.py · /policy, /revoke";
    let pty = open(&zdx, 100, &[]);
    pty.wait_for_text(project, SOON);
    assert!(!shown(&pty).contains("still allowed"), "{}", pty.contents());
    leave(pty);
    for plain in [true, false] {
        let mut pty = match plain {
            true => open(&zdx, 100, &["-c"]),
            false => tui_start::open(&zdx, &["-c"]),
        };
        pty.wait_for_text("allowed in this project", SOON);
        let shown = shown(&pty);
        assert!(
            shown.contains("still allowed in this session: the command touch made · /policy, /revoke"),
            "{shown}"
        );
        match plain {
            true => leave(pty),
            false => tui_start::leave(&mut pty),
        }
    }
    // Nobody is asked in a run of one prompt, and nobody need be told.
    server.push(Reply::chat().text("done"));
    let run = zdx.run(["exec", "-p", "go"]).success();
    assert!(!run.stderr.contains("allowed in"), "{}", run.stderr);
}

/// Who allowed every edit need not hear of one file, and many things are a number.
#[test]
fn what_a_wider_grant_covers_is_not_told_beside_it() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "");
    let pty = open(&zdx, 80, &[]);
    let write = |path: &str| Reply::chat().tool_call("w", "write", json!({"path": path, "content": "x\n"}));
    always(&server, &pty, write("a.txt"), "s");
    always(&server, &pty, write("AGENTS.md"), "s");
    let call = begin(&server, &pty, write("b.txt"));
    wait_for_question(&pty);
    pty.send("e\r");
    assert_eq!(told(&server, call, &pty)["ok"], true);
    leave(pty);
    let pty = open(&zdx, 160, &["-c"]);
    let row = "still allowed in this session: every edit, except of protected files · changes to AGENTS.md · /policy, /revoke";
    pty.wait_for_text(row, SOON);
    wait_for_prompt(&pty);
    always(&server, &pty, bash("touch made"), "s");
    always(&server, &pty, bash("touch more"), "s");
    leave(pty);
    let pty = open(&zdx, 160, &["-c"]);
    pty.wait_for_text("4 things still allowed in this session · /policy, /revoke", SOON);
    leave(pty);
}

#[test]
fn grants_are_listed_with_numbers_and_taken_back_by_them() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 100, &[]);
    pty.send("/revoke\r");
    pty.wait_for_text("nothing was allowed for good here", SOON);
    wait_for_prompt(&pty);
    for command in ["touch one", "touch three", "touch two"] {
        always(&server, &pty, bash(command), if command == "touch two" { "p" } else { "s" });
    }
    pty.send("/revoke\r");
    pty.wait_for_text("3  allowed for this project: the command touch two", SOON);
    pty.wait_for_text("/revoke NUMBER takes one back", SOON);
    wait_for_prompt(&pty);
    pty.send("/revoke 4\r");
    pty.wait_for_text("nothing like \"4\" was allowed", SOON);
    wait_for_prompt(&pty);
    pty.send("/revoke touch\r");
    pty.wait_for_text("\"touch\" may mean: the command touch one · the command touch three", SOON);
    wait_for_prompt(&pty);
    pty.send("/revoke 2\r");
    pty.wait_for_text("no longer allowed: the command touch three", SOON);
    wait_for_prompt(&pty);
    pty.send("/revoke all\r");
    pty.wait_for_text("no longer allowed: the command touch one", SOON);
    pty.wait_for_text("no longer allowed: the command touch two", SOON);
    wait_for_prompt(&pty);
    let call = begin(&server, &pty, bash("touch one"));
    wait_for_question(&pty);
    pty.send("n\r");
    assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected");
    leave(pty);
}

/// What could not be opened leaves nothing to tell of the session that goes on.
#[test]
fn a_session_that_cannot_be_resumed_tells_nothing_of_another() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let first = open(&zdx, 80, &[]);
    say(&server, &first);
    let busy = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let second = open(&zdx, 80, &[]);
    always(&server, &second, bash("touch made"), "s");
    leave(second);
    let mut second = tui_start::open(&zdx, &["-c"]);
    second.wait_for_text("still allowed in this session", SOON);
    tui_start::wait_idle(&second);
    second.send(format!("/resume {busy}\r"));
    second.wait_for_text("is open in another zdx", SOON);
    tui_start::wait_idle(&second);
    tui_start::leave(&mut second);
    let raw = String::from_utf8_lossy(&second.raw()).into_owned();
    assert_eq!(raw.matches("still allowed").count(), 1, "{raw}");
    leave(first);
}

#[test]
fn a_whole_home_as_the_workspace_is_warned_of() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let home = zdx.home().canonicalize().unwrap();
    let pty = open(&zdx.env("HOME", home.display().to_string()), 100, &["--root", home.to_str().unwrap()]);
    pty.wait_for_text("the workspace is your home folder", SOON);
    leave(pty);
    let pty = open(&with_model(&server), 100, &[]);
    assert!(!shown(&pty).contains("the workspace is"), "{}", pty.contents());
    leave(pty);
}

/// A grant is its person's own word, also where all else is asked about: the words of the preset say so.
#[test]
fn paranoid_lets_pass_what_was_allowed_and_says_so() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    always(&server, &pty, bash("touch made"), "p");
    pty.send("/approval paranoid\r");
    pty.wait_for_text("approval: paranoid", SOON);
    wait_for_prompt(&pty);
    let call = begin(&server, &pty, bash("touch made"));
    assert_eq!(told(&server, call, &pty)["ok"], true);
    let call = begin(&server, &pty, bash("ls"));
    wait_for_question(&pty);
    pty.send("p\r");
    wait_for_keys(&pty, "[b] back");
    assert!(
        shown(&pty).contains("paranoid (now): nothing runs unasked but what you allowed"),
        "{}",
        shown(&pty)
    );
    pty.send("b\r");
    wait_for_question(&pty);
    pty.send("n\r");
    told(&server, call, &pty);
    leave(pty);
}

fn id_of(file: &std::path::Path) -> String {
    file.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// A wish that cannot be met stops nothing, and who chooses sees beforehand what cannot be had.
#[test]
fn a_session_that_another_zdx_has_open_is_marked_and_stops_no_turn() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let first = open(&zdx, 80, &[]);
    say(&server, &first);
    let busy = id_of(&zdx.session_files()[0]);
    let mut pty = tui_start::open(&zdx, &[]);
    let gate = Gate::new();
    server.push(hold_before(Reply::chat().text_deltas(["Begun.", " Ended."]).done(), "Ended", &gate));
    pty.send("go\r");
    gate.wait_reached(SOON);
    pty.wait_for_text("Begun.", SOON);
    // Sent twice, as what stops a turn has to be.
    pty.send(format!("/resume {busy}\r"));
    pty.wait_for_text("Enter again stops it", SOON);
    pty.send("\r");
    pty.wait_for_text("is open in another zdx", SOON);
    gate.open();
    pty.wait_for_text("Ended.", SOON);
    tui_start::wait_idle(&pty);
    assert!(!shown(&pty).contains("interrupted"), "{}", pty.contents());
    pty.send("/resume\r");
    pty.wait_for_text("(open in another zdx) go", SOON);
    pty.send("\x1b");
    tui_start::wait_idle(&pty);
    let listed = zdx.run(["sessions", "list"]).success().stdout;
    assert_eq!(listed.matches("(open in another zdx)").count(), 2, "{listed}");
    tui_start::leave(&mut pty);
    leave(first);
    let listed = zdx.run(["sessions", "list"]).success().stdout;
    assert!(!listed.contains("open in another"), "{listed}");
}

#[test]
fn who_cannot_go_on_with_the_latest_hears_which_one_is_free() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let begun = |pty: Pty| {
        say(&server, &pty);
        pty
    };
    leave(begun(open(&zdx, 80, &[])));
    let free = id_of(&zdx.session_files()[0]);
    let busy = begun(open(&zdx, 80, &[]));
    let files = zdx.session_files();
    let taken = files.iter().map(|file| id_of(file)).find(|id| *id != free).unwrap();
    for (args, program) in [(vec!["-c"], "zdx"), (vec!["exec", "-c", "-p", "go on"], "zdx exec")] {
        let out = zdx.command().args(args).stdin("go on\n").run();
        let told = format!(
            "session {taken} is open in another zdx; close it there, or start a new session; the latest that is free: \
             `{program} --session {free}`"
        );
        assert!(out.code != Some(0) && out.stderr.contains(&told), "{out:?}");
    }
    leave(busy);
}
