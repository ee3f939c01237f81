//! What a conversation looks like on a terminal: answers, calls, running and over, hostile text, the pager, what is copied,
//! and a session that is gone on with.

use std::time::Instant;

use serde_json::json;
use zdx_testkit::{ChatReply, Gate, ModelServer, Pty, Reply, Scenario, Step};

use crate::tui_start::{ask, count, leave, open, said, wait_idle};
use crate::{SOON, hold_before, with_model};

const ANSWER: &str = "# Plan\n\nFirst **this**, then `that`.\n\n```rust\nfn main() {\n    let one = 1;\n}\n```\n\n\
    | name | meaning |\n|------|---------|\n| a | the first |\n| 中文 | the second |\n\n- one\n- two\n\nDone.";

fn bash(id: &str, command: &str) -> ChatReply {
    Reply::chat().tool_call(id, "bash", json!({"command": command}))
}

/// The colour of the first cell of this text.
fn colour_of(pty: &Pty, text: &str) -> vt100::Color {
    let screen = pty.screen();
    let (_, columns) = screen.size();
    let found = screen.rows(0, columns.get()).enumerate().find_map(|(row, line)| {
        let column = line[..line.find(text)?].chars().count();
        Some((u16::try_from(row).unwrap(), u16::try_from(column).unwrap()))
    });
    let (row, column) = found.unwrap_or_else(|| panic!("{text} in {}", screen.contents()));
    screen.cell(row, column).unwrap().fgcolor()
}

#[test]
fn a_change_that_is_being_written_is_named_and_counted() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let pieces = ["{\"path\": \"src/a", ".rs\", \"content\": \"", &"x".repeat(12_000), "last\"}"];
    let write = Reply::chat().tool_call_deltas("c1", "write_file", pieces).done();
    server.push(hold_before(write, "last", &gate));
    server.push(Reply::chat().text("written"));
    let zdx = with_model(&server).config_more("approval = \"yolo\"");
    let mut pty = open(&zdx, &[]);
    pty.send("go\r");
    pty.wait_for_text("• preparing write src/a.rs · 12 kB", SOON);
    gate.open();
    pty.wait_for_text("written", SOON);
    wait_idle(&pty);
    assert!(!pty.contents().contains("preparing"), "{}", pty.contents());
    leave(&mut pty);
}

#[test]
fn an_answer_is_set_with_code_and_a_table() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let body = ANSWER.strip_suffix("Done.").unwrap();
    server.push(hold_before(Reply::chat().text_deltas([body, "Done."]).done(), "Done", &gate));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    pty.send("go\r");
    // What is closed is shown before all of it has come.
    pty.wait_for_text("the second", SOON);
    assert!(!pty.contents().contains("Done."));
    gate.open();
    pty.wait_for_text("ANSWER", SOON);
    wait_idle(&pty);
    let shown = said(&pty, "› go").join("\n");
    assert!(!shown.contains("```") && !shown.contains("**") && !shown.contains("|--"), "{shown}");
    for part in [
        "\nPlan\n",
        "First this, then that.",
        "fn main() {\n",
        "name  meaning\n",
        "中文  the second\n",
        "one\n",
    ] {
        assert!(shown.contains(part), "{part:?} in {shown}");
    }
    assert_ne!(colour_of(&pty, "fn main"), colour_of(&pty, "Done."), "code is coloured");
    leave(&mut pty);
    assert_eq!(count(&pty.raw(), b"\x1b[2J"), 0, "the screen was never cleared");
    assert_eq!(count(&pty.raw(), b"\x1b[3J"), 0, "nor what was above it");
}

