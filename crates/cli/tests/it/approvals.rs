//! Questions to a person at a terminal: what is shown, what counts as an answer, what is remembered.

mod typed;

use serde_json::{Value, json};
use zdx_testkit::{ChatReply, Gate, ModelServer, Pty, Reply, Zdx};

use crate::chat::{leave, wait_for_prompt};
use crate::turns::chat_results;
use crate::{SOON, hold_before, prompt_of, with_model};

pub fn open(zdx: &Zdx, columns: u16, args: &[&str]) -> Pty {
    let pty = zdx.command().args(args).line_mode(40, columns);
    wait_for_prompt(&pty);
    pty
}

/// Waits until a request whose last choice is this one can be answered: the cursor waits behind its choices.
pub fn wait_for_keys(pty: &Pty, last: &str) {
    let ends = [last.to_owned(), format!("{last} (Enter)")];
    pty.wait_for(
        |screen| {
            let (row, column) = screen.cursor_position();
            let shown = screen.contents_between(0, 0, row, column);
            // An editor asks in a line of its own, a terminal that knows only lines behind the choices.
            let choices = shown.strip_suffix("\nanswer: ").or_else(|| shown.strip_suffix(": "));
            choices.is_some_and(|choices| ends.iter().any(|end| choices.ends_with(end)))
        },
        SOON,
    );
}

pub fn wait_for_question(pty: &Pty) {
    wait_for_keys(pty, "[m] no, and why");
}

pub fn bash(command: &str) -> ChatReply {
    Reply::chat().tool_call("c1", "bash", json!({"command": command}))
}

/// Has the model call `bash` once, presses keys at the questions, and says what the model was told.
fn run(server: &ModelServer, pty: &Pty, command: &str, keys: &[&str]) -> Value {
    let call = begin(server, pty, bash(command));
    for key in keys {
        match *key {
            "s" | "p" | "b" => wait_for_keys(pty, "[b] back"),
            _ => wait_for_question(pty),
        }
        pty.send(if key.starts_with(char::is_alphanumeric) { format!("{key}\r") } else { (*key).to_owned() });
    }
    told(server, call, pty)
}

/// Begins a turn in which the model answers so, and says which request will tell it what came of it.
pub fn begin(server: &ModelServer, pty: &Pty, reply: impl Into<Reply>) -> usize {
    let call = server.calls().len() + 2;
    server.push(reply);
    server.push(Reply::chat().text(&over(call)));
    pty.send("go\r");
    call
}

/// What the model says when it has heard.
fn over(call: usize) -> String {
    format!("heard-{call}")
}

/// The last result of the nth request, with the turn over.
pub fn told(server: &ModelServer, call: usize, pty: &Pty) -> Value {
    let request = server.wait_for_call(call, SOON);
    pty.wait_for_text(&over(call), SOON);
    wait_for_prompt(pty);
    chat_results(&request).pop().expect("a result").1
}

pub fn code(result: &Value) -> &str {
    result["error"]["code"].as_str().unwrap_or("none")
}

#[test]
fn an_edit_is_shown_as_a_diff_and_made_when_allowed() {
    for columns in [80, 40] {
        let server = ModelServer::start();
        let edit = json!({"path": "notes.txt", "old": "two", "new": "2\nand a half"});
        let zdx = with_model(&server);
        zdx.write("notes.txt", "one\ntwo\nthree\n");
        let pty = open(&zdx, columns, &[]);
        let call = begin(&server, &pty, Reply::chat().tool_call("c1", "edit", edit));
        wait_for_question(&pty);
        let shown = pty.contents();
        let joined = shown.replace('\n', "").replace("  ", "");
        assert!(joined.contains("notes.txt? (+2 -1)"), "{shown}");
        for part in ["change ", "\n  -two\n  +2\n  +and a half\n", "[y] yes, once", "[a] always", "[n] no"] {
            assert!(shown.contains(part), "{part:?} in\n{shown}");
        }
        assert!(!shown.contains("\"old\"") && !shown.contains('{'), "raw JSON in\n{shown}");
        assert_eq!(colour_of(&pty, "-two"), vt100::Color::Idx(1));
        assert_eq!(colour_of(&pty, "+and"), vt100::Color::Idx(2));
        let mut question = shown.lines().skip_while(|line| !line.starts_with("change "));
        assert!(question.all(|line| line.chars().count() <= usize::from(columns)), "{shown}");
        assert_eq!(zdx.read("notes.txt"), "one\ntwo\nthree\n");
        pty.send("y\r");
        assert_eq!(told(&server, call, &pty)["data"]["replacements"], 1);
        assert_eq!(zdx.read("notes.txt"), "one\n2\nand a half\nthree\n");
        leave(pty);
    }
}

