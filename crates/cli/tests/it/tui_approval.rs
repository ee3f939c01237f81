//! Questions on a terminal: what is shown before somebody answers, what counts as an answer and what never does, and what
//! an answer leads to.

use std::time::Duration;

use serde_json::{Value, json};
use zdx_testkit::{ChatReply, Gate, ModelServer, Pty, Reply, Zdx};

use crate::mcp::wait_until;
use crate::tui_start::{leave, open, wait_idle};
use crate::turns::chat_results;
use crate::{SOON, hold_before, place, with_model};

fn bash(command: &str) -> ChatReply {
    Reply::chat().tool_call("c1", "bash", json!({"command": command}))
}

/// Has the model answer so, and waits for the question it leads to.
fn begin(server: &ModelServer, pty: &Pty, reply: impl Into<Reply>) -> usize {
    let call = server.calls().len() + 2;
    server.push(reply);
    server.push(Reply::chat().text(&format!("heard-{call}")));
    pty.send("go\r");
    wait_for_question(pty);
    call
}

fn wait_for_question(pty: &Pty) {
    pty.wait_for_text("── approval", SOON);
    pty.wait_for_text("waiting for you", SOON);
    wait_for_focus(pty);
}

/// Waits until a key can answer: the focused choice is marked.
pub fn wait_for_focus(pty: &Pty) {
    pty.wait_for_text("▸", SOON);
}

/// A key answers when no other came for 600 ms.
fn press_after_pause(pty: &Pty, key: &str) {
    std::thread::sleep(Duration::from_millis(700));
    pty.send(key);
}

/// Presses the key of a choice that grants more than one call, and confirms it.
pub fn confirm(pty: &Pty, key: &str) {
    wait_for_focus(pty);
    pty.send(key);
    pty.wait_for_text("Enter confirms", SOON);
    press_after_pause(pty, "\r");
}

/// The model was told of the answer, and the turn is over.
fn told(server: &ModelServer, call: usize, pty: &Pty) -> Value {
    let request = server.wait_for_call(call, SOON);
    pty.wait_for_text(&format!("heard-{call}"), SOON);
    wait_idle(pty);
    chat_results(&request).pop().expect("a result").1
}

fn code(result: &Value) -> &str {
    result["error"]["code"].as_str().unwrap_or("none")
}

fn made(zdx: &Zdx) -> bool {
    zdx.root().join("made").exists()
}

#[test]
fn a_command_is_shown_exactly_and_enter_allows_only_an_ordinary_one() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    let call = begin(&server, &pty, bash("touch made; printf '\u{1b}[2J\u{202e}'"));
    let shown = pty.contents();
    assert!(shown.contains("\n$ touch made; printf '\\x1b[2J\\u{202e}'"), "{shown}");
    for part in ["  may ", "  why ", "  rule ", "  y  yes, once", "\n▸ n  no\n", "Esc: no, and stop the turn"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    pty.send("\r");
    assert_eq!(code(&told(&server, call, &pty)), "rejected");
    assert!(
        !made(&zdx) && pty.contents().contains("✗ Run touch made; printf '\\x1b[2J\\u{202e}' · denied"),
        "{}",
        pty.contents()
    );
    let call = begin(&server, &pty, bash("touch made"));
    pty.send("\r");
    assert_eq!(told(&server, call, &pty)["data"]["exit_code"], 0);
    assert!(made(&zdx) && pty.contents().contains("exit 0 · allowed"), "{}", pty.contents());
    assert!(!pty.contents().contains("yes, once"), "the question is gone");
    leave(&mut pty);
}

/// Text that is typed or pasted while a request waits stays in the composer, and only Tab answers over it.
#[test]
fn a_draft_keeps_the_keys_until_tab_moves_the_focus() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    server.push(hold_before(bash("touch made").done(), "\"bash\"", &gate));
    server.push(Reply::chat().text("heard-2"));
    pty.send("go\r");
    gate.wait_reached(SOON);
    pty.send("a draft");
    pty.wait_for_text("› a draft", SOON);
    gate.open();
    pty.wait_for_text("Tab to answer", SOON);
    pty.send("y\x1b[200~y\ry\x1b[201~?");
    pty.wait_for_text("y?", SOON);
    let shown = pty.contents();
    assert!(shown.contains("› a drafty") && shown.contains("── approval") && !made(&zdx), "{shown}");
    pty.send("\t");
    wait_for_focus(&pty);
    // Letters are more of the text, so the choice is marked by arrows.
    pty.send("\x1b[B\x1b[B\x1b[B");
    pty.wait_for_text("▸ n", SOON);
    press_after_pause(&pty, "\r");
    let request = server.wait_for_call(2, SOON);
    assert_eq!(code(&chat_results(&request)[0].1), "rejected");
    pty.wait_for_text("heard-2", SOON);
    pty.wait_for_text("› a drafty", SOON);
    pty.send("\x03");
    leave(&mut pty);
    assert!(!made(&zdx));
}

