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
        state.update(Input::Ended(Purpose::Turn, done()), Instant::now());
        state.composer.text()
    };
    assert_eq!(stopped(Vec::new(), ""), "mend it");
    assert_eq!(stopped(Vec::new(), "other"), "other");
    assert_eq!(stopped(vec![Event::ReasoningDelta { text: "hm".into() }], ""), "");
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