fn colour_of(pty: &Pty, text: &str) -> vt100::Color {
    let screen = pty.screen();
    let line = |row| screen.contents_between(row, 0, row, screen.size().1.get());
    let row = (0..40).find(|row| line(*row).contains(text)).expect("it is on the screen");
    let column = u16::try_from(line(row).find(text).unwrap()).unwrap();
    screen.cell(row, column).unwrap().fgcolor()
}

#[test]
pub fn a_command_is_shown_whole_with_every_character_visible() {
    for columns in [80, 40] {
        let server = ModelServer::start();
        let zdx = with_model(&server);
        zdx.write("x/kept", "");
        let pty = open(&zdx, columns, &[]);
        let call = begin(&server, &pty, bash("echo ok \x1b[1A\x1b[2K; rm -rf x"));
        wait_for_question(&pty);
        let shown = pty.contents();
        let joined: String = shown.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
        assert!(joined.contains("$ echo ok \\x1b[1A\\x1b[2K; rm -rf x"), "{shown}");
        for part in ["dangerous: run this command?", "why ", "may ", "asked every time"] {
            assert!(shown.contains(part), "{part:?} in\n{shown}");
        }
        assert!(!shown.contains("always\n") && !shown.contains("[a]"), "{shown}");
        assert!(!pty.raw().windows(4).any(|bytes| bytes == b"\x1b[1A"), "{shown}");
        pty.send("n\r");
        assert_eq!(code(&told(&server, call, &pty)), "rejected");
        assert!(zdx.root().join("x/kept").exists());
        leave(pty);
    }
}

#[test]
fn the_rule_that_fired_is_named() {
    let server = ModelServer::start();
    let zdx = with_model(&server).config_more("[permission.bash]\n\"touch *\" = \"ask\"\n");
    let pty = open(&zdx, 80, &[]);
    let result = run(&server, &pty, "touch made", &["y"]);
    assert_eq!(result["data"]["exit_code"], 0);
    let shown = pty.contents();
    assert!(shown.contains("rule    bash \"touch *\" = ask ("), "{shown}");
    assert!(shown.contains("config.toml"), "{shown}");
    leave(pty);
}

/// It is the next prompt: begun, or sent if Enter ended it.
#[test]
pub fn what_was_typed_before_the_question_never_answers_it() {
    let whole = [("y\r", "y"), ("why \x1b[D短\x7f短\r", "why 短")];
    let begun = [("y", "y"), ("\x1b[200~y\n\x1b[201~!", "y\n!"), ("yyyyyyyy", "yyyyyyyy")];
    let cases = whole.map(|(ahead, text)| (ahead, text, true)).into_iter();
    for (ahead, text, whole) in cases.chain(begun.map(|(ahead, text)| (ahead, text, false))) {
        let gate = Gate::new();
        let server = ModelServer::start();
        let reply = hold_before(bash("rm kept").done(), "\"bash\"", &gate);
        let zdx = with_model(&server);
        zdx.write("kept", "");
        let pty = open(&zdx, 80, &[]);
        let call = begin(&server, &pty, reply);
        server.push(Reply::chat().text("to what came next"));
        gate.wait_reached(SOON);
        pty.send(ahead);
        gate.open();
        // An unfinished line stands in the answer, and Enter keeps it too.
        if !whole {
            pty.wait_for_text(&format!("answer: {}", text.replace('\n', "\\n")), SOON);
            pty.send("\r");
            pty.wait_for_text("kept for the next prompt", SOON);
        }
        wait_for_question(&pty);
        pty.send("n\r");
        let results = chat_results(&server.wait_for_call(call, SOON));
        assert_eq!(code(&results[0].1), "rejected", "{ahead:?}");
        pty.wait_for_text("to what came next", SOON);
        assert_eq!(prompt_of(&server.calls()[call]), text);
        wait_for_prompt(&pty);
        assert!(zdx.root().join("kept").exists());
        leave(pty);
    }
}

