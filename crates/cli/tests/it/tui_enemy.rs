//! The front end on a terminal against those who mean it no good, or do too much: floods, texts without an end, keys at
//! random, pastes that carry more than text.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use zdx_testkit::{Gate, ModelServer, Pty, Reply, Step, Zdx};

use crate::tui_start::{ask, count, leave, open, wait_idle};
use crate::{SOON, prompt_of, with_model};

/// Typing shows while all of it is still coming in.
#[test]
fn a_line_without_an_end_and_a_block_that_is_never_closed() {
    let line = "word ".repeat(40_000);
    let block = format!("```rust\n{}", "let x = 1; // more of it\n".repeat(3_000));
    for (text, least) in [(line, 2_000), (block, 3_000)] {
        let gate = Gate::new();
        let server = ModelServer::start();
        let pieces: Vec<String> =
            text.as_bytes().chunks(50).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
        let half = pieces.len() / 2;
        server.push(Reply::chat().text_deltas(pieces).done().after_events(half, Step::WaitFor(gate.clone())));
        let zdx = with_model(&server);
        let mut pty = open(&zdx, &[]);
        pty.send("go\r");
        gate.wait_reached(SOON);
        pty.send("typed meanwhile");
        let since = Instant::now();
        pty.wait_for_text("› typed meanwhile", SOON);
        gate.open();
        pty.wait_for_text("ANSWER", SOON);
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
        pty.send("\x15");
        leave(&mut pty);
        let lines = pty.lines();
        let shown =
            lines.iter().filter(|line| line.contains("word word") || line.contains("let x = 1")).count();
        // This terminal keeps two thousand lines above its screen.
        assert!(shown >= least.min(1_900), "{shown} lines");
        assert_eq!(count(&pty.raw(), b"\x1b[2J"), 0);
    }
}

#[test]
fn a_flood_of_output_is_a_tail() {
    let server = ModelServer::start();
    let command = "seq 300000; printf '\\033[2J\\033]0;owned\\007'; echo the end of it";
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": command})));
    server.push(Reply::chat().text("I see"));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &["--yolo"]);
    let before = pty.raw().len();
    ask(&pty, "go", "I see");
    let written = pty.raw().len() - before;
    assert!(written < 200_000, "{written} bytes");
    let lines = pty.lines();
    assert!(lines.iter().any(|line| line.contains("Ctrl-O to expand")), "{lines:#?}");
    assert!(lines.iter().filter(|line| line.trim().parse::<u32>().is_ok()).count() < 10, "{lines:#?}");
    assert_eq!(count(&pty.raw(), b"\x1b[2J") + count(&pty.raw(), b"\x1b]0;owned"), 0);
    leave(&mut pty);
}

/// A paste is text, whatever is in it: it neither sends nor does anything to the terminal.
#[test]
fn a_paste_is_text_whatever_is_in_it() {
    let server = ModelServer::start_with([Reply::chat().text("fine")]);
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    pty.send("\x1b[200~one\rtwo \x03\x1b[2J\x1b]0;owned\x07\x04 three\x1b[201~");
    pty.wait_for_text("three", SOON);
    assert!(server.calls().is_empty(), "a paste sends nothing");
    pty.send("\r");
    let sent = prompt_of(&server.wait_for_call(1, SOON));
    assert!(sent.contains("one\ntwo") && sent.contains("three"), "{sent:?}");
    pty.wait_for_text("\nfine", SOON);
    leave(&mut pty);
    assert_eq!(count(&pty.raw(), b"\x1b[2J") + count(&pty.raw(), b"\x1b]0;owned"), 0);
}

/// Always the same keys; nothing that leaves, and nothing that a shell would run.
#[test]
fn keys_at_random_do_no_harm() {
    const KEYS: [&str; 40] = [
        "a",
        "B",
        "中",
        "👩‍👩‍👧",
        " ",
        "@",
        "/",
        "é",
        "\r",
        "\n",
        "\t",
        "\x1b[Z",
        "\x1b[A",
        "\x1b[B",
        "\x1b[C",
        "\x1b[D",
        "\x1b[H",
        "\x1b[F",
        "\x1b[5~",
        "\x1b[6~",
        "\x1b[3~",
        "\x7f",
        "\x17",
        "\x15",
        "\x0b",
        "\x19",
        "\x1f",
        "\x12",
        "\x0f",
        "\x0c",
        "\x1b",
        "\x1bOP",
        "\x1b[12~",
        "q",
        "\x1b[200~pasted\rtext\x1b[201~",
        "\x1b[I",
        "\x1b[8;1;1t",
        "\x1b[1;1R",
        "\x1b[999;999Z",
        "\x01",
    ];
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("# fine\n\n- so\n"));
    let zdx = with_model(&server);
    zdx.write("some/file.txt", "");
    let mut pty = open(&zdx, &[]);
    let mut random = 12_345_u64;
    for round in 0..30_u16 {
        for _ in 0..60 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            pty.send(KEYS[usize::try_from(random >> 33).unwrap() % KEYS.len()]);
        }
        pty.resize(24 + round % 7, 80 + round);
    }
    pty.resize(30, 100);
    // Until all keys were taken, and what they began is over.
    let rests = |pty: &Pty| {
        let before = pty.raw().len();
        !pty.saw_text("\u{0}", Duration::from_millis(300)) && pty.raw().len() == before
    };
    let until = Instant::now() + SOON;
    while !rests(&pty) {
        assert!(Instant::now() < until, "it never rests: {}", pty.contents());
    }
    // Out of whatever is open.
    while !pty.contents().contains("› describe a task") || pty.screen().alternate_screen() || !rests(&pty) {
        assert!(Instant::now() < until, "{}", pty.contents());
        pty.send("\x1b");
        rests(&pty);
        // Takes all that is typed, line by line. Not by Ctrl-C: two of them in one moment would leave.
        if !pty.contents().contains("› describe a task") {
            pty.send("\x15\x0b\x7f\x1b[3~".repeat(20));
            rests(&pty);
        }
    }
    wait_idle(&pty);
    ask(&pty, "and now", "fine");
    // What waits behind a turn that was stopped is not left behind by one key.
    pty.send("\x04\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    assert!(!pty.screen().alternate_screen() && !pty.screen().bracketed_paste());
}

