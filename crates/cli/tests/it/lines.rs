//! The lines on stderr: between words as wide as the terminal, whole anywhere else, and what they call a text.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Pty, Reply, Zdx};

use crate::chat::{leave, wait_for_prompt};
use crate::{SOON, results, with_model};

const DANGEROUS: &str = "rm -r kept; chmod -R 700 kept; mv kept gone; dd if=/dev/null of=kept";

fn denied() -> (ModelServer, Zdx) {
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "bash", json!({"command": DANGEROUS})).done(),
        Reply::chat().text("fine").done(),
    ]);
    let zdx = with_model(&server);
    zdx.write("kept", "");
    (server, zdx)
}

/// What the model was told, as it ought to be shown.
fn finished(server: &ModelServer) -> String {
    let error = &results(&server.calls()[1])[0]["error"];
    let text = |key: &str| error[key].as_str().expect("an error").to_owned();
    format!("Tool finished: bash error={} {}", text("code"), text("message"))
}

/// A row that the terminal itself had to break is one long line here.
fn rows(pty: &Pty) -> Vec<String> {
    pty.contents().lines().map(str::to_owned).collect()
}

fn columns_of(row: &str) -> usize {
    zdx_protocol::display::text::width(row)
}

/// The rows as the lines that they were before they were wrapped.
fn joined(rows: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        match (row.strip_prefix("  "), lines.last_mut()) {
            (Some(more), Some(line)) => {
                line.push(' ');
                line.push_str(more);
            }
            _ => lines.push(row.clone()),
        }
    }
    lines
}

#[track_caller]
fn assert_fits(rows: &[String], columns: u16) {
    let wide: Vec<_> = rows.iter().filter(|row| columns_of(row) > usize::from(columns)).collect();
    assert!(wide.is_empty(), "wider than {columns}: {wide:#?}");
}

#[test]
fn a_denial_is_whole_and_broken_between_words_on_a_terminal() {
    for columns in [80, 40] {
        let (server, zdx) = denied();
        let mut pty = zdx.command().args(["exec", "-p", "go"]).line_mode(40, columns);
        assert_eq!(pty.wait_exit(SOON), 0);
        let rows = rows(&pty);
        assert_fits(&rows, columns);
        let message = finished(&server);
        assert!(message.len() > 200 && message.ends_with("or pass --allow-dangerous"), "{message}");
        let why = message.split_once("approval_required ").expect("a code").1;
        let line = format!("✗ Run {DANGEROUS} · not allowed unasked {why}");
        assert!(joined(&rows).contains(&line), "{line} in\n{}", rows.join("\n"));
    }
}

/// Of a text nobody can say what it is before it is over.
#[test]
fn what_a_text_was_is_said_where_it_ends() {
    let server = ModelServer::start_with([
        Reply::chat().text("I look. ").tool_call("c1", "read", json!({"path": "gone"})).done(),
        Reply::chat().text("Nothing is there.").done(),
    ]);
    let zdx = with_model(&server);
    let mut pty = zdx.command().args(["exec", "-p", "first this, then that"]).line_mode(40, 200);
    assert_eq!(pty.wait_exit(SOON), 0);
    let rows = rows(&pty);
    let begins = ["I look.", "— PLAN", "✗ Read gone · failed"];
    let why = ["  "];
    let ends = ["Nothing is there.", "— ANSWER"];
    let expected: Vec<&str> = begins.into_iter().chain(why).chain(ends).collect();
    let from = rows.iter().position(|row| row.starts_with(expected[0])).unwrap();
    for (row, start) in rows[from..].iter().zip(&expected) {
        assert!(row.starts_with(start), "{start} in\n{}", rows.join("\n"));
    }
    assert!(!rows[..from].iter().any(|row| row.contains("ANSWER") || row.contains("PLAN")));
}

#[test]
fn a_pipe_gets_every_line_whole() {
    let (server, zdx) = denied();
    let out = zdx.run(["exec", "-p", "go"]).success();
    let message = finished(&server);
    assert!(out.stderr.lines().any(|line| line == message), "{message} in\n{}", out.stderr);
    assert!(message.len() > 200, "{message}");
}

/// A want that is longer than a line, in letters that take two columns each, and a word that fits no line.
fn untrusted() -> (ModelServer, Zdx) {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("fine"));
    let zdx = with_model(&server);
    let command = format!("make 漢字漢字漢字漢字 检查 every target of this project {}", "x".repeat(90));
    zdx.write(".zdx/config.toml", format!("[validation]\ncommand = \"{command}\"\n"));
    (server, zdx)
}

