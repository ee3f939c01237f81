//! The check that a folder suggests: offered after an edit, answered with `/check`, remembered for the folder.

use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Pty, Reply, Zdx};

use crate::{SOON, hold_before, place, tui_start};

const OFFER: &str = "check the edits with `make test`? /check run · /check always · /check never";

fn makefile(zdx: &Zdx, recipe: &str) {
    zdx.write("Makefile", format!("test:\n\t{recipe}\n"));
}

/// The model writes this content and is done.
fn edits(server: &ModelServer, content: &str, word: &str) {
    let input = json!({"path": "a.rs", "content": content});
    server.push(Reply::chat().tool_call(word, "write", input).done());
    server.push(Reply::chat().text(word).done());
}

fn open(zdx: &Zdx) -> Pty {
    let pty = zdx.command().args(["--yolo"]).line_mode(100, 120);
    pty.wait_for_text("> ", SOON);
    pty
}

fn say(pty: &mut Pty, line: &str, answer: &str) {
    pty.send(format!("{line}\r"));
    pty.wait_for_text(answer, SOON);
    wait_for_prompt(pty);
}

fn wait_for_prompt(pty: &Pty) {
    let at_prompt = |screen: &vt100::Screen| {
        let (row, column) = screen.cursor_position();
        screen.contents_between(row, 0, row, 120).trim_end() == ">" && column == 2
    };
    pty.wait_for(at_prompt, SOON);
}

fn leave(mut pty: Pty) -> String {
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    pty.contents()
}

fn grants(zdx: &Zdx) -> String {
    zdx.run(["policy", "grants"]).success().stdout
}

#[test]
fn a_suggested_check_is_offered_once_and_run_only_on_request() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    makefile(&zdx, "touch ran; grep -q good a.rs");
    let mut pty = open(&zdx);
    edits(&server, "bad", "written one");
    say(&mut pty, "go", OFFER);
    edits(&server, "worse", "written two");
    say(&mut pty, "go on", "written two");
    assert_eq!(pty.contents().matches(OFFER).count(), 1, "{}", pty.contents());
    assert!(!zdx.root().join("ran").exists());

    // Run once: the failure goes to the model, and what it repairs is offered to be checked again.
    edits(&server, "good", "repaired");
    say(&mut pty, "/check run", "repaired");
    let contents = pty.contents();
    assert!(contents.contains("check failed: make test"), "{contents}");
    assert_eq!((contents.matches(OFFER).count(), contents.matches("check still fails").count()), (2, 0));
    let told = server.calls().pop().unwrap().body.to_string();
    assert!(told.contains("Your changes were checked and the check failed"), "{told}");
    let asked = server.calls().len();
    say(&mut pty, "/check run", "check passed: make test");
    assert_eq!(server.calls().len(), asked, "a check that passes is no work for the model");
    leave(pty);
    assert_eq!(grants(&zdx), "");
}

#[test]
fn always_holds_for_the_files_that_the_check_runs() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    makefile(&zdx, "true");
    let mut pty = open(&zdx);
    edits(&server, "one", "written one");
    say(&mut pty, "go", OFFER);
    say(&mut pty, "/check always", "`make test` runs after each turn that edits code in this folder");
    edits(&server, "two", "written two");
    say(&mut pty, "go on", "check passed: make test");
    say(&mut pty, "/policy", "the check make test after each turn that edits code, with Makefile as it is");
    leave(pty);

    let mut pty = open(&zdx);
    edits(&server, "three", "written three");
    say(&mut pty, "go", "check passed: make test");
    makefile(&zdx, "touch ran");
    edits(&server, "four", "written four");
    say(&mut pty, "go on", &format!("changed since you said always: Makefile; {OFFER}"));
    assert!(!zdx.root().join("ran").exists());
    say(&mut pty, "/revoke make test", "no longer allowed: the check make test");
    leave(pty);
    assert_eq!(grants(&zdx), "");
}

/// A command that may have changed code makes the last check stale, in later turns too.
#[test]
fn a_check_that_runs_always_knows_of_earlier_turns() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    makefile(&zdx, "grep -q good a.rs");
    let mut pty = open(&zdx);
    edits(&server, "good", "written one");
    say(&mut pty, "go", OFFER);
    say(&mut pty, "/check always", "`make test` runs after each turn that edits code in this folder");
    edits(&server, "good too", "written two");
    say(&mut pty, "go on", "check passed: make test");
    let sed = json!({"command": "sed -i s/good/bad/ a.rs"});
    server.push(Reply::chat().tool_call("s", "bash", sed).done());
    server.push(Reply::chat().text("replaced").done());
    server.push(Reply::chat().text("it is fine").done());
    say(&mut pty, "replace it", "check still fails after 1 attempt: make test");
    server.push(Reply::chat().text("it says bad").done());
    say(&mut pty, "what does it say?", "the last check failed, and nothing was changed since: make test");
    leave(pty);
}

