//! What becomes of what is typed: walking through the history, completing, stopping and leaving.

use zdx_protocol::NoticeLevel;
use zdx_protocol::query::{AgentInfo, Candidate, Completions, Then};

use super::*;

const UP: Key = Key::plain(KeyCode::Up);
const DOWN: Key = Key::plain(KeyCode::Down);

fn offered(state: &mut State, effects: &[Effect], text: &str, then: Then) {
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::Send(Purpose::Complete(generation), Command::Ask(Query::Completions { line, .. })) => {
            Some((*generation, line.len()))
        }
        _ => None,
    });
    let Some((generation, end)) = asked else { return };
    let (text, shown) = (text.to_owned(), text.to_owned());
    let candidates = vec![Candidate { text, shown, detail: String::new(), matched: Vec::new(), then }];
    let found = Completions { replace: 0..end, candidates, timed_out: false };
    let purpose = Purpose::Complete(generation);
    state.update(Input::Ended(purpose, reply(Reply::Completions(found))), Instant::now());
}

#[test]
fn a_recalled_command_does_not_take_the_keys_that_walk_on() {
    let mut state = state();
    let earlier = ["oldest", "/context", "see @src/", "hello"].map(str::to_owned);
    state.update(Input::Remembered(earlier.into()), Instant::now());
    type_in(&mut state, "my draft");
    for expected in ["hello", "see @src/", "/context", "oldest"] {
        let effects = press(&mut state, UP);
        offered(&mut state, &effects, "/context", Then::Line);
        assert_eq!(state.composer.text(), expected);
    }
    for expected in ["/context", "see @src/", "hello", "my draft"] {
        let effects = press(&mut state, DOWN);
        offered(&mut state, &effects, "/context", Then::Line);
        assert_eq!(state.composer.text(), expected);
    }
    // What is found by its letters is such a one, too; a key that changes it asks again.
    press(&mut state, Key::ctrl('r'));
    type_in(&mut state, "context");
    let taken = press(&mut state, Key::plain(KeyCode::Tab));
    assert_eq!((state.composer.text().as_str(), taken), ("/context", Vec::new()));
    assert!(!press(&mut state, Key::plain(KeyCode::Backspace)).is_empty());
}

#[test]
fn ctrl_d_does_not_throw_a_turn_away_at_once() {
    let mut state = state();
    let now = Instant::now();
    let ctrl_d = |state: &mut State, after: u64| {
        state.update(Input::Key(Key::ctrl('d')), now + Duration::from_millis(after))
    };
    send(&mut state, "go");
    send(&mut state, "and then");
    assert!(ctrl_d(&mut state, 0).is_empty());
    let foot = rows(&mut state).pop().unwrap();
    assert!(foot.contains("Ctrl-D again stops it and leaves"), "{foot}");
    assert!(ctrl_d(&mut state, 3_000).is_empty(), "too late to be the second one");
    assert_eq!(ctrl_d(&mut state, 3_500), [Effect::Leave(Left::Meant)]);
}

#[test]
fn a_turn_stopped_before_anything_came_of_it_gives_its_prompt_back() {
    let stopped = |events: Vec<Event>, typed: &str| {
        let mut state = state();
        send(&mut state, "mend it");
        let turn = Event::TurnStarted { turn: 1, prompt: "mend it".into() };
        for event in [vec![turn], events].concat() {
            state.update(Input::Event(event), Instant::now());
        }
        type_in(&mut state, typed);
        assert_eq!(commands(&press(&mut state, Key::plain(KeyCode::Esc))), [&Command::Interrupt]);
        let effects = state.update(Input::Ended(Purpose::Turn, done()), Instant::now());
        let unsaid = Command::Revert { turn: Some(1), keep_files: true };
        (state.composer.text(), commands(&effects) == [&unsaid])
    };
    // Put back is gone from the conversation; else it stays in it.
    assert_eq!(stopped(Vec::new(), ""), ("mend it".to_owned(), true));
    assert_eq!(stopped(Vec::new(), "other"), ("other".to_owned(), false));
    assert_eq!(stopped(vec![Event::ReasoningDelta { text: "hm".into() }], ""), (String::new(), false));
    // Before it began there is nothing to take back.
    let mut early = state();
    send(&mut early, "mend it");
    press(&mut early, Key::plain(KeyCode::Esc));
    let effects = early.update(Input::Ended(Purpose::Turn, done()), Instant::now());
    assert_eq!((early.composer.text().as_str(), commands(&effects).len()), ("mend it", 0));
    // Of a session that is not saved nothing can be taken back, so nothing is put back either.
    let mut unsaved = state();
    if let Some(session) = &mut unsaved.session {
        session.saved = false;
    }
    send(&mut unsaved, "mend it");
    unsaved.update(Input::Event(Event::TurnStarted { turn: 1, prompt: "mend it".into() }), Instant::now());
    press(&mut unsaved, Key::plain(KeyCode::Esc));
    let effects = unsaved.update(Input::Ended(Purpose::Turn, done()), Instant::now());
    assert_eq!((unsaved.composer.text().as_str(), commands(&effects).len()), ("", 0));
    // Ctrl-C is on the way out: a second one must not have to clear anything first.
    let mut state = state();
    send(&mut state, "mend it");
    press(&mut state, Key::ctrl('c'));
    state.update(Input::Ended(Purpose::Turn, done()), Instant::now());
    assert!(state.composer.is_empty());
}

