//! What waits behind a turn that is stopped, what would stop one, and where a long answer is read.

use super::*;

const ENTER: Key = Key::plain(KeyCode::Enter);

fn stopped() -> Event {
    ended(Outcome::Interrupted)
}

fn ended(outcome: Outcome) -> Event {
    let (text, usage) = (String::new(), Usage::default());
    Event::TurnFinished(TurnSummary {
        outcome,
        text,
        usage,
        last_request: None,
        denied: 0,
        duration_ms: 1,
        cut_short: None,
        begun: false,
    })
}

fn over(state: &mut State) -> Vec<Effect> {
    state.update(Input::Ended(Purpose::Turn, done()), Instant::now())
}

#[test]
fn what_waits_behind_a_stopped_turn_is_sent_one_by_one_when_it_is_wanted() {
    let mut state = state();
    for text in ["first", "!make", "second"] {
        send(&mut state, text);
    }
    type_in(&mut state, "draft");
    assert_eq!(commands(&press(&mut state, Key::plain(KeyCode::Esc))), [&Command::Interrupt]);
    assert!(commands(&over(&mut state)).is_empty());
    assert_eq!((state.composer.text().as_str(), state.queue.len()), ("draft", 2), "nothing is merged");
    let shown = rows(&mut state);
    assert!(shown.iter().any(|row| row.starts_with("2 queued · what is typed goes first")), "{shown:#?}");
    // What is typed comes first, and what waits goes on waiting.
    assert_eq!(commands(&press(&mut state, ENTER)), [&prompt("draft")]);
    assert!(commands(&over(&mut state)).is_empty());
    assert_eq!(commands(&press(&mut state, ENTER)), [&Command::Shell("!make".into())]);
    assert_eq!(commands(&over(&mut state)), [&prompt("second")], "from then on by itself");
    assert!(state.queue.is_empty());
}

#[test]
fn what_is_sent_since_a_turn_was_told_to_stop_is_next_and_what_waited_before_waits_on() {
    let mut state = state();
    for text in ["first", "before"] {
        send(&mut state, text);
    }
    press(&mut state, Key::plain(KeyCode::Esc));
    for text in ["after", "then", "slip"] {
        assert!(commands(&send(&mut state, text)).is_empty());
    }
    press(&mut state, Key::plain(KeyCode::Up));
    assert_eq!((state.composer.take_draft().text().as_str(), state.queue.len()), ("slip", 3));
    assert_eq!(commands(&over(&mut state)), [&prompt("after")]);
    assert_eq!(commands(&over(&mut state)), [&prompt("then")]);
    assert!(commands(&over(&mut state)).is_empty());
    assert_eq!((state.queue.len(), state.queue.is_paused()), (1, true));
    // Stopped once more, what was to be next waits like the rest.
    send(&mut state, "second");
    press(&mut state, Key::plain(KeyCode::Esc));
    for text in ["third", "fourth"] {
        send(&mut state, text);
    }
    assert_eq!(commands(&over(&mut state)), [&prompt("third")]);
    press(&mut state, Key::plain(KeyCode::Esc));
    assert!(commands(&over(&mut state)).is_empty());
    state.composer.take_draft();
    assert_eq!(commands(&press(&mut state, ENTER)), [&prompt("before")]);
    assert_eq!(commands(&over(&mut state)), [&prompt("fourth")]);
}

#[test]
fn what_waits_behind_a_turn_that_failed_waits_on() {
    for outcome in [Outcome::Error, Outcome::MaxSteps, Outcome::RepeatedCalls, Outcome::CheckFailed] {
        let mut state = state();
        for text in ["first", "A", "B"] {
            send(&mut state, text);
        }
        state.update(Input::Event(ended(outcome)), Instant::now());
        assert!(commands(&over(&mut state)).is_empty(), "{outcome:?}");
        let shown = rows(&mut state);
        assert!(shown.iter().any(|row| row.starts_with("2 queued · Enter sends the next")), "{shown:#?}");
        assert_eq!(commands(&press(&mut state, ENTER)), [&prompt("A")]);
        state.update(Input::Event(ended(Outcome::Completed)), Instant::now());
        assert_eq!(commands(&over(&mut state)), [&prompt("B")]);
    }
}

#[test]
fn a_switch_waits_like_a_message_and_outlives_esc() {
    let mut state = state();
    send(&mut state, "first");
    assert!(commands(&send(&mut state, "/model lab/big")).is_empty());
    assert!(commands(&send(&mut state, "/agent plan")).is_empty());
    let shown = rows(&mut state);
    assert!(shown.iter().any(|row| row == "queued: /model lab/big"), "{shown:#?}");
    press(&mut state, Key::plain(KeyCode::Esc));
    assert!(commands(&over(&mut state)).len() < 2, "{shown:#?}");
    assert_eq!(state.queue.len(), 2);
    state.composer.take_draft();
    assert_eq!(
        commands(&press(&mut state, ENTER)),
        [&Command::SetModel("lab/big".into()), &Command::SetAgent("plan".into())]
    );
}

