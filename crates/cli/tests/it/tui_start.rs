//! The front end on a terminal, from its first frame on: what is there at once, what is said by its rows, colours or none,
//! and a window that is very small.

use std::process::Command;
use std::time::{Duration, Instant};

use zdx_testkit::{Gate, ModelServer, Pty, Reply, Step, Zdx};

use crate::{SOON, prompt_of, with_model};

/// The status row while nothing happens.
const IDLE: &str = "/help · @file";

/// On a screen of thirty rows and a hundred columns, with the session open.
pub fn open(zdx: &Zdx, args: &[&str]) -> Pty {
    let pty = zdx.command().args(args).pty(30, 100);
    wait_idle(&pty);
    pty
}

/// No turn runs, a session is open, and the caret stands in the composer.
pub fn wait_idle(pty: &Pty) {
    pty.wait_for(
        |screen| {
            let shown = screen.contents();
            let (row, _) = screen.cursor_position();
            let status = shown.lines().rev().find(|line| !line.is_empty()).unwrap_or_default();
            status.contains(IDLE)
                && ["yolo", "balanced", "paranoid"].iter().any(|preset| status.contains(preset))
                && screen.contents_between(row, 0, row, 2).starts_with('›')
        },
        SOON,
    );
}

/// Says it, and waits until the answer is there and the turn is over.
pub fn ask(pty: &Pty, prompt: &str, answer: &str) {
    pty.send(format!("{prompt}\r"));
    pty.wait_for_text(&format!("\n{answer}"), SOON);
    wait_idle(pty);
}

pub fn leave(pty: &mut Pty) {
    wait_idle(pty);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0, "{}", pty.contents());
}

/// The lines of the conversation, from the prompt on and without what stands below it.
pub fn said(pty: &Pty, from: &str) -> Vec<String> {
    let lines = pty.lines();
    let start = lines.iter().position(|line| line == from).unwrap_or_else(|| panic!("{from} in {lines:#?}"));
    let end = lines.iter().rposition(|line| line.contains("ANSWER")).unwrap_or(lines.len() - 1);
    lines[start..=end].to_vec()
}

pub fn count(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).filter(|window| *window == wanted).count()
}

#[test]
fn the_composer_is_there_before_anything_has_loaded() {
    let gate = Gate::new();
    let server = ModelServer::start_with([Reply::chat().text("fine")]);
    server.models(Reply::status(200).then(Step::WaitFor(gate.clone())));
    // A tool server that never says a word.
    let zdx = with_model(&server).config_more("[mcp.mute]\ncommand = [\"sleep\", \"600\"]\n");
    // Looked for in a folder that takes its time.
    for n in 0..2_000 {
        zdx.write(format!("src/{}/file_{n}.rs", n % 50), "");
    }
    let pty = zdx.command().pty(30, 100);
    pty.send("typed at once");
    pty.wait_for_text("› typed at once", SOON);
    let raw = pty.raw();
    let asked = raw.windows(3).position(|bytes| bytes == b"\x1b[c").expect("the terminal was asked");
    let drawn = raw.windows(3).position(|bytes| bytes == "›".as_bytes()).expect("a composer");
    assert!(drawn < asked, "the first frame waits for no answer of the terminal's");
    gate.open();
    pty.wait_for_text("saved", SOON);
    pty.send("\r");
    pty.wait_for_text("\nfine", SOON);
    assert_eq!(prompt_of(&server.wait_for_call(1, SOON)), "typed at once");
}

#[test]
fn two_lines_of_welcome_and_a_row_that_says_where_one_is() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(zdx.root()).env("HOME", zdx.home()).output();
        assert!(done.unwrap().status.success(), "{args:?}");
    };
    git(&["init", "--quiet", "--initial-branch", "topic"]);
    let mut pty = open(&zdx, &[]);
    pty.wait_for_text("topic", SOON);
    let lines = pty.lines();
    let root = zdx.root().display().to_string();
    for part in ["zdx ", "test/scripted", &root, "agent build", "approval balanced"] {
        assert!(lines[0].contains(part), "{part} in {lines:#?}");
    }
    assert!(lines[1].contains("/help") && lines[2].is_empty(), "{lines:#?}");
    let composer = lines.iter().position(|line| line.starts_with('›')).expect("a composer");
    for part in ["test/scripted", "build", "balanced", "topic", "saved"] {
        assert!(lines[composer + 1].contains(part), "{part} in {lines:#?}");
    }
    assert!(composer <= 4 && lines[composer + 2..].iter().all(String::is_empty), "{lines:#?}");
    leave(&mut pty);
    assert!(zdx.session_files().is_empty() || !pty.contents().contains("resume with"), "nothing was said");
}

