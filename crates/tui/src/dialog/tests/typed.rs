//! What is typed or pasted: what of it answers, and what is a message.

use super::*;

#[test]
fn nothing_typed_before_it_could_be_read_is_an_answer() {
    let mut dialogs = empty();
    dialogs.approval(command(1, "make"));
    let now = Instant::now();
    assert_eq!(tap(&mut dialogs, Key::char('y'), now + Duration::from_secs(9)), None, "it was never drawn");
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    assert_eq!(tap(&mut dialogs, Key::char('y'), armed - Duration::from_millis(1)), None);
    let early = text(&show(&mut dialogs, armed - Duration::from_millis(1)));
    assert!(early.contains("waits for you") && !early.contains("Tab to answer"), "{early}");
    // Each typed key restarts the pause, however long somebody types.
    for at in 0..40 {
        let now = armed + Duration::from_millis(at * 500);
        dialogs.note_input(false, now);
        assert_eq!(tap(&mut dialogs, Key::char('y'), now + Duration::from_millis(499)), None);
    }
    let later = armed + Duration::from_millis(39 * 500) + ANSWER_PAUSE;
    assert_eq!(tap(&mut dialogs, Key::char('y'), later), decided(1, Decision::AllowOnce));
    assert!(!dialogs.is_open());
}

#[test]
fn enter_means_yes_once_for_an_ordinary_request_and_no_for_a_dangerous_one() {
    let (mut dialogs, armed) = shown(vec![command(1, "make"), command(2, "ls")]);
    dialogs.paste("y");
    assert!(text(&show(&mut dialogs, armed)).contains("▸ y  yes, once"));
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Enter), armed), decided(1, Decision::AllowOnce));
    // The next one starts a pause of its own.
    show(&mut dialogs, armed);
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Enter), armed + Duration::from_millis(1)), None);
    let later = armed + Duration::from_secs(1);
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Enter), later), decided(2, Decision::AllowOnce));
    let (mut dialogs, armed) = shown(vec![dangerous(1)]);
    assert_eq!(
        tap(&mut dialogs, Key::plain(KeyCode::Enter), armed),
        decided(7, Decision::Deny { word: None })
    );
}

#[test]
fn tab_gives_the_focus_while_the_composer_holds_text_but_not_to_a_request_that_just_came_up() {
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    dialogs.toggle_focus(armed - Duration::from_millis(1));
    assert_eq!(dialogs.focus(false, armed), KeyFocus::ComposerUntilTab);
    assert!(!dialogs.claims(Key::char('y'), false, armed + Duration::from_secs(60)));
    dialogs.toggle_focus(armed);
    assert!(dialogs.claims(Key::plain(KeyCode::Enter), false, armed));
    assert!(!dialogs.claims(Key::char('y'), false, armed), "a letter is more of the text");
    dialogs.toggle_focus(armed);
    assert!(!dialogs.claims(Key::plain(KeyCode::Enter), false, armed), "Tab goes back");
    // A key that means nothing to the request begins a message.
    assert!(!dialogs.claims(Key::char('h'), true, armed));
}

#[test]
fn the_message_field_never_falls_back_to_answering() {
    let (mut dialogs, armed) = shown(vec![command(1, "make"), command(2, "ls")]);
    dialogs.toggle_focus(armed);
    press(&mut dialogs, "mwait", armed);
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Esc), armed), None);
    dialogs.note_input(true, armed);
    assert!(!dialogs.claims(Key::char('y'), true, armed + Duration::from_millis(599)));
    // When the request goes away, its message is kept for the composer.
    press(&mut dialogs, "m", armed + ANSWER_PAUSE);
    dialogs.withdrawn(RequestId(1));
    assert_eq!(dialogs.take_unsent_message().as_deref(), Some("wait"));
}

#[test]
fn a_long_comment_before_the_end_of_an_ordinary_command_must_be_read() {
    let comment: String = (1..=40).map(|line| format!("# step {line}\n")).collect();
    let (mut dialogs, armed) = shown(vec![command(1, &format!("{comment}make deploy"))]);
    assert_eq!(tap(&mut dialogs, Key::char('y'), armed), None);
    assert!(text(&show(&mut dialogs, armed)).contains("scroll to the end first"));
    tap(&mut dialogs, Key::plain(KeyCode::End), armed);
    assert!(text(&show(&mut dialogs, armed)).contains("make deploy"));
    assert_eq!(tap(&mut dialogs, Key::char('y'), armed), decided(1, Decision::AllowOnce));
}

#[test]
fn a_no_can_carry_a_message() {
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    assert_eq!(press(&mut dialogs, "muse ", armed), None);
    dialogs.paste("ninja\ny");
    let drawn = show(&mut dialogs, armed);
    let row = drawn.lines.iter().position(|line| line.to_string() == "> use ninja y");
    assert_eq!(drawn.cursor, row.map(|row| (13, u16::try_from(row).unwrap())));
    let word = Some("use ninja y".to_owned());
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Enter), armed), decided(1, Decision::Deny { word }));
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    press(&mut dialogs, "mtoo", armed);
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Esc), armed), None);
    assert_eq!(press(&mut dialogs, "m slow", armed), None);
    let word = Some("too slow".to_owned());
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Enter), armed), decided(1, Decision::Deny { word }));
}

#[test]
fn a_paste_leaves_nothing_behind_for_later() {
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    dialogs.paste("y\nrm -rf ~");
    press(&mut dialogs, "m", armed);
    assert_eq!(
        tap(&mut dialogs, Key::plain(KeyCode::Enter), armed),
        decided(1, Decision::Deny { word: None })
    );
}
