//! What is typed or pasted: what of it answers, and what is a message.

use super::*;

#[test]
fn nothing_typed_before_it_could_be_read_is_an_answer() {
    let mut dialogs = empty();
    dialogs.approval(command(1, "make"));
    let now = Instant::now();
    assert_eq!(dialogs.key(Key::char('y'), now + Duration::from_secs(9)), None, "it was never drawn");
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    assert_eq!(dialogs.key(Key::char('y'), armed - Duration::from_millis(1)), None);
    assert!(text(&show(&mut dialogs, armed)).contains("typed too soon"));
    // Somebody is typing: that he goes on is no answer, until he pauses.
    assert_eq!(dialogs.key(Key::char('e'), armed + Duration::from_millis(200)), None);
    assert_eq!(dialogs.key(Key::char('y'), armed + Duration::from_millis(300)), None);
    let later = armed + Duration::from_millis(701);
    assert_eq!(dialogs.key(Key::char('y'), later), decided(1, Decision::AllowOnce));
    assert!(!dialogs.is_open());
    // Who never pauses is heard after two seconds.
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    for at in 0..18 {
        assert_eq!(dialogs.key(Key::char('n'), armed - ARMED_AFTER + Duration::from_millis(at * 100)), None);
    }
    let answer = dialogs.key(Key::char('n'), armed + Duration::from_secs(2));
    assert_eq!(answer, decided(1, Decision::Deny { word: None }));
}

#[test]
fn focus_begins_on_no_and_a_paste_is_no_answer() {
    let (mut dialogs, armed) = shown(vec![command(1, "make"), command(2, "ls")]);
    dialogs.paste("y");
    assert!(text(&show(&mut dialogs, armed)).contains("▸ n  no"));
    assert_eq!(dialogs.key(Key::plain(KeyCode::Enter), armed), decided(1, Decision::Deny { word: None }));
    // The next one has to be read first.
    show(&mut dialogs, armed);
    assert_eq!(dialogs.key(Key::plain(KeyCode::Enter), armed + Duration::from_millis(1)), None);
    let later = armed + Duration::from_secs(1);
    for _ in 0..9 {
        assert_eq!(dialogs.key(Key::plain(KeyCode::Up), later), None);
    }
    assert_eq!(dialogs.key(Key::plain(KeyCode::Enter), later), decided(2, Decision::AllowOnce));
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
    assert_eq!(dialogs.key(Key::plain(KeyCode::Enter), armed), decided(1, Decision::Deny { word }));
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    press(&mut dialogs, "mtoo", armed);
    assert_eq!(dialogs.key(Key::plain(KeyCode::Esc), armed), None);
    assert_eq!(press(&mut dialogs, "m slow", armed), None);
    let word = Some("too slow".to_owned());
    assert_eq!(dialogs.key(Key::plain(KeyCode::Enter), armed), decided(1, Decision::Deny { word }));
}

#[test]
fn a_paste_leaves_nothing_behind_for_later() {
    let (mut dialogs, armed) = shown(vec![command(1, "make")]);
    dialogs.paste("y\nrm -rf ~");
    press(&mut dialogs, "m", armed);
    assert_eq!(dialogs.key(Key::plain(KeyCode::Enter), armed), decided(1, Decision::Deny { word: None }));
}
