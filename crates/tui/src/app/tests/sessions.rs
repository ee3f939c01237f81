//! How a conversation begins, and goes on in another session.

use super::*;

#[test]
fn what_was_said_on_the_command_line_begins_the_conversation() {
    let theme = Theme::new(Depth::None, false);
    let first = Some("fix the bug".to_owned());
    let mut state = State::new(theme, None, Composer::new(History::default()), first);
    type_in(&mut state, "typed already");
    state.update(Input::Event(Event::SessionStarted(info())), Instant::now());
    let effects = state.update(Input::Ended(Purpose::Begin, done()), Instant::now());
    assert_eq!(commands(&effects), [&prompt("fix the bug")]);
    assert_eq!(state.composer.text(), "typed already");
}

#[test]
fn without_a_session_there_is_nothing_to_stay_for() {
    let theme = Theme::new(Depth::None, false);
    let mut state = State::new(theme, None, Composer::new(History::default()), None);
    let error = Event::Error {
        command: None,
        kind: ErrorKind::Config,
        message: "no such model".into(),
        details: None,
    };
    let effects = state.update(Input::Ended(Purpose::Begin, error), Instant::now());
    assert_eq!(effects, [Effect::Leave(Left::Refused(ErrorKind::Config, "no such model".into()))]);
}

#[test]
fn what_is_typed_before_there_is_a_session_waits_for_it() {
    let theme = Theme::new(Depth::None, false);
    let mut state = State::new(theme, None, Composer::new(History::default()), None);
    assert!(commands(&send(&mut state, "early")).is_empty());
    state.update(Input::Event(Event::SessionStarted(info())), Instant::now());
    let effects = state.update(Input::Ended(Purpose::Begin, done()), Instant::now());
    assert_eq!(commands(&effects), [&prompt("early")]);
}

#[test]
fn another_session_is_welcomed_below_what_was_said() {
    let mut state = state();
    state.frame(SIZE, Instant::now());
    send(&mut state, "go");
    state.update(Input::Event(Event::AssistantDelta { text: "half a sentence".into() }), Instant::now());
    let other = SessionInfo { session: "9876".into(), ..info() };
    state.update(Input::Event(Event::SessionStarted(other)), Instant::now());
    let history: Vec<String> =
        state.frame(SIZE, Instant::now()).history.iter().map(ToString::to_string).collect();
    let at = |text: &str| history.iter().position(|line| line.contains(text));
    assert!(at("half a sentence") < at("zdx "), "{history:?}");
    assert!(at("half a sentence").is_some(), "{history:?}");
}
