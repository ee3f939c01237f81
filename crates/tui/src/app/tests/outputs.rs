use serde_json::json;
use zdx_protocol::query::SpilledOutput;
use zdx_protocol::{CallOrigin, ToolOutput};

use super::*;

const FILE: &str = "/s/c1.stdout";

/// A call whose output came here without its middle.
fn with_long_output() -> State {
    let mut state = state();
    let id = "c1".to_owned();
    let name = "bash".to_owned();
    let requested = Event::ToolRequested {
        id: id.clone(),
        name: name.clone(),
        input: json!({"command": "seq 9"}),
        raw: None,
        signature: None,
        origin: CallOrigin::Model,
        parent: None,
    };
    let shown =
        format!("first\n[zdx: 6000 of 6011 bytes (3 lines) left out here; the whole is in {FILE}]\nlast\n");
    let result = json!({"stdout": shown, "stderr": "oh no", "exit_code": 0, "stdout_file": FILE});
    let finished = Event::ToolFinished {
        id,
        name,
        origin: CallOrigin::Model,
        result: ToolOutput::Ok(result),
        diff: None,
        content: Vec::new(),
        duration_ms: 5,
        reads: None,
        beside: None,
    };
    for event in [requested, finished] {
        state.update(Input::Event(event), Instant::now());
    }
    state
}

fn page(state: &mut State) -> Vec<String> {
    let drawn = state.page(SIZE, Instant::now()).unwrap();
    drawn
        .lines
        .iter()
        .map(|line| line.to_string().trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

fn answer(state: &mut State, head: &str, left_out: u64, tail: &str) {
    let (head, tail) = (head.to_owned(), tail.to_owned());
    let output = SpilledOutput { file: FILE.into(), head, left_out, tail };
    state.update(Input::Ended(Purpose::Output, reply(Reply::SpilledOutput(output))), Instant::now());
}

fn asks(effects: &[Effect]) -> bool {
    let query = Query::SpilledOutput { file: FILE.into() };
    effects.contains(&Effect::Send(Purpose::Output, Command::Ask(query)))
}

#[test]
fn the_whole_conversation_shows_the_whole_of_a_long_output() {
    let mut state = with_long_output();
    assert!(asks(&press(&mut state, Key::ctrl('o'))));
    assert!(page(&mut state).iter().any(|row| row.contains("left out here")), "until it is read");
    answer(&mut state, &format!("first\n{}last\n", "middle\n".repeat(4)), 0, "");
    let shown = page(&mut state);
    assert!(!shown.iter().any(|row| row.contains("left out")), "{shown:?}");
    let at = shown.iter().position(|row| row == "first").unwrap();
    assert_eq!(shown[at + 1..at + 6], ["middle", "middle", "middle", "middle", "last"]);
    assert!(shown.contains(&"oh no".to_owned()), "what came on the other stream stays");
    assert!(!asks(&state.update(Input::Tick, Instant::now())), "asked once");
    press(&mut state, Key::char('q'));
    assert!(asks(&press(&mut state, Key::ctrl('o'))), "nothing of it is kept when the page is left");
    assert!(page(&mut state).iter().any(|row| row.contains("left out here")));
}

#[test]
fn what_is_missing_even_there_is_told() {
    let mut state = with_long_output();
    press(&mut state, Key::ctrl('o'));
    answer(&mut state, "first\n", 5_000_000, "last\n");
    let shown = page(&mut state).join("\n");
    assert!(shown.contains("(5.0 MB are not shown here; the whole is in /s/c1.stdout)"), "{shown}");
    // The file was cut off itself: the end is where it always was.
    answer(&mut state, "first\n", 0, "");
    let shown = page(&mut state).join("\n");
    assert!(shown.contains("of this were not kept)\nlast"), "{shown}");
}

#[test]
fn an_output_that_cannot_be_read_is_shown_as_it_came() {
    let mut state = with_long_output();
    press(&mut state, Key::ctrl('o'));
    let gone = Event::Error {
        command: Some(CommandId(1)),
        kind: ErrorKind::Session,
        message: "gone".to_owned(),
        details: None,
    };
    state.update(Input::Ended(Purpose::Output, gone), Instant::now());
    let shown = page(&mut state).join("\n");
    assert!(shown.contains("left out here") && !shown.contains("gone"), "{shown}");
}

#[test]
fn a_very_long_output_is_whole_and_can_be_searched() {
    let mut state = with_long_output();
    press(&mut state, Key::ctrl('o'));
    let head: String = (0..60_000).map(|n| format!("number {n}\n")).collect();
    answer(&mut state, &format!("first\n{head}last\n"), 0, "");
    let foot = page(&mut state).last().cloned().unwrap();
    assert!(foot.contains("of 6000"), "every line has its row: {foot}");
    press(&mut state, Key::char('/'));
    "number 31415".chars().for_each(|c| drop(press(&mut state, Key::char(c))));
    press(&mut state, Key::plain(KeyCode::Enter));
    let shown = page(&mut state);
    assert!(shown.contains(&"number 31415".to_owned()), "{shown:?}");
    press(&mut state, Key::char('g'));
    assert!(page(&mut state).iter().any(|row| row == "first"));
    press(&mut state, Key::char('G'));
    let shown = page(&mut state);
    assert!(shown.contains(&"number 59999".to_owned()) && shown.contains(&"last".to_owned()), "{shown:?}");
}
