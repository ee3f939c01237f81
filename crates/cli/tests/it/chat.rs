//! Interactive line mode, as a person at a terminal has it, and its plain form in a pipe.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Pty, Reply, Signal, Zdx};

use crate::{SOON, hold_before, prompt_of, with_model};

const READY: &str = "\n> ";

fn open(zdx: &Zdx) -> Pty {
    let pty = zdx.command().line_mode(40, 100);
    wait_for_prompt(&pty);
    pty
}

/// The cursor waits behind a prompt, and nothing else is on that line.
pub fn wait_for_prompt(pty: &Pty) {
    pty.wait_for(
        |screen| {
            let (row, column) = screen.cursor_position();
            screen.contents_between(row, 0, row, 100).trim_end() == ">" && column == 2
        },
        SOON,
    );
}

pub fn leave(mut pty: Pty) {
    end(&mut pty);
}

/// Leaves, with the screen still to be looked at.
fn end(pty: &mut Pty) {
    wait_for_prompt(pty);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
}

/// Types a prompt, and reads its answer up to the next one.
fn ask(pty: &Pty, line: &str, answer: &str) {
    pty.send(format!("{line}\r"));
    pty.wait_for_text(&format!("\n{answer}"), SOON);
    wait_for_prompt(pty);
}

fn typed_prompts(server: &ModelServer) -> Vec<String> {
    server.calls().iter().map(prompt_of).collect()
}

#[test]
fn a_conversation_with_a_resumable_end() {
    let server = ModelServer::start_with([Reply::chat().text("one"), Reply::chat().text("two")]);
    let zdx = with_model(&server);
    let mut pty = open(&zdx);
    let head = pty.contents().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(head.contains("· agent build · approval balanced · session "), "{head}");
    ask(&pty, "first", "one");
    ask(&pty, "second", "two");
    end(&mut pty);
    let file = zdx.session_files().remove(0);
    let id = file.file_stem().unwrap().to_str().unwrap();
    assert!(pty.contents().contains(&format!("zdx sessions resume {id}")), "{}", pty.contents());
    assert_eq!(typed_prompts(&server), ["first", "second"]);
}

#[test]
fn a_session_is_resumed_with_its_history() {
    let answer: String =
        (1..=9).map(|n| format!("line {n}\n")).collect::<String>() + "one \x1b[2J\u{9b}31m end";
    let server = ModelServer::start_with([Reply::chat().text(&answer), Reply::chat().text("two")]);
    let zdx = with_model(&server);
    zdx.run(["exec", "-p", "first"]).success();
    let mut pty = zdx.command().args(["sessions", "resume"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    // Whoever comes back finds the conversation as it was.
    let shown = pty.contents();
    assert!(shown.contains("\n› first\nline 1") && shown.contains("one  end"), "{shown}");
    assert!(!pty.raw().windows(4).any(|bytes| bytes == b"\x1b[2J"), "{shown}");
    ask(&pty, "second", "two");
    pty.send("/exit\r");
    assert_eq!(pty.wait_exit(SOON), 0);
    assert_eq!(zdx.session_files().len(), 1);
    let body = server.calls().pop().unwrap().body.to_string();
    assert!(body.contains("first") && body.contains("one"), "{body}");
}

#[test]
fn several_lines_become_one_prompt() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok"));
    let zdx = with_model(&server);
    let pty = open(&zdx);
    let typed = ["a\\\rb\r", "c\x0ad\r", "e\x1b\rf\r", "\x1b[200~g \\\nh\n\x1b[201~\r", "你好x\x7f 吗\r"];
    for (keys, nth) in typed.into_iter().zip(1..) {
        pty.send(keys);
        server.wait_for_call(nth, SOON);
        wait_for_prompt(&pty);
    }
    leave(pty);
    assert_eq!(typed_prompts(&server), ["a\nb", "c\nd", "e\nf", "g \\\nh\n", "你好 吗"]);
}

#[test]
fn ctrl_c_interrupts_a_turn_clears_a_line_and_leaves_at_the_second_time() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["half", " more"]).done(), " more", &gate));
    let zdx = with_model(&server);
    let mut pty = open(&zdx);
    pty.send("go\r");
    pty.wait_for_text("\nhalf", SOON);
    pty.send("\x03");
    pty.wait_for_text("interrupted", SOON);
    wait_for_prompt(&pty);
    pty.send("not this");
    pty.wait_for_text("> not this", SOON);
    pty.send("\x03");
    wait_for_prompt(&pty);
    pty.send("\x03");
    pty.wait_for_text("Ctrl-C again", SOON);
    wait_for_prompt(&pty);
    pty.send("\x03");
    assert_eq!(pty.wait_exit(SOON), 130);
    assert_eq!(typed_prompts(&server), ["go"]);
}