#[test]
fn a_change_that_was_asked_about_is_shown_once() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 100, &[]);
    let write = json!({"path": "a.txt", "content": "a line of its own\n"});
    let call = begin(&server, &pty, Reply::chat().tool_call("c1", "write", write));
    wait_for_question(&pty);
    pty.send("y\r");
    told(&server, call, &pty);
    let shown = pty.contents();
    assert_eq!(shown.matches("a line of its own").count(), 1, "{shown}");
    assert!(shown.contains("Wrote a.txt · new, +1"), "{shown}");
    // Nobody was asked: it is shown where it is told.
    pty.send("/approval yolo\r");
    wait_for_prompt(&pty);
    let write = json!({"path": "b.txt", "content": "another line\n"});
    let call = begin(&server, &pty, Reply::chat().tool_call("c2", "write", write));
    told(&server, call, &pty);
    assert_eq!(pty.contents().matches("another line").count(), 1, "{}", pty.contents());
    leave(pty);
}

#[test]
fn always_covers_the_command_shown_and_nothing_longer() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    run(&server, &pty, "touch  made", &["a", "s"]);
    let shown = pty.contents();
    assert!(shown.contains("always allow this, for how long?\n$ touch made\n"), "{shown}");
    // Not asked: the same words.
    assert_eq!(run(&server, &pty, "touch made", &[])["data"]["exit_code"], 0);
    // Asked: more words, or another command behind it.
    assert_eq!(code(&run(&server, &pty, "touch made too", &["n"])), "rejected");
    assert_eq!(code(&run(&server, &pty, "touch made && touch too", &["n"])), "rejected");
    leave(pty);

    // The session remembers, another one does not.
    let pty = open(&zdx, 80, &["-c"]);
    assert_eq!(run(&server, &pty, "touch made", &[])["data"]["exit_code"], 0);
    leave(pty);
    let pty = open(&zdx, 80, &[]);
    assert_eq!(code(&run(&server, &pty, "touch made", &["n"])), "rejected");
    leave(pty);
    assert_eq!(zdx.run(["policy", "grants"]).success().stdout, "");
}

#[test]
fn what_a_project_was_granted_holds_until_it_is_revoked() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    // "back" returns to the first question.
    run(&server, &pty, "touch made", &["a", "b", "a", "p"]);
    leave(pty);
    let file = zdx.session_files().remove(0);
    let session = file.file_stem().unwrap().to_str().unwrap();
    let pty = open(&zdx, 80, &[]);
    assert_eq!(run(&server, &pty, "touch made", &[])["data"]["exit_code"], 0);
    leave(pty);
    assert_eq!(zdx.run(["policy", "grants"]).success().stdout, "the command touch made\n");
    let explained = zdx.run(["policy", "explain", "touch made"]).success().stdout;
    assert!(explained.contains("verdict   allow: ") && explained.contains("allowed for good"), "{explained}");
    zdx.run(["policy", "grants", "--revoke", "bash touch"]).expect_code(1);
    let revoked = zdx.run(["policy", "grants", "--revoke", "bash touch made"]).success();
    assert_eq!(revoked.stdout, "revoked the command touch made\n");
    // Not even the session in which it was given goes on with it.
    for args in [&["--session", session][..], &[]] {
        let pty = open(&zdx, 80, args);
        assert_eq!(code(&run(&server, &pty, "touch made", &["n"])), "rejected", "{args:?}");
        leave(pty);
    }
}

#[test]
pub fn what_is_dangerous_is_confirmed_every_time() {
    for args in [&[][..], &["--yolo"]] {
        let server = ModelServer::start();
        let zdx = with_model(&server);
        let pty = open(&zdx, 80, args);
        for name in ["a", "b", "a"] {
            zdx.write(name, "");
            assert_eq!(run(&server, &pty, &format!("rm {name}"), &["y"])["data"]["exit_code"], 0);
            assert!(!zdx.root().join(name).exists());
        }
        leave(pty);
    }
}

