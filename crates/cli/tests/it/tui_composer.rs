//! What is typed on a terminal: also while a turn runs, across restarts, in an editor, pasted, completed, taken back.

use std::os::unix::fs::PermissionsExt;

use zdx_testkit::{Gate, ModelServer, Pty, Reply, Step, Zdx};

use crate::tui_start::{ask, leave, open, wait_idle};
use crate::{SOON, prompt_of, with_model};

pub const UP: &str = "\x1b[A";

/// A server that answers everything at once.
pub fn echoing() -> (ModelServer, Zdx) {
    let server = ModelServer::start();
    server.always(|request| Reply::chat().text(&format!("heard: {}", prompt_of(request))));
    let zdx = with_model(&server);
    (server, zdx)
}

pub fn prompts(server: &ModelServer) -> Vec<String> {
    server.calls().iter().map(prompt_of).collect()
}

/// Nothing is typed.
fn wait_empty(pty: &Pty) {
    pty.wait_for_text("› describe a task", SOON);
}

/// The first answer stops in its middle, until the gate opens.
fn held(pty: &Pty, server: &ModelServer, gate: &Gate) {
    server.push(Reply::chat().text("half an answer").done().after_events(2, Step::WaitFor(gate.clone())));
    pty.send("first\r");
    pty.wait_for_text("half", SOON);
    wait_empty(pty);
}

#[test]
fn what_is_sent_in_a_turn_waits_is_shown_and_can_be_taken_back() {
    let (server, zdx) = echoing();
    let mut pty = open(&zdx, &[]);
    let gate = Gate::new();
    held(&pty, &server, &gate);
    pty.send("second\r");
    pty.wait_for_text("queued: second", SOON);
    pty.send("thrid\r");
    pty.wait_for_text("queued: thrid · Up takes it back", SOON);
    pty.send(UP);
    pty.wait_for_text("› thrid", SOON);
    pty.wait_for(|screen| !screen.contents().contains("queued: thrid"), SOON);
    pty.send("\x15third\r");
    pty.wait_for_text("queued: third", SOON);
    assert_eq!(server.calls().len(), 1);
    gate.open();
    pty.wait_for_text("heard: third", SOON);
    wait_idle(&pty);
    assert_eq!(prompts(&server), ["first", "second", "third"]);
    leave(&mut pty);
}

#[test]
fn esc_stops_the_turn_and_what_waited_waits_on() {
    for key in ["\x1b", "\x03"] {
        let (server, zdx) = echoing();
        let mut pty = open(&zdx, &[]);
        let gate = Gate::new();
        held(&pty, &server, &gate);
        pty.send("second\r");
        pty.wait_for_text("queued: second", SOON);
        pty.send("a draft");
        pty.wait_for_text("› a draft", SOON);
        pty.send(key);
        assert!(pty.saw_text("interrupted", SOON), "{key:?} {}", pty.contents());
        pty.wait_for_text("1 queued · what is typed goes first", SOON);
        assert!(pty.contents().contains("› a draft"), "{}", pty.contents());
        assert_eq!(server.calls().len(), 1);
        pty.send("\r");
        pty.wait_for_text("heard: a draft", SOON);
        pty.wait_for_text("1 queued · Enter sends it", SOON);
        pty.send("\r");
        pty.wait_for_text("heard: second", SOON);
        assert_eq!(prompts(&server)[1..], ["a draft", "second"]);
        leave(&mut pty);
    }
}

#[test]
fn ctrl_c_clears_and_twice_leaves() {
    let (_server, zdx) = echoing();
    let mut pty = open(&zdx, &[]);
    pty.send("a draft");
    pty.wait_for_text("› a draft", SOON);
    // Not while something is typed.
    pty.send("\x04");
    pty.send("\x03");
    wait_empty(&pty);
    pty.send(UP);
    pty.wait_for_text("› a draft", SOON);
    pty.send("\x03");
    wait_empty(&pty);
    pty.send("\x03");
    // Said for a moment only; whoever comes later than that is told anew.
    pty.wait_for_glimpse("Ctrl-C again leaves", SOON);
    pty.send("\x03\x03");
    assert_eq!(pty.wait_exit(SOON), 130);
}

