//! Windows that change their size, again and again, while somebody types or a model writes: nothing is lost, nothing is
//! there twice. This terminal cuts rows off and does not break them anew; tmux is tried where frames are made.

use zdx_testkit::{Gate, ModelServer, Pty, Reply, Step};

use crate::tui_start::{count, leave, open, wait_idle};
use crate::{SOON, with_model};

/// Waits until screen and scrollback together hold one composer and one status row. The screen shows a frame while it
/// arrives, so the last one may still be on its way; a stale copy in the scrollback stays and fails the test.
fn wait_for_one_live_region(pty: &Pty) {
    let count = |lines: &[String], is_region: fn(&String) -> bool| {
        lines.iter().filter(|line| is_region(line)).count()
    };
    pty.wait_for_lines(
        |lines| {
            count(lines, |line| line.starts_with("› describe") || line.starts_with("› draft")) == 1
                && count(lines, |line| line.contains("/help · @")) == 1
        },
        SOON,
    );
}

#[test]
fn a_storm_of_sizes_leaves_one_composer() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    pty.send("draft");
    pty.wait_for_text("› draft", SOON);
    for n in 0..40_u16 {
        pty.resize(20 + n % 9, 70 + (n * 7) % 31);
    }
    pty.resize(30, 100);
    pty.send(" on");
    pty.wait_for_text("› draft on", SOON);
    wait_idle(&pty);
    wait_for_one_live_region(&pty);
    pty.send("\x15");
    leave(&mut pty);
}

#[test]
fn sizes_change_while_a_model_writes() {
    let server = ModelServer::start();
    let text: String = (1..=200).map(|n| format!("line {n} of many\n\n")).collect();
    let gates: Vec<Gate> = (0..10).map(|_| Gate::new()).collect();
    let mut reply = Reply::chat().text(&text).done();
    for (n, gate) in gates.iter().enumerate() {
        reply = reply.after_events(30 * (n + 1), Step::WaitFor(gate.clone()));
    }
    server.push(reply);
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    pty.send("go\r");
    for (n, gate) in gates.iter().enumerate() {
        gate.wait_reached(SOON);
        let n = u16::try_from(n).unwrap();
        pty.resize(24 + n % 5, 80 + (n * 11) % 23);
        gate.open();
    }
    pty.resize(30, 100);
    pty.wait_for_text("ANSWER", SOON);
    wait_idle(&pty);
    wait_for_one_live_region(&pty);
    leave(&mut pty);
    let lines: Vec<String> = pty.lines().into_iter().filter(|line| line.ends_with("of many")).collect();
    let all: Vec<String> = (1..=200).map(|n| format!("line {n} of many")).collect();
    assert_eq!(lines, all, "every line once, in order");
    assert_eq!((count(&pty.raw(), b"\x1b[2J"), count(&pty.raw(), b"\x1b[3J")), (0, 0));
}

#[test]
fn very_small_and_back() {
    let server = ModelServer::start_with([Reply::chat().text("fine words")]);
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    for (rows, columns) in [(2, 5), (1, 1), (3, 200), (40, 3), (10, 40), (30, 100)] {
        pty.resize(rows, columns);
        pty.send("x");
    }
    pty.wait_for_text("› xxxxxx", SOON);
    wait_idle(&pty);
    pty.send("\x15go\r");
    pty.wait_for_text("fine words", SOON);
    leave(&mut pty);
}
