//! What the last row says while something goes on, and what commands bring that is long or about turns.

use serde_json::json;
use zdx_testkit::{ModelServer, Pty, Reply};

use crate::tui_start::{ask, leave, open, wait_idle};
use crate::{SOON, with_model};

fn last_row(pty: &Pty) -> String {
    pty.contents().lines().rev().find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// What stands behind the widest gap.
fn right_half(row: &str) -> String {
    row.rsplit("   ").next().unwrap_or_default().trim().to_owned()
}

#[test]
fn the_row_keeps_its_shape_while_a_command_runs() {
    let server = ModelServer::start();
    let command = "until [ -e go ]; do sleep 0.05; done";
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": command})));
    server.push(Reply::chat().text("seen"));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &["--yolo"]);
    let idle = right_half(&last_row(&pty));
    pty.send("go\r");
    pty.wait_for_text("Running until", SOON);
    pty.wait_for(|screen| screen.contents().lines().any(|row| row.starts_with("running ")), SOON);
    let row = last_row(&pty);
    assert!(row.starts_with("running ") && !row.contains("until") && row.contains(" in"), "{row}");
    assert!(right_half(&row).starts_with(&idle), "{idle} became {row}");
    zdx.write("go", "");
    pty.wait_for_text("seen", SOON);
    wait_idle(&pty);
    assert!(right_half(&last_row(&pty)).starts_with(&idle), "{idle} became {}", last_row(&pty));
    leave(&mut pty);
}

#[test]
fn esc_stops_the_wait_for_another_try() {
    let server = ModelServer::start();
    server.always(|_| {
        Reply::status(529).header("retry-after", "250").json(json!({"error": {"message": "no"}}))
    });
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    pty.send("go\r");
    pty.wait_for(|screen| screen.contents().contains("s · overloaded (529) · esc stops"), SOON);
    assert!(last_row(&pty).starts_with("Retrying in 2"), "counted down: {}", last_row(&pty));
    pty.send("\x1b");
    pty.wait_for_text("interrupted", SOON);
    wait_idle(&pty);
    assert_eq!(server.calls().len(), 1);
    // The prompt is in the composer again.
    pty.send("\x15");
    leave(&mut pty);
}

#[test]
fn settings_are_read_on_a_page_and_turns_are_offered_by_what_was_asked() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("fine"));
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    ask(&pty, "mend the parser", "fine");
    pty.send("/config\r");
    pty.wait_for(|screen| screen.alternate_screen() && screen.contents().contains("approval"), SOON);
    pty.send("q");
    pty.wait_for(|screen| !screen.alternate_screen(), SOON);
    wait_idle(&pty);
    assert!(!pty.contents().contains("max_steps"), "{}", pty.contents());
    pty.send("/revert ");
    pty.wait_for(|screen| screen.contents().lines().any(|row| row.contains("1  mend the parser")), SOON);
    pty.send("\x15");
    wait_idle(&pty);
    pty.send("/model acp:fake\r");
    pty.wait_for_text("start `zdx --backend acp:fake`", SOON);
    wait_idle(&pty);
    leave(&mut pty);
}
