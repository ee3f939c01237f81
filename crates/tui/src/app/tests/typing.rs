//! What becomes of what is typed: walking through the history, completing, stopping and leaving.

use zdx_protocol::query::{Candidate, Completions, Then};

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