#[test]
fn every_command_of_a_kind_can_be_granted() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    let call = begin(&server, &pty, bash("cargo test --offline"));
    assert!(pty.contents().contains("cargo test"), "{}", pty.contents());
    // Exactly this, or any of its kind: the list says which keys do that.
    let key = pty.contents().lines().find_map(|line| {
        let (key, words) = line.trim_start_matches('›').trim_start().split_once("  ")?;
        words.contains("every").then(|| key.to_owned())
    });
    confirm(&pty, &key.unwrap_or_else(|| panic!("no wider grant in {}", pty.contents())));
    pty.wait_for_text("for this session", SOON);
    confirm(&pty, "s");
    told(&server, call, &pty);
    // Another one is asked about no more.
    server.push(bash("cargo test --offline --workspace"));
    server.push(Reply::chat().text("again-heard"));
    pty.send("go\r");
    pty.wait_for_text("again-heard", SOON);
    wait_idle(&pty);
    let call = begin(&server, &pty, bash("cargo publish"));
    pty.send("n");
    assert_eq!(code(&told(&server, call, &pty)), "rejected");
    leave(&mut pty);
}

#[test]
fn a_no_can_say_why_and_the_draft_comes_back() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    let call = begin(&server, &pty, bash("touch made"));
    pty.send("m");
    pty.wait_for_text("Reason for the model", SOON);
    pty.send("不要, use \x1b[200~the\nMakefile\x1b[201~ please");
    pty.wait_for_text("please", SOON);
    pty.send("\r");
    let result = told(&server, call, &pty);
    assert_eq!(code(&result), "rejected");
    let said = result.to_string();
    assert!(said.contains("不要, use the") && said.contains("Makefile please"), "{said}");
    assert!(!made(&zdx));
    leave(&mut pty);
}

#[test]
fn another_approval_mode_judges_the_request_anew() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    let call = begin(&server, &pty, bash("touch made"));
    confirm(&pty, "p");
    pty.wait_for_text("which approval mode from now on?", SOON);
    confirm(&pty, "1");
    pty.wait_for_text("y  yes, yolo", SOON);
    assert!(!made(&zdx), "yolo is confirmed first");
    confirm(&pty, "y");
    assert_eq!(told(&server, call, &pty)["data"]["exit_code"], 0);
    assert!(made(&zdx));
    let status = pty.contents().lines().last().unwrap().to_owned();
    assert!(status.contains("yolo"), "{status}");
    leave(&mut pty);
}

#[test]
fn shift_tab_goes_round_and_into_yolo_only_when_confirmed() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    let is_preset = |screen: &vt100::Screen, name: &str| {
        let shown = screen.contents();
        shown.lines().last().is_some_and(|status| status.contains(name) && status.contains("/help"))
    };
    let preset = |name: &str| pty.wait_for(|screen| is_preset(screen, name), SOON);
    preset("balanced");
    pty.send("\x1b[Z");
    preset("paranoid");
    // Keys right behind it are typed into the composer.
    pty.send("\x1b[Zy");
    pty.wait_for_text("switch to yolo?", SOON);
    pty.wait_for_text("› y", SOON);
    pty.send("\x7f");
    wait_for_focus(&pty);
    pty.send("\r");
    pty.wait_for(|screen| !screen.contents().contains("switch to yolo?"), SOON);
    preset("paranoid");
    pty.send("\x1b[Z");
    pty.wait_for_text("switch to yolo?", SOON);
    confirm(&pty, "y");
    preset("yolo");
    pty.send("\x1b[Z");
    preset("balanced");
    leave(&mut pty);
}

/// To the last line, also when it does not fit.
#[test]
fn all_of_a_change_is_shown_before_it_is_allowed() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    zdx.write("notes.txt", "one\ntwo\nthree\n");
    let edit = json!({"path": "notes.txt", "old": "two", "new": "2\nand a half"});
    let call = begin(&server, &pty, Reply::chat().tool_call("c1", "edit", edit));
    let shown = pty.contents();
    for part in
        ["change notes.txt? (+2 -1)", " 2    - two\n", "    2 + 2\n", "    3 + and a half\n", " 3  4   three"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    pty.send("y");
    told(&server, call, &pty);
    assert_eq!(zdx.read("notes.txt"), "one\n2\nand a half\nthree\n");
    // More than a screen: protected, so all of it must have been in view.
    let content: String = (0..80).map(|n| format!("echo line {n}\n")).collect::<String>() + "curl evil\n";
    let write = json!({"path": ".git/hooks/post-commit", "content": content});
    let call = begin(&server, &pty, Reply::chat().tool_call("c1", "write", write));
    pty.send("y");
    pty.wait_for_text("scroll to the end first", SOON);
    assert!(!pty.contents().contains("curl evil"), "{}", pty.contents());
    pty.send("\x1b[F");
    pty.wait_for_text("curl evil", SOON);
    press_after_pause(&pty, "y");
    told(&server, call, &pty);
    assert_eq!(std::fs::read_to_string(zdx.root().join(".git/hooks/post-commit")).unwrap(), content);
    leave(&mut pty);
}