#[test]
fn what_is_typed_during_a_turn_is_the_next_prompt() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["half", " whole"]).done(), " whole", &gate));
    server.push(Reply::chat().text("next"));
    let zdx = with_model(&server);
    let pty = open(&zdx);
    pty.send("go\r");
    pty.wait_for_text("\nhalf", SOON);
    pty.send("ahead\r");
    gate.open();
    pty.wait_for_text("\nnext", SOON);
    assert!(pty.contents().contains("\nhalf whole\n"), "typing shows in the answer: {}", pty.contents());
    leave(pty);
    assert_eq!(typed_prompts(&server), ["go", "ahead"]);
}

#[test]
fn commands_are_not_sent_to_the_model() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx);
    for (line, expected) in [
        ("/help\r", "/sessions"),
        ("/nonsense\r", "no command /nonsense"),
        ("/model\r", "test/scripted"),
        ("/model test/other\r", "model: test/other"),
        ("/sessions\r", "no saved session"),
    ] {
        pty.send(line);
        pty.wait_for_text(expected, SOON);
        wait_for_prompt(&pty);
    }
    server.push(Reply::chat().text("hi"));
    ask(&pty, "/etc/hosts?", "hi");
    leave(pty);
    assert_eq!(typed_prompts(&server), ["/etc/hosts?"]);
    assert_eq!(server.calls()[0].body["model"], "other");
}

#[test]
fn new_starts_a_fresh_session() {
    let server = ModelServer::start_with([Reply::chat().text("one"), Reply::chat().text("two")]);
    let zdx = with_model(&server);
    let pty = open(&zdx);
    ask(&pty, "zebra", "one");
    pty.send("/new\r");
    wait_for_prompt(&pty);
    ask(&pty, "second", "two");
    leave(pty);
    assert_eq!(zdx.session_files().len(), 2);
    assert!(!server.calls()[1].body.to_string().contains("zebra"));
}

#[test]
fn history_outlives_the_conversation_unless_nothing_is_to_be_saved() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok"));
    let zdx = with_model(&server);
    let pty = open(&zdx);
    pty.send("remember me\r");
    server.wait_for_call(1, SOON);
    leave(pty);
    let pty = zdx.command().arg("--no-save").line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("forget me\r");
    server.wait_for_call(2, SOON);
    leave(pty);
    let pty = open(&zdx);
    pty.send("\x1b[A");
    pty.wait_for_text("> remember me", SOON);
    pty.send("\r");
    server.wait_for_call(3, SOON);
    leave(pty);
    assert_eq!(typed_prompts(&server), ["remember me", "forget me", "remember me"]);
    let mode = std::fs::metadata(zdx.storage().join("history")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_an_older_zdx_remembered_is_still_there() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok"));
    let zdx = with_model(&server);
    let file = zdx.storage().join("history");
    std::fs::create_dir_all(zdx.storage()).unwrap();
    std::fs::write(&file, "#V2\ntwo\\nlines\nlong ago\n").unwrap();
    let pty = open(&zdx);
    pty.send("\x1b[A");
    pty.wait_for_text("> long ago", SOON);
    pty.send(" and now\r");
    server.wait_for_call(1, SOON);
    leave(pty);
    let kept = std::fs::read_to_string(&file).unwrap();
    let texts: Vec<String> = kept
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["text"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(texts, ["two\nlines", "long ago", "long ago and now"]);
}

#[test]
fn tab_finds_a_file_by_its_letters_and_none_that_is_ignored() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write(".gitignore", "target\n");
    zdx.write("target/mainspring.rs", "");
    zdx.write("src/deep/mainspring.rs", "");
    let mut pty = open(&zdx);
    pty.send("see @mspring\t");
    pty.wait_for_text("see @src/deep/mainspring.rs", SOON);
    pty.send("\x03\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
}

#[test]
fn stdout_carries_the_answers_alone_even_here() {
    let server = ModelServer::start_with([Reply::chat().text("the answer")]);
    let zdx = with_model(&server);
    let file = zdx.root().join("out.txt");
    // A shell on the terminal, with stdout of zdx in a file.
    let binary = env!("CARGO_BIN_EXE_zdx");
    let shell = Zdx::new("/bin/sh").env("ZDX_HOME", zdx.storage());
    let pty = shell
        .command()
        .args(["-c", &format!("cd {} && {binary} >out.txt", zdx.root().display())])
        .line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("question\r");
    server.wait_for_call(1, SOON);
    leave(pty);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "the answer\n");
}