/// Everything once, and the frame in one piece where the terminal can do that.
#[test]
fn a_long_answer_is_all_there_once() {
    let text: String = (1..=500).map(|n| format!("line {n} of many\n\n")).collect();
    let server = ModelServer::start_with([Reply::chat().text(&text)]);
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    ask(&pty, "go", "line 500 of many");
    leave(&mut pty);
    let wanted: Vec<String> = (1..=500).map(|n| format!("line {n} of many")).collect();
    let lines: Vec<String> = pty.lines().into_iter().filter(|line| line.ends_with("of many")).collect();
    assert_eq!(lines, wanted);
    let raw = pty.raw();
    assert_eq!((count(&raw, b"\x1b[2J"), count(&raw, b"\x1b[3J"), count(&raw, b"\x1b[?1049h")), (0, 0, 0));
    assert!(count(&raw, b"\x1b[?2026h") > 0, "the terminal knows synchronised output");
    assert_eq!(
        count(&raw, b"\x1b[?2026h"),
        count(&raw, b"\x1b[?2026l") - 1,
        "each is ended, and once more at the end"
    );
}

/// What is shown of a turn of sixty calls, and again when somebody comes back to it.
fn sixty_calls(call: fn(usize) -> (&'static str, serde_json::Value)) -> (Vec<String>, Vec<String>) {
    let server = ModelServer::start();
    server.always(move |request| {
        let done = request.messages().iter().filter(|message| message["role"] == "tool").count();
        let (name, input) = call(done);
        match done {
            60.. => Reply::chat().text("done"),
            _ => Reply::chat().tool_call(&format!("c{done}"), name, input),
        }
    });
    let zdx = with_model(&server);
    for n in 0..60 {
        zdx.write(format!("file_{n}.txt"), format!("word{n}\n"));
        zdx.write(format!("other_{n}.txt"), "x\n");
    }
    let mut pty = open(&zdx, &["--yolo"]);
    ask(&pty, "go", "done");
    let shown = said(&pty, "› go");
    leave(&mut pty);
    let mut pty = open(&zdx, &["sessions", "resume"]);
    pty.wait_for_text("ctx ", SOON);
    let again = said(&pty, "› go");
    leave(&mut pty);
    (shown, again)
}

/// Without its times, which are those of its records when it is told again.
fn timeless(lines: &[String]) -> Vec<String> {
    let is_time = |part: &&str| {
        let number = part.trim_end_matches(['m', 's', ' ']).rsplit(' ').next();
        part.ends_with('s') && number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let plain =
        |line: &String| line.split(" · ").filter(|part| !is_time(part)).collect::<Vec<_>>().join(" · ");
    lines.iter().map(plain).collect()
}

#[test]
fn sixty_calls_take_thirty_rows() {
    let (shown, again) = sixty_calls(|n| match n % 4 {
        0 => ("bash", json!({"command": format!("seq {n} {n}")})),
        1 => ("read", json!({"path": format!("file_{n}.txt")})),
        2 => ("grep", json!({"pattern": format!("word{n}")})),
        _ => ("read", json!({"path": format!("other_{n}.txt")})),
    });
    assert!(shown.len() <= 30, "{} rows: {shown:#?}", shown.len());
    let line = "• Ran 15 commands, read 30 files, searched 15 patterns · seq, file_1.txt,";
    assert!(shown.iter().any(|row| row.starts_with(line)), "{shown:#?}");
    assert_eq!(timeless(&again), timeless(&shown));

    let (shown, again) = sixty_calls(|n| ("bash", json!({"command": format!("seq {n} 99")})));
    assert!(shown.len() <= 30, "{} rows: {shown:#?}", shown.len());
    assert!(shown.iter().any(|row| row.starts_with("• Ran 59 commands · seq")), "{shown:#?}");
    assert!(shown.iter().any(|row| row.starts_with("• Ran seq 59 99 ·")), "{shown:#?}");
    assert!(shown.iter().any(|row| row == "    99"), "{shown:#?}");
    assert_eq!(timeless(&again), timeless(&shown));
}

/// What changes something is never behind a count, nor when somebody comes back to it.
#[test]
fn commands_that_change_something_keep_their_rows() {
    let server = ModelServer::start();
    let commands =
        ["touch c", "mkdir d", "cat c", "ls", "wc -l c", "ls d", "sh -c true", "mkdir e", "mkdir f"];
    for (n, command) in commands.iter().enumerate() {
        server.push(bash(&format!("c{n}"), command));
    }
    server.push(Reply::chat().text("done"));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &["--yolo"]);
    ask(&pty, "go", "done");
    let shown = said(&pty, "› go");
    leave(&mut pty);
    let calls: Vec<String> = timeless(&shown).into_iter().filter(|row| row.starts_with('•')).collect();
    let wanted = [
        "• Ran touch c · exit 0",
        "• Ran mkdir d · exit 0",
        "• Ran 4 commands · cat, ls, wc",
        "• Ran sh -c true · exit 0",
        "• Ran mkdir e · exit 0",
        "• Ran mkdir f · exit 0",
    ];
    assert_eq!(calls, wanted, "{shown:#?}");
    let mut pty = open(&zdx, &["sessions", "resume"]);
    pty.wait_for_text("ctx ", SOON);
    assert_eq!(timeless(&said(&pty, "› go")), timeless(&shown));
    leave(&mut pty);
}

#[test]
fn a_running_call_shows_its_tail_and_seconds_and_then_how_it_ended() {
    let server = ModelServer::start();
    let command = "for n in $(seq 30); do echo line-$n; done; until test -e go; do sleep 0.05; done; exit 3";
    server.push(bash("c1", command));
    server.push(Reply::chat().text("I see"));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &["--yolo"]);
    pty.send("go\r");
    pty.wait_for_text("    line-30\n", SOON);
    let shown = pty.contents();
    assert!(shown.contains("• Running for n in") && !shown.contains("line-26"), "{shown}");
    // Time passes on the screen, though nothing is printed.
    let time = |screen: &vt100::Screen| {
        Some(screen.contents().split_once("• Running")?.1.lines().next()?.to_owned())
    };
    let before = time(&pty.screen());
    pty.wait_for(|screen| time(screen).is_some_and(|now| Some(&now) != before.as_ref()), SOON);
    assert!(time(&pty.screen()).is_some_and(|now| now.ends_with(" s")), "{}", pty.contents());
    zdx.write("go", "");
    pty.wait_for_text("I see", SOON);
    wait_idle(&pty);
    let shown = said(&pty, "› go").join("\n");
    assert!(shown.contains("✗ Ran for n in") && shown.contains("exit 3\n"), "{shown}");
    assert!(shown.contains("lines, Ctrl-O to expand\n") && shown.contains("    line-30\n"), "{shown}");
    assert!(!shown.contains("line-2\n") && !shown.contains("Running"), "{shown}");
    leave(&mut pty);
}

