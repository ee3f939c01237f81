//! A change that is judged where there is little room.

use super::*;

fn drawn(dialogs: &mut Dialogs, columns: u16, rows: usize) -> Vec<String> {
    let (theme, now) = (Theme::new(Depth::None, false), Instant::now());
    let drawn = dialogs.draw(Look { width: columns, theme: &theme }, rows, KeyFocus::Request);
    dialogs.drawn(now);
    drawn.lines.iter().map(ToString::to_string).collect()
}

/// Below three rows that stay as they are.
fn below_context(danger: Danger) -> Dialogs {
    let mut request = ApprovalRequest { danger, ..edit() };
    if let Preview::Change { diff, .. } = &mut request.preview {
        *diff = "@@ -1,6 +1,6 @@\n one\n two\n three\n-four\n+vier\n five\n six\n".to_owned();
    }
    let mut dialogs = empty();
    dialogs.approval(request);
    dialogs
}

#[test]
fn the_first_row_that_changes_is_in_sight() {
    for rows in 8..=12 {
        let mut dialogs = below_context(Danger::Ask);
        let shown = drawn(&mut dialogs, 40, rows);
        assert!(shown.iter().any(|row| row.contains("- four")), "{rows}: {shown:#?}");
    }
    // What is above can be read all the same.
    let mut dialogs = below_context(Danger::Ask);
    let shown = drawn(&mut dialogs, 40, 9);
    assert!(shown.iter().any(|row| row.contains("+ vier")), "{shown:#?}");
    assert!(shown.iter().any(|row| row.contains("above ·")), "{shown:#?}");
    assert!(!shown.iter().any(|row| row.contains("rule")), "the change goes first: {shown:#?}");
    // Why it is asked stands behind it.
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::End), Instant::now() + ANSWER_PAUSE), None);
    let shown = drawn(&mut dialogs, 40, 9);
    assert!(shown.iter().any(|row| row.contains("rule")), "{shown:#?}");
    assert_eq!(tap(&mut dialogs, Key::plain(KeyCode::Home), Instant::now() + ANSWER_PAUSE), None);
    let shown = drawn(&mut dialogs, 40, 9);
    assert!(shown.iter().any(|row| row.ends_with("  one")), "{shown:#?}");
    // What must be read whole begins at its beginning.
    let shown = drawn(&mut below_context(Danger::Confirm), 40, 9);
    assert!(shown.iter().any(|row| row.ends_with("  one")), "{shown:#?}");
}

#[test]
fn short_choices_use_the_words_of_the_long_ones() {
    let mut dialogs = below_context(Danger::Ask);
    let long = drawn(&mut dialogs, 40, 30).join("\n");
    let short = drawn(&mut dialogs, 40, 9).join("\n");
    for (tall, low) in [
        ("▸ y  yes, once", "▸y yes, once"),
        ("  n  no\n", " n no "),
        ("  m  no, and tell the model why", " m no, and why"),
    ] {
        assert!(long.contains(tall) && short.contains(low), "{long}\n{short}");
    }
    assert!(!short.contains("deny") && !short.contains('›'), "{short}");
}

#[test]
fn only_what_is_judged_must_be_read_and_not_what_is_said_about_it() {
    let mut held = 0;
    let mut allowed = 0;
    for rows in 7..=16 {
        let mut dialogs = empty();
        dialogs.approval(dangerous(4));
        let shown = drawn(&mut dialogs, 80, rows).join("\n");
        let answered = tap(&mut dialogs, Key::char('y'), Instant::now() + ANSWER_PAUSE);
        // The last row that belongs to the command, and the last of all.
        let (whole, remark) = (shown.contains("spelled out above"), shown.contains("asked every time"));
        assert_eq!(answered.is_some(), whole, "{rows}: {shown}");
        held += usize::from(!whole);
        allowed += usize::from(whole && !remark);
    }
    assert!(held > 0 && allowed > 0, "{held} {allowed}");
}

#[test]
fn an_everyday_edit_gives_its_room_to_the_change() {
    let shown = |request: ApprovalRequest, rows: usize| {
        let mut dialogs = empty();
        dialogs.approval(request);
        drawn(&mut dialogs, 80, rows).join("\n")
    };
    assert!(shown(edit(), 40).contains("the rules ask first"));
    assert!(!shown(edit(), 22).contains("the rules ask first"));
    let mut own = edit();
    own.reason.rule = Some("write = ask (project)".to_owned());
    assert!(shown(own, 22).contains("(project)"), "a rule of one's own is worth a row");
}

fn pressed(dialogs: &mut Dialogs, key: Key) -> Option<Answered> {
    tap(dialogs, key, Instant::now() + 2 * ANSWER_PAUSE)
}

/// Whoever read on to a place finds it again: beside the message that is typed, behind it, and under another preset.
#[test]
fn a_change_stays_where_it_was_read_to() {
    let rows_of = |rows: Vec<String>| rows.into_iter().filter(|row| row.contains(" = ")).collect::<Vec<_>>();
    let mut dialogs = empty();
    dialogs.approval(edit());
    let before = drawn(&mut dialogs, 80, 14);
    pressed(&mut dialogs, Key::plain(KeyCode::PageDown));
    let there = drawn(&mut dialogs, 80, 14);
    assert_ne!(before, there);
    let first = rows_of(there.clone()).remove(0);
    assert_eq!(pressed(&mut dialogs, Key::char('m')), None);
    let typing = drawn(&mut dialogs, 80, 14);
    assert!(
        typing.contains(&first) && typing.iter().any(|row| row.contains("Reason for the model")),
        "{typing:#?}"
    );
    assert!(!typing.iter().any(|row| row.contains("old = 1")), "{typing:#?}");
    pressed(&mut dialogs, Key::plain(KeyCode::Esc));
    assert_eq!(drawn(&mut dialogs, 80, 14), there);
    let enter = Key::plain(KeyCode::Enter);
    for key in [Key::char('p'), enter, Key::char('b')] {
        pressed(&mut dialogs, key);
        drawn(&mut dialogs, 80, 14);
    }
    assert_eq!(drawn(&mut dialogs, 80, 14), there, "approval modes were looked at");
    pressed(&mut dialogs, Key::char('p'));
    pressed(&mut dialogs, enter);
    drawn(&mut dialogs, 80, 14);
    pressed(&mut dialogs, Key::char('3'));
    let switched = pressed(&mut dialogs, enter);
    assert_eq!(switched, Some(Answered::SetApproval(Approval::Paranoid)));
    drawn(&mut dialogs, 80, 14);
    dialogs.withdrawn(RequestId(3));
    dialogs.approval(ApprovalRequest { request: RequestId(4), ..edit() });
    assert_eq!(rows_of(drawn(&mut dialogs, 80, 14)), rows_of(there), "asked anew by the other preset");
    // Another call is another change.
    dialogs.withdrawn(RequestId(4));
    dialogs.approval(ApprovalRequest { request: RequestId(5), id: "other".to_owned(), ..edit() });
    assert_eq!(drawn(&mut dialogs, 80, 14), before);
}