/// Resumed or not; and a prompt that reads like the command is a prompt.
#[test]
fn a_check_that_is_retried_runs_again() {
    let server = ModelServer::start();
    let zdx = place().chat(&server).config_more("[validation]\ncommand = \"echo x >> ran\"");
    let ran = |times: usize| assert_eq!(std::fs::read(zdx.root().join("ran")).unwrap(), b"x\n".repeat(times));
    let out = zdx.command().stdin("/check run\n/retry\n").run().success();
    assert_eq!(out.stderr.matches("check passed: echo x >> ran").count(), 2, "{}", out.stderr);
    ran(2);
    zdx.command().args(["-c"]).stdin("/retry\n").run().success();
    ran(3);
    assert_eq!(server.calls().len(), 0);
    // The same words as a prompt of the model's.
    server.push(Reply::chat().text("which check?").done());
    let out = zdx.run(["exec", "--format", "json", "-p", "/check run"]).success();
    let id = out.json_lines()[0]["session"].as_str().unwrap().to_owned();
    server.push(Reply::chat().text("which one?").done());
    zdx.command().args(["--session", &id]).stdin("/retry\n").run().success();
    assert_eq!(server.calls().len(), 2);
    ran(3);
}

#[test]
fn never_is_kept_for_the_folder_and_can_be_taken_back() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    makefile(&zdx, "true");
    let mut pty = open(&zdx);
    say(&mut pty, "/check", OFFER);
    say(&mut pty, "/check never", "`make test` is not offered in this folder");
    edits(&server, "one", "written one");
    say(&mut pty, "go", "written one");
    assert_eq!(leave(pty).matches(OFFER).count(), 1);
    assert_eq!(grants(&zdx), "never offering the check make test\n");
    zdx.run(["policy", "grants", "--revoke", "make test"]).success();
    let mut pty = open(&zdx);
    edits(&server, "two", "written two");
    say(&mut pty, "go", OFFER);
    leave(pty);
}

#[test]
fn nothing_suggested_runs_or_is_offered_where_nobody_is() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    makefile(&zdx, "touch ran");
    edits(&server, "one", "written");
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert!(!out.stderr.contains("/check") && !zdx.root().join("ran").exists(), "{}", out.stderr);
}

#[test]
fn the_command_says_what_it_cannot_do() {
    let server = ModelServer::start();
    let mut pty = open(&place().chat(&server));
    say(&mut pty, "/check run", "there is no check here");
    say(&mut pty, "/check sometimes", "one of run, always, never goes behind /check");
    leave(pty);
    let mut pty = open(&place().chat(&server).config_more("[validation]\ncommand = \"true\""));
    say(&mut pty, "/check", "`true` runs after each turn that edits code (validation.command)");
    say(&mut pty, "/check never", "validation.enabled = false switches it off");
    leave(pty);
}

/// The offer takes no key: what waits in the queue goes on, and so does what is typed.
#[test]
fn on_a_screen_the_offer_holds_up_nothing() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    makefile(&zdx, "touch ran");
    let mut pty = tui_start::open(&zdx, &["--yolo"]);
    let gate = Gate::new();
    let input = json!({"path": "a.rs", "content": "x"});
    server.push(Reply::chat().tool_call("w", "write", input).done());
    server.push(hold_before(Reply::chat().text_deltas(["written", " it"]).done(), " it", &gate));
    server.push(Reply::chat().text("went on"));
    pty.send("go\r");
    pty.wait_for_text("written", SOON);
    pty.send("and then?\r");
    pty.wait_for_text("queued", SOON);
    gate.open();
    pty.wait_for_text("went on", SOON);
    tui_start::wait_idle(&pty);
    assert!(pty.contents().contains(OFFER), "{}", pty.contents());
    assert!(!zdx.root().join("ran").exists());
    pty.send("/check run\r");
    pty.wait_for_text("Check passed make test", SOON);
    tui_start::wait_idle(&pty);
    assert!(zdx.root().join("ran").exists());
    pty.send("/check never\r");
    pty.wait_for_text("`make test` is not offered in this folder", SOON);
    tui_start::leave(&mut pty);
}