#[test]
fn a_command_is_no_paragraph_of_what_is_typed() {
    let mut state = state();
    for text in ["first", "!make", "second"] {
        send(&mut state, text);
    }
    type_in(&mut state, "draft");
    for _ in 0..3 {
        press(&mut state, Key::plain(KeyCode::Up));
    }
    assert_eq!(state.queue.len(), 1, "the command waits on");
    assert!(!state.composer.text().contains("!make"), "{}", state.composer.text());
}

#[test]
fn another_session_is_asked_for_twice_while_a_turn_runs() {
    let mut state = state();
    send(&mut state, "first");
    send(&mut state, "second");
    assert!(commands(&send(&mut state, "/new")).is_empty());
    assert_eq!(state.composer.text(), "/new");
    let foot = rows(&mut state).pop().unwrap();
    assert!(foot.contains("a turn runs · Enter again stops it for /new"), "{foot}");
    // Whoever types on means something else.
    press(&mut state, Key::char('x'));
    press(&mut state, Key::plain(KeyCode::Backspace));
    assert!(commands(&press(&mut state, ENTER)).is_empty());
    let open = Command::Open(zdx_protocol::Open::New);
    assert_eq!(commands(&press(&mut state, ENTER)), [&open]);
    state.update(Input::Event(stopped()), Instant::now());
    assert!(commands(&over(&mut state)).is_empty(), "what waits does not go to another session by itself");
    assert_eq!((state.composer.text().as_str(), state.queue.len()), ("", 1));
    assert_eq!(commands(&send(&mut state, "/new")), [&open], "nothing runs any more");
}

#[test]
fn the_hint_says_what_the_next_ctrl_c_does() {
    let mut state = state();
    send(&mut state, "go");
    type_in(&mut state, "a draft");
    assert_eq!(commands(&press(&mut state, Key::ctrl('c'))), [&Command::Interrupt]);
    assert_eq!(rows(&mut state).pop().as_deref(), Some("Ctrl-C again clears what is typed"));
    press(&mut state, Key::ctrl('c'));
    assert!(state.composer.is_empty());
    assert_eq!(rows(&mut state).pop().as_deref(), Some("Ctrl-C again leaves"));
    assert_eq!(press(&mut state, Key::ctrl('c')), [Effect::Leave(Left::Interrupted)]);
}

fn settings(count: usize) -> Event {
    let setting = |n| zdx_protocol::query::Setting {
        key: format!("key.number{n}"),
        value: "1".to_owned(),
        source: "default".to_owned(),
    };
    reply(Reply::Config((0..count).map(setting).collect()))
}

#[test]
fn what_is_longer_than_the_screen_is_read_on_a_page() {
    let mut state = state();
    rows(&mut state);
    state.update(Input::Ended(Purpose::Tell, settings(100)), Instant::now());
    let page = state.page(SIZE, Instant::now()).map(|drawn| drawn.lines[0].to_string());
    assert!(page.is_some_and(|first| first.contains("key.number0")));
    press(&mut state, Key::char('q'));
    assert!(state.page(SIZE, Instant::now()).is_none());
    let printed = state.frame(SIZE, Instant::now());
    assert!(!printed.history.iter().any(|line| line.to_string().contains("key.number")));
    // What fits stands where it was asked for, and so does what comes while somebody types.
    for (count, typed) in [(3, ""), (100, "dra")] {
        type_in(&mut state, typed);
        state.update(Input::Ended(Purpose::Tell, settings(count)), Instant::now());
        assert!(state.page(SIZE, Instant::now()).is_none(), "{count}");
    }
}

#[test]
fn a_command_that_waits_is_not_taken_back_over_what_is_typed() {
    let mut state = state();
    send(&mut state, "go");
    send(&mut state, "!echo A");
    send(&mut state, "prose two");
    let up = Key::plain(KeyCode::Up);
    press(&mut state, up);
    assert_eq!(state.composer.text(), "prose two");
    press(&mut state, up);
    let shown = rows(&mut state).join("\n");
    assert_eq!((state.composer.text().as_str(), state.queue.len()), ("prose two", 1), "{shown}");
    assert!(shown.contains("cannot stand before what is typed"), "{shown}");
    assert!(shown.contains("queued: !echo A") && !shown.contains("Up takes it back"), "{shown}");
}