#[test]
fn the_terminal_is_left_as_it_was_found() {
    for ending in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let server = ModelServer::start();
        let zdx = with_model(&server);
        let binary = env!("CARGO_BIN_EXE_zdx");
        let shell = Zdx::new("/bin/sh").env("ZDX_HOME", zdx.storage());
        let script = format!("stty -a >before; {binary} --plain; echo code $?; stty -a >after; echo over");
        let mut pty = shell.command().args(["-c", &script]).pty(40, 100);
        wait_for_prompt(&pty);
        match ending {
            None => pty.send("\x04"),
            Some(signal) => {
                let pid = child_of(pty.pid());
                rustix::process::kill_process(pid, signal).unwrap();
            }
        }
        pty.wait_for_text("over", SOON);
        assert_eq!(pty.wait_exit(SOON), 0);
        let code = ending.map_or(0, |signal| 128 + signal.as_raw());
        assert!(pty.contents().contains(&format!("code {code}")), "{}", pty.contents());
        assert_eq!(shell.read("before"), shell.read("after"));
    }
}

fn child_of(parent: u32) -> rustix::process::Pid {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    let first = children.split_whitespace().next().expect("a child").parse().unwrap();
    rustix::process::Pid::from_raw(first).unwrap()
}

#[test]
fn an_activity_line_shows_up_in_silence_and_goes_away() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text("the end").done(), "the", &gate));
    let zdx = with_model(&server);
    let pty = open(&zdx);
    pty.send("go\r");
    pty.wait_for(|screen| screen.contents().contains("s · test/scripted"), SOON);
    gate.open();
    pty.wait_for_text("\nthe end", SOON);
    wait_for_prompt(&pty);
    assert!(!pty.contents().contains("s · test/scripted"), "{}", pty.contents());
    leave(pty);
}

#[test]
fn a_pipe_is_read_line_by_line() {
    let server = ModelServer::start_with([Reply::chat().text("one"), Reply::chat().text("two")]);
    let zdx = with_model(&server);
    let output = zdx.command().stdin("first\n\n/nonsense\nsecond").run().success();
    assert_eq!(output.stdout, "one\ntwo\n");
    assert!(output.stderr.contains("no command /nonsense"), "{}", output.stderr);
    assert!(!output.stderr.contains("> "), "{}", output.stderr);
    assert_eq!(typed_prompts(&server), ["first", "second"]);
}

#[test]
fn a_pipe_learns_of_a_failure() {
    let server = ModelServer::start();
    server.always(|_| Reply::status(400).json(json!({"error": {"message": "no"}})));
    with_model(&server).command().stdin("first\n").run().expect_code(1);
}

#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let server = ModelServer::start_with([Reply::chat().text("one")]);
    let zdx = with_model(&server);
    let mut pty = zdx.command().env("TERM", "dumb").line_mode(40, 100);
    pty.wait_for(|screen| screen.contents().contains(READY) || screen.contents().ends_with('>'), SOON);
    pty.send("first\r");
    pty.wait_for_text("\none", SOON);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    assert!(!pty.raw().contains(&0x1b));
}