#[test]
fn the_question_of_trust_is_broken_between_words() {
    let x = |count| "x".repeat(count);
    let wide = [
        "  .zdx/config.toml:2: run a command after each turn: make 漢字漢字漢字漢字 检查".to_owned(),
        format!("    every target of this project {}", x(47)),
        format!("    {}", x(43)),
    ];
    let narrow = [
        "  .zdx/config.toml:2: run a command".to_owned(),
        "    after each turn: make".to_owned(),
        "    漢字漢字漢字漢字 检查 every target".to_owned(),
        format!("    of this project {}", x(20)),
        format!("    {}", x(36)),
        format!("    {}", x(34)),
    ];
    for (columns, listed) in [(80, &wide[..]), (40, &narrow[..])] {
        let (_server, zdx) = untrusted();
        let mut pty = zdx.command().line_mode(40, columns);
        pty.wait_for_text("\nanswer:", SOON);
        let rows = rows(&pty);
        assert_fits(&rows, columns);
        let from = rows.iter().position(|row| row.starts_with("  .zdx")).expect("the list");
        assert_eq!(&rows[from..][..listed.len()], listed, "{}", rows.join("\n"));
        let note = "until you trust these files as they are, zdx leaves that out and only reads their text";
        assert!(joined(&rows).contains(&note.to_owned()), "{}", rows.join("\n"));
        pty.send("q\r");
        assert_eq!(pty.wait_exit(SOON), 0);
    }
}

#[test]
fn a_notice_is_broken_between_words_and_whole_in_a_pipe() {
    let (_server, zdx) = untrusted();
    let told = zdx.run(["exec", "-p", "x"]).success().stderr;
    let notice = told.lines().find(|line| line.contains("zdx trust")).expect("a notice").to_owned();
    assert!(notice.starts_with("warning: ") && notice.len() > 80, "{notice}");
    for columns in [80, 40] {
        let mut pty = zdx.command().args(["exec", "-p", "x"]).line_mode(40, columns);
        assert_eq!(pty.wait_exit(SOON), 0);
        let rows = rows(&pty);
        assert_fits(&rows, columns);
        let notice = notice.replacen("warning:", "⚠", 1);
        assert!(joined(&rows).contains(&notice), "{notice} in\n{}", rows.join("\n"));
    }
}

#[test]
fn a_terminal_that_became_narrower_gets_narrower_lines() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let last = "line it leaves.";
    let pty = zdx.command().line_mode(80, 100);
    wait_for_prompt(&pty);
    pty.send("/help\r");
    pty.wait_for_text(last, SOON);
    wait_for_prompt(&pty);
    let revert =
        "/revert [TURN]      take back the last turn, or all from TURN on, with what it did to files";
    assert!(rows(&pty).contains(&revert.to_owned()), "{}", pty.contents());
    pty.resize(80, 40);
    pty.send("/help\r");
    pty.wait_for(|screen| screen.contents().contains("\n  leaves."), SOON);
    wait_for_prompt(&pty);
    let rows = rows(&pty);
    let again = rows.iter().rposition(|row| row.starts_with("/help  ")).expect("the list");
    assert_fits(&rows[again..], 40);
    assert!(joined(&rows[again..]).contains(&revert.to_owned()), "{}", rows.join("\n"));
    leave(pty);
}

#[test]
fn json_is_never_broken_nor_is_text_in_a_pipe() {
    let said = "nine words that are wider than forty columns together ".repeat(3);
    let server = ModelServer::start();
    server.always(move |_| {
        Reply::chat().text(&"nine words that are wider than forty columns together ".repeat(3))
    });
    let zdx = with_model(&server);
    let mut pty = zdx.command().args(["exec", "--format", "json", "-p", "x"]).line_mode(40, 40);
    assert_eq!(pty.wait_exit(SOON), 0);
    let raw = String::from_utf8(pty.raw()).expect("text");
    assert!(raw.contains(said.trim_end()), "{raw}");
    let lines = raw.lines().filter(|line| line.starts_with('{'));
    assert!(lines.map(serde_json::from_str::<Value>).all(|line| line.is_ok()), "{raw}");
    assert_eq!(zdx.run(["exec", "-p", "x"]).success().stdout, format!("{said}\n"));
}

/// Word for word as they come, and still none of them in two.
#[test]
fn what_the_model_says_is_broken_between_words_on_a_terminal() {
    let said = "nine words that are wider than forty columns together ".repeat(3);
    for pieces in [1, 7] {
        let chars: Vec<char> = said.chars().collect();
        let mut reply = Reply::chat();
        for piece in chars.chunks(chars.len().div_ceil(pieces)) {
            reply = reply.text(&piece.iter().collect::<String>());
        }
        let server = ModelServer::start_with([reply.done()]);
        let zdx = with_model(&server);
        let mut pty = zdx.command().args(["exec", "-p", "x"]).line_mode(40, 40);
        assert_eq!(pty.wait_exit(SOON), 0);
        let rows = rows(&pty);
        let from = rows.iter().position(|row| row.starts_with("nine")).expect("the answer");
        let to = rows.iter().position(|row| row.starts_with("— ANSWER")).expect("its end");
        assert_fits(&rows[from..to], 40);
        let shown: Vec<&str> = rows[from..to].iter().flat_map(|row| row.split_whitespace()).collect();
        assert_eq!(shown, said.split_whitespace().collect::<Vec<_>>(), "{rows:#?}");
        assert_eq!(to - from, 5, "{rows:#?}");
    }
}