/// The whole conversation on a screen of its own, and what was there before is there again.
#[test]
fn the_pager_shows_all_and_gives_the_scrollback_back() {
    let server = ModelServer::start();
    server.push(bash("c1", "seq -f line-%g 80"));
    server.push(Reply::chat().text("I see"));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &["--yolo"]);
    ask(&pty, "go", "I see");
    assert!(!pty.lines().iter().any(|line| line.ends_with("line-7")));
    let before = pty.lines();
    pty.send("\x0f");
    pty.wait_for(|screen| screen.alternate_screen() && screen.contents().contains("q leaves"), SOON);
    pty.send("g");
    pty.wait_for_text("line-7\n", SOON);
    pty.send("/line-66\r");
    pty.wait_for_text("line-66\n", SOON);
    pty.send("q");
    pty.wait_for(|screen| !screen.alternate_screen(), SOON);
    wait_idle(&pty);
    assert_eq!(pty.lines(), before);
    leave(&mut pty);
}

#[test]
fn what_is_copied_goes_to_the_clipboard() {
    let server = ModelServer::start_with([Reply::chat().text("see:\n\n```sh\nmake all\n```\n")]);
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    pty.send("/copy\r");
    pty.wait_for_text("there is no answer to copy yet", SOON);
    ask(&pty, "go", "see:");
    pty.send("/copy\r");
    pty.wait_for_text("copied", SOON);
    assert_eq!(count(&pty.raw(), b"\x1b]52;c;c2VlOgoKYGBgc2gKbWFrZSBhbGwKYGBg"), 1);
    pty.send("/copy 1\r");
    pty.wait_for(|screen| screen.contents().matches("copied").count() == 2, SOON);
    assert!(count(&pty.raw(), b"\x1b]52;c;bWFrZSBhbGw") == 1, "{}", pty.contents());
    leave(&mut pty);
}