/// In a turn whose answer is far more than any buffer in between holds, and whose command runs.
fn stuck(zdx: &Zdx, server: &ModelServer) -> Pty {
    let pieces: Vec<String> = (0..4_000).map(|n| format!("line {n} of a long answer\n\n")).collect();
    let call = json!({"command": "touch reached; sleep 600"});
    server.push(Reply::chat().text_deltas(pieces).tool_call("c1", "bash", call));
    let pty = open(zdx, &["--yolo"]);
    pty.stick(true);
    pty.send("go\r");
    crate::mcp::wait_until("the answer is there", || zdx.root().join("reached").exists());
    pty
}

/// As over a line that is stuck, or a terminal that somebody stopped with Ctrl-S.
#[test]
fn a_terminal_that_takes_nothing_stops_nothing() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = stuck(&zdx, &server);
    pty.send("\x1b");
    let interrupted = || zdx.records().iter().any(|record| record["type"] == "interrupted");
    crate::mcp::wait_until("the turn is stopped", interrupted);
    pty.stick(false);
    pty.wait_for_text("interrupted", SOON);
    wait_idle(&pty);
    leave(&mut pty);
    // Nothing was lost on the way, and nothing told twice.
    let lines = pty.lines();
    let numbers: Vec<u32> =
        lines.iter().filter_map(|line| line.strip_prefix("line ")?.split(' ').next()?.parse().ok()).collect();
    assert!(numbers.len() > 500, "{}", numbers.len());
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
}

/// It is told to go, and has nobody to tell anything.
#[test]
fn a_terminal_that_takes_nothing_keeps_nobody() {
    for signal in [Signal::TERM, Signal::HUP] {
        let server = ModelServer::start();
        let zdx = with_model(&server);
        let mut pty = stuck(&zdx, &server);
        pty.signal(signal);
        let dead = format!("/proc/{}/stat", pty.pid());
        let is_dead = || std::fs::read_to_string(&dead).map_or(true, |stat| stat.contains(") Z "));
        crate::mcp::wait_until("it is gone", is_dead);
        pty.stick(false);
        assert_eq!(pty.wait_exit(SOON), 128 + signal.as_raw().unsigned_abs());
    }
}

/// Over a slow line a question is drawn long before it is seen, and what is typed until then was meant for something else.
#[test]
fn a_question_that_is_not_on_the_screen_yet_is_not_answered() {
    answered_only_when_seen("xterm-256color");
}

/// One that does not say how large it is says at least what it is.
#[test]
fn nor_is_it_on_a_terminal_that_does_not_tell_its_size() {
    answered_only_when_seen("st-256color");
}

#[track_caller]
fn answered_only_when_seen(term: &str) {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": "touch made"})));
    server.push(Reply::chat().text("I see"));
    let zdx = with_model(&server);
    let mut pty = zdx.command().env("TERM", term).pty(30, 100);
    wait_idle(&pty);
    pty.stick(true);
    pty.send("go\r");
    let asked = || zdx.records().iter().any(|record| record["type"] == "asked");
    crate::mcp::wait_until("it is asked", asked);
    pty.send("y");
    pty.stick(false);
    pty.wait_for_text("this request waits for you", SOON);
    pty.wait_for_text("› y", SOON);
    assert!(!zdx.root().join("made").exists() && server.calls().len() == 1);
    // Who sees it answers it.
    pty.send("\x7f");
    crate::tui_approval::wait_for_focus(&pty);
    pty.send("y");
    pty.wait_for_text("I see", SOON);
    assert!(zdx.root().join("made").exists());
    wait_idle(&pty);
    leave(&mut pty);
}