#[test]
fn a_prompt_on_the_command_line_is_the_first_one_said() {
    let server = ModelServer::start_with([Reply::chat().text("fine")]);
    let zdx = with_model(&server);
    let mut pty = zdx.command().arg("what is here?").pty(30, 100);
    pty.send("and then");
    pty.wait_for_text("\nfine", SOON);
    pty.wait_for_text("› and then", SOON);
    assert!(pty.lines().iter().any(|line| line == "› what is here?"), "{}", pty.contents());
    assert_eq!(prompt_of(&server.calls()[0]), "what is here?");
    pty.send("\x15");
    leave(&mut pty);
    assert!(pty.contents().contains("resume with: zdx sessions resume "), "{}", pty.contents());
}

/// Every number in a sequence that sets how text looks.
fn colours(raw: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(raw);
    let sequences = text.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        (rest.as_bytes()[end] == b'm').then(|| rest[..end].to_owned())
    });
    let coloured = |codes: &String| {
        codes
            .split(';')
            .filter_map(|code| code.parse::<u16>().ok())
            .any(|code| matches!(code, 30..=38 | 40..=48 | 90..=107))
    };
    sequences.filter(coloured).collect()
}

#[test]
fn who_wants_no_colours_gets_none() {
    let answer = "# Head\n\n```rust\nfn main() {}\n```\n\n`code` and [link](http://x.y)\n";
    for (name, coloured) in [("NO_COLOR", false), ("AGENT_NO_COLOR", false), ("OTHER", true)] {
        let server = ModelServer::start();
        server.always(move |_| Reply::chat().text(answer));
        let zdx = with_model(&server).env(name, "1");
        let mut pty = open(&zdx, &[]);
        ask(&pty, "go", "Head");
        leave(&mut pty);
        let found = colours(&pty.raw());
        assert_eq!(!found.is_empty(), coloured, "{name}: {found:?}");
    }
}

#[test]
fn a_very_small_window_holds_what_matters() {
    let answer = "These are words enough to fill more than one of the rows of a small window.";
    let server = ModelServer::start_with([Reply::chat().text(answer)]);
    let zdx = with_model(&server);
    let mut pty = zdx.command().pty(10, 40);
    pty.wait_for_text("balanced", SOON);
    pty.send("words which do not fit into one of its rows");
    pty.wait_for_text("its rows", SOON);
    pty.send("\r");
    pty.wait_for_text("small window.", SOON);
    pty.wait_for_text("ANSWER", SOON);
    let lines = pty.lines().join(" ");
    let words = lines.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(answer), "{words}");
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
}

/// Nothing is written and nobody wakes up; what is measured is the time of a gate.
#[cfg(target_os = "linux")]
#[test]
fn waiting_for_somebody_to_type_costs_nothing() {
    let server = ModelServer::start_with([Reply::chat().text("fine")]);
    let zdx = with_model(&server);
    let mut pty = open(&zdx, &[]);
    ask(&pty, "go", "fine");
    let switches = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", pty.pid())).unwrap().flatten();
        let of = |task: std::fs::DirEntry| {
            let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        tasks.map(of).sum::<u64>()
    };
    let used = |wait: Duration| {
        let before = (switches(), pty.raw().len());
        assert!(!pty.saw_text("nothing of the kind", wait));
        (switches() - before.0, pty.raw().len() - before.1)
    };
    // All that follows a turn is done at some time, and then there is nothing in two whole seconds.
    let until = Instant::now() + SOON;
    loop {
        let (woken, written) = used(Duration::from_secs(2));
        if (woken, written) == (0, 0) {
            break;
        }
        assert!(
            Instant::now() < until,
            "it never rests: woken {woken} times, {written} bytes in two seconds"
        );
    }
    leave(&mut pty);
}