#[test]
fn whoever_comes_back_finds_the_conversation_as_it_looked() {
    let server = ModelServer::start();
    server.push(bash("c1", "seq -f line-%g 20; sleep 0.2; exit 1").text("I look."));
    server.push(Reply::chat().text(ANSWER));
    server.push(Reply::chat().text("and on"));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &["--yolo"]);
    ask(&pty, "go", "Done.");
    let before = said(&pty, "› go");
    leave(&mut pty);
    let mut pty = open(&zdx, &["sessions", "resume"]);
    assert!(before.iter().any(|line| line.ends_with(" s · exit 1")), "{before:?}");
    assert!(
        before.iter().any(|line| line.starts_with("— ANSWER · ") && line.ends_with(" out")),
        "{before:?}"
    );
    pty.wait_for_text("ctx ", SOON);
    assert_eq!(timeless(&said(&pty, "› go")), timeless(&before));
    ask(&pty, "more", "and on");
    leave(&mut pty);
}

/// Clears, moves, titles, clipboards, questions, colours: nobody but us writes those.
#[test]
fn what_models_and_programs_print_does_nothing_to_the_terminal() {
    let evil = "\x1b[2J\x1b[3J\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[6n\x1b[?1049h\x1bPq\x1b\\\u{9b}31m\u{202e}end\x07";
    let server = ModelServer::start();
    let octal: String = evil.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    server.push(bash("c1", &format!("printf 'out {octal}'")).text(&format!("text {evil}\n")));
    server.push(
        Reply::chat().text(&format!("`code {evil}` [a {evil}](http://x/{evil})\n\n```\n{evil}\n```\n\nover")),
    );
    let zdx = with_model(&server).env("NO_COLOR", "1");
    zdx.write(format!("a{}", "\x1b]0;owned\x07"), "");
    let mut pty = open(&zdx, &["--yolo"]);
    ask(&pty, "go", "over");
    pty.send("\x0f");
    pty.wait_for(|screen| screen.alternate_screen(), SOON);
    pty.send("q");
    pty.wait_for(|screen| !screen.alternate_screen(), SOON);
    leave(&mut pty);
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    for never in ["\x1b[2J", "\x1b[3J", "]0;owned", "]52;", "\x1bP", "\u{9b}", "\u{202e}", "\x1b[31m"] {
        assert!(!raw.contains(never), "{never:?} in {raw:?}");
    }
    assert_eq!(raw.matches("\x1b[?1049h").count(), 1, "the pager's own");
    assert!(!raw.contains('\x07'), "no bell of theirs");
}

#[test]
fn a_burst_of_deltas_costs_few_bytes_and_loses_none() {
    let server = ModelServer::start();
    server.always(|request| Scenario::Deltas(5_000).reply(request));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    let (before, since) = (pty.raw().len(), Instant::now());
    pty.send("go\r");
    pty.wait_for_text("ANSWER", SOON);
    wait_idle(&pty);
    let written = pty.raw().len() - before;
    // At most sixty frames a second, each of a few rows.
    let most = 60_000 + 4_000 * usize::try_from(since.elapsed().as_millis() / 16).unwrap();
    assert!(written < most.min(1_000_000), "{written} bytes for 5,000 deltas");
    leave(&mut pty);
}

#[test]
fn thinking_is_a_line_until_it_is_asked_for() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let reply = Reply::chat().reasoning("I wonder about it at length.").text("So it is.").done();
    server.push(hold_before(reply, "So it", &gate));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    pty.send("go\r");
    gate.wait_reached(SOON);
    // Some second or other: which one is looked at is not for us to say.
    let seconds = |screen: &vt100::Screen| -> Option<u64> {
        screen.contents().split_once("∴ thinking ")?.1.split_once(" s")?.0.parse().ok()
    };
    pty.wait_for(|screen| seconds(screen).is_some_and(|count| count > 0), SOON);
    gate.open();
    pty.wait_for_text("So it is.", SOON);
    wait_idle(&pty);
    assert!(
        !pty.contents().contains("I wonder") && pty.contents().contains("∴ thought for"),
        "{}",
        pty.contents()
    );
    pty.send("\x0f");
    pty.wait_for_text("I wonder about it at length.", SOON);
    pty.send("q");
    leave(&mut pty);
}

