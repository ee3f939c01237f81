//! Questions that wait behind another.

use super::*;

#[test]
fn a_queue_counts_and_what_is_withdrawn_vanishes() {
    let (mut dialogs, armed) = shown(vec![command(1, "one"), command(2, "two"), command(3, "three")]);
    assert!(text(&show(&mut dialogs, armed)).contains("approval 1 of 3"));
    // Behind the one in view nothing moves it, nor has it to be read again.
    dialogs.withdrawn(RequestId(2));
    dialogs.approval(command(4, "four"));
    let drawn = text(&show(&mut dialogs, armed));
    assert!(drawn.contains("approval 1 of 3") && drawn.contains("$ one"), "{drawn}");
    dialogs.withdrawn(RequestId(1));
    let drawn = text(&show(&mut dialogs, armed));
    assert!(drawn.contains("approval 2 of 3") && drawn.contains("$ three"), "{drawn}");
    assert_eq!(
        tap(&mut dialogs, Key::char('y'), armed + Duration::from_millis(10)),
        None,
        "another one is in view"
    );
    let later = armed + Duration::from_secs(1);
    assert_eq!(tap(&mut dialogs, Key::char('y'), later), decided(3, Decision::AllowOnce));
    assert!(text(&show(&mut dialogs, later)).contains("approval 3 of 3"));
    dialogs.covered();
    assert_eq!(
        tap(&mut dialogs, Key::char('y'), later + Duration::from_secs(1)),
        None,
        "it was not in sight"
    );
}

#[test]
fn trust_and_yolo_wait_in_the_same_queue() {
    let mut dialogs = empty();
    dialogs.apply(&Event::TrustRequested(trust()));
    dialogs.confirm_yolo();
    dialogs.confirm_yolo();
    let now = Instant::now();
    assert!(text(&show(&mut dialogs, now)).contains("trust 1 of 2"));
    let armed = now + ANSWER_PAUSE;
    let trusted = |trust| Some(Answered::Trust { request: RequestId(9), trust });
    assert_eq!(press(&mut dialogs, "t\r", armed), trusted(true));
    let later = armed + Duration::from_secs(1);
    assert_eq!(press(&mut dialogs, "y\r", later), Some(Answered::SetApproval(Approval::Yolo)));
    assert!(!dialogs.is_open());
    for (key, expected) in [
        (Key::plain(KeyCode::Esc), trusted(false)),
        (Key::char('n'), trusted(false)),
        (Key::char('q'), Some(Answered::Leave)),
        (Key::ctrl('c'), Some(Answered::Leave)),
    ] {
        let mut dialogs = empty();
        dialogs.trust(trust());
        show(&mut dialogs, now);
        assert_eq!(tap(&mut dialogs, key, armed), expected, "{key:?}");
    }
    let mut dialogs = empty();
    dialogs.confirm_yolo();
    show(&mut dialogs, now);
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Enter), armed), None);
    assert!(!dialogs.is_open(), "it is closed, and nothing was changed");
}
