//! What moves while a turn runs.

use super::*;

/// Where the caret is, counted from the first row that was printed, and how many blank rows stand above it.
fn caret(state: &mut State, printed: &mut usize) -> (usize, usize) {
    let frame = state.frame(SIZE, Instant::now());
    *printed += frame.history.len();
    let row = usize::from(frame.cursor.expect("a caret").1);
    let blank = frame.live[..row].iter().rev().take_while(|row| row.to_string().is_empty()).count();
    (*printed + row, blank)
}

#[test]
fn the_composer_never_moves_up_while_a_turn_runs() {
    let mut state = state();
    let mut printed = 0;
    send(&mut state, "go");
    let tell = |state: &mut State, event: Event| drop(state.update(Input::Event(event), Instant::now()));
    tell(&mut state, Event::TurnStarted { turn: 1, prompt: "go".into() });
    let (mut last, _) = caret(&mut state, &mut printed);
    let call = |id: &str| Event::ToolRequested {
        id: id.into(),
        name: "bash".into(),
        input: serde_json::json!({"command": "git log"}),
        raw: None,
        signature: None,
        origin: zdx_protocol::CallOrigin::Model,
        parent: None,
    };
    let mut gaps = 0;
    for n in 0..5 {
        let id = format!("c{n}");
        let events = [
            Event::ReasoningDelta { text: "one\ntwo\nthree".into() },
            call(&id),
            Event::ToolProgress { id: id.clone(), chunk: "a\nb\nc\n".into() },
            Event::ToolFinished {
                id: id.clone(),
                name: "bash".into(),
                origin: zdx_protocol::CallOrigin::Model,
                result: zdx_protocol::ToolOutput::Ok(serde_json::json!({"stdout": "a\n", "exit_code": 0})),
                diff: None,
                content: Vec::new(),
                duration_ms: 5,
                reads: Some(zdx_protocol::CallKind::Execute),
                beside: None,
            },
        ];
        for event in events {
            tell(&mut state, event);
            let (now, blank) = caret(&mut state, &mut printed);
            assert!(now >= last, "it was in row {last}, and is in {now}");
            gaps = gaps.max(blank);
            last = now;
        }
    }
    assert!(gaps > 1, "something gave way");
    // What is done needs no rest.
    state.update(Input::Ended(Purpose::Turn, done()), Instant::now());
    assert!(caret(&mut state, &mut printed).1 <= 1);
}