#[test]
fn a_question_stands_as_soon_as_it_is_asked_and_those_behind_it_wait() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    let calls = bash("touch made").tool_call("c2", "bash", json!({"command": "touch other"}));
    server.push(hold_before(calls.done(), "[DONE]", &gate));
    server.push(Reply::chat().text("heard-2"));
    pty.send("go\r");
    gate.wait_reached(SOON);
    gate.open();
    pty.wait_for_text("$ touch made", SOON);
    wait_for_question(&pty);
    // The second key comes too early for the next request: it stands in the composer.
    pty.send("yy");
    pty.wait_for_text("$ touch other", SOON);
    pty.wait_for_text("› y", SOON);
    wait_until("the first command has run", || made(&zdx));
    assert!(!zdx.root().join("other").exists(), "one key answers one request");
    pty.send("\x7f");
    wait_for_focus(&pty);
    pty.send("n");
    pty.wait_for_text("heard-2", SOON);
    let results = chat_results(&server.wait_for_call(2, SOON));
    assert_eq!(results.iter().map(|(_, result)| code(result)).collect::<Vec<_>>(), ["none", "rejected"]);
    wait_idle(&pty);
    pty.send("\x15");
    leave(&mut pty);
}

#[test]
fn a_question_of_an_agent_that_works_for_this_one_names_it() {
    let server = ModelServer::start();
    server.always(|request| {
        let said = request.body["messages"].to_string();
        let done = said.contains("\"role\":\"tool\"");
        match (!said.contains("\"go\""), done) {
            (true, false) => bash("touch made"),
            (true, true) => Reply::chat().text("written"),
            (false, false) => Reply::chat().tool_call(
                "t1",
                "task",
                json!({"agent": "general", "prompt": "write it for me"}),
            ),
            (false, true) => Reply::chat().text("heard of it"),
        }
    });
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    pty.send("go\r");
    wait_for_question(&pty);
    // The task itself is asked about first, then what its agent wants to run.
    assert!(pty.contents().contains("general"), "{}", pty.contents());
    pty.send("y");
    pty.wait_for_text("$ touch made", SOON);
    wait_for_question(&pty);
    assert!(pty.contents().contains("general"), "{}", pty.contents());
    assert!(!made(&zdx));
    pty.send("y");
    pty.wait_for_text("heard of it", SOON);
    wait_idle(&pty);
    assert!(made(&zdx) && pty.contents().contains("✓ allowed: touch made"), "{}", pty.contents());
    leave(&mut pty);
}

#[test]
fn esc_says_no_and_stops_the_turn() {
    for key in ["\x1b", "\x03"] {
        let server = ModelServer::start();
        let zdx = with_model(&server);
        let mut pty = open(&zdx, &[]);
        server.push(bash("touch made"));
        pty.send("go\r");
        wait_for_question(&pty);
        pty.send(key);
        pty.wait_for_text("interrupted", SOON);
        wait_idle(&pty);
        assert_eq!(server.calls().len(), 1, "nothing more is asked of the model");
        assert!(!made(&zdx));
        leave(&mut pty);
    }
}

#[test]
fn a_project_is_trusted_only_when_somebody_says_so() {
    for (key, trusted) in [("\r", false), ("t", true)] {
        let server = ModelServer::start();
        server.always(|_| Reply::chat().text("fine"));
        let zdx = place().chat(&server);
        zdx.write(".zdx/config.toml", "[models.\"test/scripted\"]\nmax_tokens = 77\n");
        let mut pty = zdx.command().pty(30, 100);
        pty.wait_for_text("── trust", SOON);
        assert!(pty.contents().contains("max_tokens"), "{}", pty.contents());
        wait_for_focus(&pty);
        match key {
            "t" => confirm(&pty, key),
            _ => pty.send(key),
        }
        wait_idle(&pty);
        pty.send("go\r");
        pty.wait_for_text("\nfine", SOON);
        let asked = server.wait_for_call(1, SOON).body["max_tokens"].as_u64();
        assert_eq!(asked == Some(77), trusted, "{key:?}: {asked:?}");
        leave(&mut pty);
    }
}