/// Somebody who looks at the pager when the answer ends misses none of it.
#[test]
fn what_is_said_behind_the_pager_is_there_afterwards() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let text: String = (1..=60).map(|n| format!("line {n} of many\n\n")).collect();
    server.push(Reply::chat().text(&text).done().after_events(20, Step::WaitFor(gate.clone())));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    pty.send("go\r");
    gate.wait_reached(SOON);
    pty.send("\x0f");
    pty.wait_for(|screen| screen.alternate_screen(), SOON);
    gate.open();
    pty.wait_for_text("ANSWER", SOON);
    assert!(pty.screen().alternate_screen());
    pty.send("q");
    wait_idle(&pty);
    leave(&mut pty);
    let lines: Vec<String> = pty.lines().into_iter().filter(|line| line.ends_with("of many")).collect();
    assert_eq!(lines, (1..=60).map(|n| format!("line {n} of many")).collect::<Vec<_>>());
}

#[test]
fn how_full_the_context_is_can_be_seen_while_a_turn_goes_on() {
    let (server, gate) = (ModelServer::start(), Gate::new());
    server.push(bash("c1", "true"));
    server.push(hold_before(Reply::chat().text("late").done(), "[DONE]", &gate));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &["--yolo"]);
    pty.send("go\r");
    gate.wait_reached(SOON);
    pty.wait_for_text("ctx ", SOON);
    gate.open();
    pty.wait_for_text("ANSWER", SOON);
    wait_idle(&pty);
    leave(&mut pty);
}

/// What became a summary is still there to be read by who comes back.
#[test]
fn turns_before_a_compaction_are_shown_again() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for (n, answer) in ["the first answer", "the second answer"].iter().enumerate() {
        server.push(Reply::chat().text(&format!("{}\n\n{answer}", "word ".repeat(3_000))));
        let go_on: &[&str] = if n == 0 { &[] } else { &["-c"] };
        zdx.command().args(go_on).args(["exec", "-p", &format!("question {n}")]).run().success();
    }
    server.push(Reply::chat().text("A summary that is long enough to be of some use to a reader."));
    zdx.command().arg("-c").stdin("/compact\n").run().success();
    assert!(zdx.records().iter().any(|record| record["type"] == "compaction"));
    server.push(Reply::chat().text("the third answer"));
    zdx.command().args(["-c", "exec", "-p", "question 2"]).run().success();
    let mut pty = open(&zdx, &["sessions", "resume"]);
    pty.wait_for_text("ctx ", SOON);
    let shown = said(&pty, "› question 0").join("\n");
    let parts = [
        "the first answer",
        "› question 1",
        "the second answer",
        "context compacted",
        "› question 2",
        "the third",
    ];
    let places: Vec<Option<usize>> = parts.iter().map(|part| shown.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {shown}");
    assert_eq!(shown.matches("the second answer").count(), 1, "{shown}");
    leave(&mut pty);
}

/// The end of what was printed, and how much there was, although its middle was left out.
#[test]
fn a_long_output_is_counted_whole_and_shows_its_end() {
    let server = ModelServer::start();
    server.push(bash("c1", "seq 1 20000"));
    server.push(Reply::chat().text("done"));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &["--yolo"]);
    ask(&pty, "go", "done");
    let shown = said(&pty, "› go");
    assert!(shown.iter().any(|row| row.trim() == "+19995 lines, Ctrl-O to expand"), "{shown:#?}");
    assert!(shown.iter().any(|row| row == "    20000"), "{shown:#?}");
    // Its middle is in a file alone, which the page of the whole conversation shows.
    pty.send("\x0f");
    // All rows are counted at the foot of the page.
    pty.wait_for_text(" of 200", SOON);
    pty.send("/10000\r");
    pty.wait_for(|screen| screen.contents().contains("    10000\n    10001\n"), SOON);
    pty.send("q");
    leave(&mut pty);
}