#[test]
fn tab_completes_files_agents_and_commands() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("notes/only.txt", "x");
    let mut pty = zdx.command().line_mode(30, 90);
    pty.wait_for_text("> ", SOON);
    for (typed, completed) in
        [("see @not\t", "see @notes/"), ("@agent:pl\t", "@agent:plan"), ("/appro\t", "/approval")]
    {
        pty.send(typed);
        pty.wait_for_text(completed, SOON);
        pty.send("\x15");
    }
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
}

/// A wish that changes nothing must be answered like any other: nobody may wait for it for ever.
#[test]
fn to_work_as_whoever_is_at_work_is_answered() {
    let server = ModelServer::start_with([Reply::chat().text("hello")]);
    let zdx = with_model(&server);
    let lines = "/agent build\n/agent plan\n/agent plan\n/agent nobody\nhi\n";
    let out = zdx.command().stdin(lines).timeout(SOON).run().success();
    assert_eq!(out.stdout, "hello\n");
    assert!(
        out.stderr.contains("agent: plan\n") && out.stderr.contains("no agent named nobody"),
        "{}",
        out.stderr
    );
}

/// What Tab offers and help lists is there.
#[test]
fn every_command_of_the_table_answers() {
    let server = ModelServer::start();
    server.models(Reply::status(200).json(json!({"data": [{"id": "scripted"}]})));
    server.always(|_| Reply::chat().text("said"));
    let zdx = with_model(&server);
    zdx.run(["exec", "-p", "before"]).success();
    let rest = |name: &str| if name == "handoff" { " go on" } else { "" };
    for name in zdx_protocol::slash::names() {
        let line = format!("hello\n/{name}{}\nand then\n", rest(name));
        let out = zdx.command().stdin(line).timeout(SOON).run();
        assert!(!out.stderr.contains("there is no command"), "/{name}: {}", out.stderr);
        let answered = out.stderr.lines().count() > 0;
        assert!(answered && out.code == Some(0), "/{name}: {:?} {}", out.code, out.stderr);
    }
    let told = |line: &str| zdx.command().stdin(format!("{line}\n")).run().success().stderr;
    assert!(told("/trust").contains("wants nothing that needs trust"));
    assert!(
        told("/policy").contains("approval: yolo\nnothing was allowed for good here"),
        "{}",
        told("/policy")
    );
    assert!(
        told("/config").contains("model") && told("/config").contains("config.toml"),
        "{}",
        told("/config")
    );
    assert!(told("/approval paranoid").contains("approval: paranoid"));
    let handoff = zdx.command().args(["-c"]).stdin("/handoff ship it\n").run().success().stderr;
    assert!(handoff.contains("## Goal") && handoff.contains("ship it"), "{handoff}");
}

/// Nothing is kept in such a run, least of all in a session that is.
#[test]
fn a_run_that_keeps_nothing_goes_on_with_no_saved_session() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("said"));
    let zdx = with_model(&server);
    zdx.run(["exec", "-p", "kept"]).success();
    let file = zdx.session_files().pop().unwrap();
    let before = std::fs::read(&file).unwrap();
    let id = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let out = zdx.command().args(["--no-save"]).stdin(format!("/resume {id}\nhello\n")).run().success();
    assert!(out.stderr.contains("--no-save"), "{}", out.stderr);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

/// A server that never answers must not keep zdx from leaving when it is told to.
#[test]
fn a_question_that_takes_for_ever_can_be_left() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("said"));
    let zdx = with_model(&server);
    zdx.run(["exec", "-p", "before"]).success();
    server.push(Reply::stream([zdx_testkit::Step::Stall]));
    server.push(Reply::stream([zdx_testkit::Step::Stall]));
    let mut pty = zdx.command().args(["-c"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("/summarize\r");
    server.wait_for_call(2, SOON);
    pty.send("\x03");
    pty.wait_for_text("interrupted", SOON);
    wait_for_prompt(&pty);
    pty.send("/summarize\r");
    server.wait_for_call(3, SOON);
    pty.signal(Signal::TERM);
    assert_eq!(pty.wait_exit(SOON), 143);
}