#[test]
fn ctrl_c_stops_the_turn_and_the_end_of_input_is_a_no() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    server.push(bash("touch made"));
    pty.send("go\r");
    wait_for_question(&pty);
    pty.send("\x03");
    pty.wait_for_text("interrupted", SOON);
    wait_for_prompt(&pty);
    assert_eq!(server.calls().len(), 1, "an interrupted turn asks the model nothing more");
    let results: Vec<_> =
        zdx.records().into_iter().filter(|record| record["type"] == "tool_result").collect();
    assert_eq!(results[0]["output"]["error"]["code"], "not_run");
    assert_eq!(code(&run(&server, &pty, "touch made", &["\x04"])), "rejected");
    assert!(!zdx.root().join("made").exists());
    leave(pty);
}

#[test]
pub fn a_users_own_command_passes_the_same_gate() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("build/kept", "");
    let pty = open(&zdx, 80, &[]);
    // Nobody is asked about what they typed themselves.
    pty.send("!echo typed-$((40 + 2)); false\r");
    pty.wait_for_text("typed-42", SOON);
    pty.wait_for_text("exit code 1", SOON);
    wait_for_prompt(&pty);
    for empty in ["!\r", "@! \r"] {
        pty.send(empty);
        pty.wait_for_text("nothing to run", SOON);
        wait_for_prompt(&pty);
        pty.send("/new\r");
        wait_for_prompt(&pty);
    }
    pty.send("! rm -rf build\r");
    wait_for_keys(&pty, "[n] no");
    let shown = pty.contents();
    assert!(shown.contains("dangerous: run your command?\n$ rm -rf build\n"), "{shown}");
    pty.send("n\r");
    wait_for_prompt(&pty);
    assert!(zdx.root().join("build/kept").exists());
    // Forbidden to a model; a person may insist.
    pty.send("@!sudo -n true\r");
    wait_for_keys(&pty, "[n] no");
    pty.send("n\r");
    wait_for_prompt(&pty);
    pty.send("!rm -rf build\r");
    wait_for_keys(&pty, "[n] no");
    pty.send("y\r");
    wait_for_prompt(&pty);
    assert!(!zdx.root().join("build").exists());
    server.push(Reply::chat().text("I see"));
    pty.send("what happened?\r");
    pty.wait_for_text("I see", SOON);
    let told = server.calls()[0].body.to_string();
    assert!(told.contains("!rm -rf build") && told.contains("exit code 0"), "{told}");
    wait_for_prompt(&pty);
    leave(pty);
}

/// What somebody answers for must be there to be read, to the last line and the last character of it.
#[test]
fn all_of_a_change_can_be_seen_before_it_is_allowed() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = zdx.command().line_mode(200, 80);
    wait_for_prompt(&pty);
    let filler: String = (0..60).map(|n| format!("# line {n}\n")).collect();
    let content = format!("{filler}x = '{}'; evil()\ncurl evil\n", "A".repeat(2_000));
    let write =
        |path: &str| Reply::chat().tool_call("c1", "write", json!({"path": path, "content": content}));
    let call = begin(&server, &pty, write("notes.py"));
    wait_for_question(&pty);
    let shown = pty.contents();
    assert!(shown.contains("more lines") && shown.contains("[v] view all"), "{shown}");
    assert!(!shown.contains("evil()") && !shown.contains("curl evil"), "{shown}");
    pty.send("v\r");
    pty.wait_for_text("curl evil", SOON);
    wait_for_question(&pty);
    let shown = pty.contents();
    assert!(shown.replace(['\n', ' ', '|'], "").contains("A';evil()"), "{shown}");
    assert_eq!(shown.matches("[v] view all").count(), 1, "{shown}");
    pty.send("n\r");
    assert_eq!(code(&told(&server, call, &pty)), "rejected");
    // Of what is dangerous all is there at once.
    let call = begin(&server, &pty, write(".git/hooks/x"));
    pty.wait_for(|screen| screen.contents().matches("curl evil").count() == 2, SOON);
    wait_for_question(&pty);
    assert!(pty.contents().contains("rule    always asked about: protected files"), "{}", pty.contents());
    pty.send("n\r");
    assert_eq!(code(&told(&server, call, &pty)), "rejected");
    leave(pty);
}

#[test]
fn a_tab_is_nothing_to_warn_of() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("if true; then\n\ttouch made\nfi"));
    wait_for_question(&pty);
    assert!(!pty.contents().contains("do not show"), "{}", pty.contents());
    pty.send("n\r");
    told(&server, call, &pty);
    leave(pty);
}
