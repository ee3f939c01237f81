//! For how long something is always allowed.

use super::*;

const ENTER: Key = Key::plain(KeyCode::Enter);

#[test]
fn who_said_always_means_this_session_once_it_was_to_be_read() {
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    let session = Decision::AllowAlways { scope: GrantScope::Session, wider: false };
    assert_eq!(press(&mut dialogs, "a\r", armed), None);
    assert!(text(&show(&mut dialogs, armed)).contains("▸ s"), "{}", text(&show(&mut dialogs, armed)));
    dialogs.note_input(true, armed);
    assert_eq!(tap(&mut dialogs, ENTER, armed + ANSWER_PAUSE / 2), None, "nobody has read it by then");
    assert!(text(&show(&mut dialogs, armed + ANSWER_PAUSE / 2)).contains("pressed too quickly"));
    assert_eq!(tap(&mut dialogs, ENTER, armed + ANSWER_PAUSE), decided(1, session));
    // Of its kind it is the same.
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    press(&mut dialogs, "w\r", armed);
    assert!(text(&show(&mut dialogs, armed)).contains("▸ s"), "{}", text(&show(&mut dialogs, armed)));
    dialogs.note_input(true, armed);
    assert_eq!(tap(&mut dialogs, ENTER, armed + ANSWER_PAUSE / 2), None, "nobody has read it by then");
    let session = Decision::AllowAlways { scope: GrantScope::Session, wider: true };
    assert_eq!(tap(&mut dialogs, ENTER, armed + ANSWER_PAUSE), decided(1, session));
}