#[test]
fn a_list_to_choose_from_leaves_the_conversation_where_it_is() {
    let mut state = state();
    state.update(
        Input::Event(Event::Notice { level: NoticeLevel::Info, message: "hi".into(), kept: false }),
        Instant::now(),
    );
    let before = rows(&mut state);
    let agent = |n: usize| AgentInfo {
        name: format!("agent-{n}"),
        description: String::new(),
        in_use: false,
        primary: true,
    };
    let agents = (0..30).map(agent).collect();
    let answer = reply(Reply::Agents(agents));
    state.update(Input::Ended(Purpose::Choose(Choice::Agent), answer), Instant::now());
    let page: Vec<String> =
        state.page(SIZE, Instant::now()).unwrap().lines.iter().map(ToString::to_string).collect();
    assert_eq!((page.len(), page[0].as_str()), (24, "Work as (30)"));
    // A question comes before it, on the main screen.
    state.update(Input::Event(Event::ApprovalRequested(question())), Instant::now());
    assert!(state.page(SIZE, Instant::now()).is_none());
    state.update(
        Input::Event(Event::ApprovalWithdrawn { request: RequestId(7), id: "call_1".into() }),
        Instant::now(),
    );
    press(&mut state, Key::plain(KeyCode::Esc));
    assert!(state.page(SIZE, Instant::now()).is_none());
    assert_eq!(rows(&mut state), before);
}

#[test]
fn a_command_of_ones_own_is_shown_as_it_was_typed() {
    let shown = |masked: &str| {
        let mut state = state();
        let asked = send(&mut state, "/explain x");
        assert!(asked.iter().any(|effect| matches!(effect, Effect::Send(Purpose::Custom { .. }, _))));
        let line = reply(Reply::Remembered(masked.to_owned()));
        state.update(Input::Ended(Purpose::Remember, line), Instant::now());
        let known = Named { name: "explain".into(), description: String::new() };
        let draft = Draft::from("/explain x");
        let purpose = Purpose::Custom { name: "explain".into(), draft };
        state.update(Input::Ended(purpose, reply(Reply::Commands(vec![known]))), Instant::now());
        let turn = Event::TurnStarted { turn: 1, prompt: "Explain at length: x".into() };
        state.update(Input::Event(turn), Instant::now());
        let frame = state.frame(SIZE, Instant::now());
        frame.history.iter().chain(&frame.live).any(|row| row.to_string() == "› /explain x")
    };
    assert!(shown("/explain x"));
    assert!(!shown("/explain [redacted]"), "what had to be masked is not shown");
}

#[test]
fn a_preset_that_changes_in_a_turn_does_not_hide_what_runs() {
    let changed = Event::ApprovalChanged { approval: Approval::Yolo };
    let mut state = state();
    state.update(Input::Event(changed.clone()), Instant::now());
    assert!(rows(&mut state).pop().unwrap().starts_with("approval: yolo"));
    let mut state = self::state();
    send(&mut state, "go");
    state.update(Input::Event(Event::TurnStarted { turn: 1, prompt: "go".into() }), Instant::now());
    state.update(Input::Event(changed), Instant::now());
    let frame = state.frame(SIZE, Instant::now());
    let foot = frame.live.last().unwrap().to_string();
    assert!(foot.contains("yolo") && !foot.contains("approval"), "{foot}");
    let told =
        frame.history.iter().chain(&frame.live).any(|row| row.to_string().contains("approval: yolo, "));
    assert!(told);
}

#[test]
fn who_read_when_a_question_came_reads_on_there() {
    let mut state = state();
    for n in 0..100 {
        let message = format!("note {n}");
        state.update(
            Input::Event(Event::Notice { level: NoticeLevel::Info, message, kept: false }),
            Instant::now(),
        );
    }
    let page = |state: &mut State| -> Vec<String> {
        state.page(SIZE, Instant::now()).unwrap().lines.iter().take(20).map(ToString::to_string).collect()
    };
    press(&mut state, Key::ctrl('o'));
    page(&mut state);
    press(&mut state, Key::plain(KeyCode::PageUp));
    press(&mut state, Key::plain(KeyCode::PageUp));
    let read = page(&mut state);
    state.update(Input::Event(Event::ApprovalRequested(question())), Instant::now());
    assert!(state.page(SIZE, Instant::now()).is_none());
    let gone = Event::ApprovalWithdrawn { request: RequestId(7), id: "call_1".into() };
    state.update(Input::Event(gone), Instant::now());
    press(&mut state, Key::ctrl('o'));
    assert_eq!(page(&mut state), read);
    // Who left it himself begins at its end again.
    press(&mut state, Key::ctrl('o'));
    press(&mut state, Key::ctrl('o'));
    assert_ne!(page(&mut state), read);
}
