//! A change that is judged where there is little room.

use super::*;

fn drawn(dialogs: &mut Dialogs, columns: u16, rows: usize) -> Vec<String> {
    let (theme, now) = (Theme::new(Depth::None, false), Instant::now());
    let drawn = dialogs.draw(Look { width: columns, theme: &theme }, rows, now);
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
    assert!(shown.iter().any(|row| row.contains("above · PgDn PgUp")), "{shown:#?}");
    assert_eq!(dialogs.key(Key::plain(KeyCode::Home), Instant::now() + ARMED_AFTER), None);
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
        ("  y  yes, once", " y yes, once"),
        ("▸ n  no\n", "▸n no "),
        ("  m  no, and tell the model why", " m no, and why"),
    ] {
        assert!(long.contains(tall) && short.contains(low), "{long}\n{short}");
    }
    assert!(!short.contains("deny") && !short.contains('›'), "{short}");
}