#[test]
fn twice_in_a_turn_leaves_too() {
    let (server, zdx) = echoing();
    let mut pty = open(&zdx, &[]);
    let gate = Gate::new();
    held(&pty, &server, &gate);
    pty.send("\x03");
    pty.wait_for_text("interrupted", SOON);
    pty.send("\x03\x03");
    assert_eq!(pty.wait_exit(SOON), 130);
    assert!(pty.contents().contains("half a"), "{}", pty.contents());
}

#[test]
fn earlier_prompts_are_there_after_a_restart() {
    let (server, zdx) = echoing();
    let mut pty = open(&zdx, &[]);
    ask(&pty, "one of them", "heard: one of them");
    ask(&pty, "你好 two", "heard: 你好 two");
    leave(&mut pty);
    let mut pty = open(&zdx, &[]);
    pty.send(UP);
    pty.wait_for_text("› 你好 two", SOON);
    pty.send(UP);
    pty.wait_for_text("› one of them", SOON);
    pty.send("\x1b[B\x1b[B");
    wait_empty(&pty);
    pty.send("\x12one");
    pty.wait_for_text("one of them", SOON);
    pty.send("\r");
    pty.wait_for(
        |screen| {
            let (row, _) = screen.cursor_position();
            screen.contents_between(row, 0, row, 100).trim_end() == "› one of them"
        },
        SOON,
    );
    pty.send("\r");
    pty.wait_for_text("heard: one of them", SOON);
    leave(&mut pty);
    assert_eq!(prompts(&server).last().unwrap(), "one of them");
    let kept = std::fs::read_dir(zdx.storage())
        .unwrap()
        .flatten()
        .find(|file| file.file_name().to_string_lossy().contains("history") && file.path().is_file());
    let mode = kept.expect("a history").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_megabyte_that_is_pasted_is_a_chip_and_reaches_the_model_whole() {
    let server = ModelServer::start_with([Reply::chat().text("read it")]);
    let zdx = with_model(&server).config_more("[models.\"test/scripted\"]\ncontext_limit = 2000000\n");
    let mut pty = open(&zdx, &[]);
    let text: String = (0..50_000).map(|n| format!("line {n} 中文 \\t end\n")).collect();
    assert!(text.len() > 1_000_000);
    pty.send("before ");
    pty.send(format!("\x1b[200~{}\x1b[201~", text.replace('\n', "\r")));
    pty.wait_for_text("pasted 50000 lines", SOON);
    pty.send(" after");
    pty.wait_for_text("after", SOON);
    assert!(!pty.contents().contains("line 3"), "{}", pty.contents());
    pty.send("\r");
    let sent = prompt_of(&server.wait_for_call(1, SOON));
    let wanted = format!("before {text} after");
    // The engine may say something of its own before it.
    assert!(sent.ends_with(&wanted), "{} bytes of {}", sent.len(), wanted.len());
    pty.wait_for_text("read it", SOON);
    leave(&mut pty);
}

#[test]
fn a_prompt_can_be_written_in_an_editor_of_ones_own() {
    let (server, zdx) = echoing();
    let editor = zdx.home().join("editor");
    let script = "#!/bin/sh\ncat \"$1\" > \"$HOME/was\"; stty -a < /dev/tty > \"$HOME/stty\"\n\
        printf 'in the editor\\n' > /dev/tty; read -r line < /dev/tty\nprintf '%s\\nand %s\\n' \"$(cat \"$1\")\" \"$line\" > \"$1\"\n";
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let zdx = zdx.env("EDITOR", &editor);
    let mut pty = open(&zdx, &[]);
    pty.send("one line");
    pty.wait_for_text("› one line", SOON);
    pty.send("\x07");
    pty.wait_for_text("in the editor", SOON);
    // Every key is the editor's, and the terminal is as editors expect it.
    pty.send("typed there\r");
    pty.wait_for_text("and typed there", SOON);
    assert_eq!(std::fs::read_to_string(zdx.home().join("was")).unwrap().trim_end(), "one line");
    let stty = std::fs::read_to_string(zdx.home().join("stty")).unwrap();
    assert!(stty.contains(" icanon") && stty.contains(" echo "), "{stty}");
    pty.send("\r");
    pty.wait_for_text("heard: one line", SOON);
    assert_eq!(prompts(&server), ["one line\nand typed there"]);
    leave(&mut pty);
}

#[test]
fn files_and_commands_are_offered_as_one_types() {
    let (server, zdx) = echoing();
    zdx.write("docs/说明.md", "text of it\n");
    zdx.write("docs/other.md", "");
    // First in the list until the last letter of `dother` was answered: Enter takes nothing that an older answer offered.
    zdx.write("dothe", "");
    zdx.write(".gitignore", "target\n");
    zdx.write("target/docs.md", "");
    zdx.write(".git/HEAD", "ref: refs/heads/main\n");
    let mut pty = open(&zdx, &[]);
    pty.send("请看 @说");
    // The caret stands behind the text, where an input method opens its window. It comes there with the end of a frame.
    let caret = 2 + 4 + 1 + 1 + 2;
    pty.wait_for(
        |screen| screen.contents().contains("\n▸ docs/说明.md") && screen.cursor_position().1 == caret,
        SOON,
    );
    pty.send("\t");
    pty.wait_for_text("› 请看 @docs/说明.md", SOON);
    pty.send("and @tdocs");
    pty.wait_for_text("@tdocs", SOON);
    pty.send("\x15@dother");
    pty.wait_for_text("\n▸ docs/other.md", SOON);
    assert!(!pty.contents().contains("target/docs.md"), "{}", pty.contents());
    pty.send("\r");
    pty.wait_for_text("› @docs/other.md", SOON);
    assert!(server.calls().is_empty(), "Enter chose, and sent nothing");
    pty.send("\x15/mo");
    pty.wait_for_text("\n▸ /model", SOON);
    pty.send("\x1b");
    pty.wait_for(|screen| !screen.contents().contains("\n▸ /model"), SOON);
    pty.send("\x15");
    leave(&mut pty);
}

#[test]
fn another_session_is_picked_from_a_list() {
    let (server, zdx) = echoing();
    for prompt in ["about apples", "about pears"] {
        zdx.run(["exec", "-p", prompt]).success();
    }
    let mut pty = open(&zdx, &[]);
    pty.send("/resume\r");
    pty.wait_for_text("Go on with", SOON);
    pty.wait_for_text("about pears", SOON);
    pty.send("about apples");
    pty.wait_for(|screen| !screen.contents().contains("about pears"), SOON);
    pty.send("\r");
    pty.wait_for_text("heard: about apples", SOON);
    wait_idle(&pty);
    assert!(pty.lines().iter().any(|line| line == "› about apples"), "{}", pty.contents());
    ask(&pty, "more", "heard: more");
    assert!(server.calls().last().unwrap().body.to_string().contains("about apples"));
    leave(&mut pty);
}

#[test]
fn many_lines_wide_letters_and_undo() {
    let (server, zdx) = echoing();
    let mut pty = open(&zdx, &[]);
    // Ctrl-J, Alt-Enter, a backslash before Enter, kitty's Shift-Enter.
    pty.send("one\ntwo\x1b\rthree\\\rfour\x1b[13;2ufive");
    pty.wait_for_text("  five", SOON);
    pty.send("\x17");
    pty.wait_for(|screen| !screen.contents().contains("five"), SOON);
    pty.send("\x1f");
    pty.wait_for_text("  five", SOON);
    pty.send(" 漢字👩‍👩‍👧é");
    pty.wait_for_text("é", SOON);
    pty.send("\x7f\x7f\x7f!");
    pty.wait_for_text("five 漢!", SOON);
    pty.send("\r");
    pty.wait_for_text("heard: one", SOON);
    assert_eq!(prompts(&server), ["one\ntwo\nthree\nfour\nfive 漢!"]);
    leave(&mut pty);
}
