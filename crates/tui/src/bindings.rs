//! Which key does what: one table that keys are looked up in and that help is made of, so that help cannot lie.

use ratatui_core::text::{Line, Span};
use zdx_protocol::display::text::{hang, truncate_width, width, wrap};
use zdx_protocol::slash;

use crate::key::{Key, KeyCode};
use crate::look::Look;

/// Keys that do the same thing, and what that is in a few words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding<A: 'static> {
    pub(crate) keys: &'static [Key],
    pub(crate) does: &'static str,
    pub(crate) action: A,
}

/// In the order help shows them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bindings<A: 'static>(pub(crate) &'static [Binding<A>]);

impl<A: Copy> Bindings<A> {
    pub(crate) fn find(&self, key: Key) -> Option<A> {
        self.0.iter().find(|binding| binding.keys.contains(&key)).map(|binding| binding.action)
    }

    /// Keys, then what can be typed: a mark such as `@file`, and every command.
    pub(crate) fn help(&self, marks: &[(&str, &str)], look: Look<'_>) -> Vec<Line<'static>> {
        let keys = self.0.iter().map(|binding| {
            let keys: Vec<String> = binding.keys.iter().copied().map(name).collect();
            (keys.join(", "), binding.does.to_owned())
        });
        let mut lines = vec![heading("Keys", look)];
        lines.extend(table(&keys.collect::<Vec<_>>(), look));
        lines.extend([Line::default(), heading("Typed", look)]);
        let help = slash::help(marks);
        // Usage and meaning are two blanks apart.
        let typed: Vec<(String, String)> = help
            .lines()
            .filter_map(|line| line.split_once("  "))
            .map(|(usage, does)| (usage.to_owned(), does.trim_start().to_owned()))
            .collect();
        lines.extend(table(&typed, look));
        lines
    }
}

fn heading(text: &str, look: Look<'_>) -> Line<'static> {
    Line::styled(truncate_width(text, usize::from(look.width)), look.theme.heading)
}

/// Two columns; on a narrow screen what a row means stands below it.
fn table(rows: &[(String, String)], look: Look<'_>) -> Vec<Line<'static>> {
    const NARROW: usize = 60;
    let columns = usize::from(look.width);
    let widest = rows.iter().map(|(left, _)| width(left)).max().unwrap_or_default() + 2;
    let mut lines = Vec::new();
    for (left, right) in rows {
        if columns < NARROW || columns < 2 * widest {
            lines.extend(hang(left, columns).into_iter().map(|row| Line::styled(row, look.theme.accent)));
            let rows = wrap(right, columns.saturating_sub(2));
            lines.extend(rows.into_iter().map(|row| Line::styled(format!("  {row}"), look.theme.text)));
            continue;
        }
        for (at, row) in wrap(right, columns - widest).into_iter().enumerate() {
            let left = if at == 0 { left.as_str() } else { "" };
            let gap = " ".repeat(widest - width(left));
            lines.push(Line::from(vec![
                Span::styled(format!("{left}{gap}"), look.theme.accent),
                Span::styled(row, look.theme.text),
            ]));
        }
    }
    lines
}

/// `Ctrl-O`, `Shift-Tab`, `F2`, `?`.
pub(crate) fn name(key: Key) -> String {
    let held = [(key.ctrl, "Ctrl-"), (key.alt, "Alt-"), (key.shift, "Shift-")];
    let held: String = held.iter().filter(|(held, _)| *held).map(|(_, name)| *name).collect();
    let code = match key.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(c) if key.ctrl || key.alt => c.to_uppercase().to_string(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "Enter".to_owned(),
        KeyCode::Tab => "Tab".to_owned(),
        KeyCode::Backspace => "Backspace".to_owned(),
        KeyCode::Delete => "Delete".to_owned(),
        KeyCode::Esc => "Esc".to_owned(),
        KeyCode::Up => "Up".to_owned(),
        KeyCode::Down => "Down".to_owned(),
        KeyCode::Left => "Left".to_owned(),
        KeyCode::Right => "Right".to_owned(),
        KeyCode::Home => "Home".to_owned(),
        KeyCode::End => "End".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::Insert => "Insert".to_owned(),
        KeyCode::F(number) => format!("F{number}"),
    };
    format!("{held}{code}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{Depth, Theme};

    const TABLE: Bindings<char> = Bindings(&[
        Binding {
            keys: &[Key::char('?'), Key::plain(KeyCode::F(1))],
            does: "this list, when nothing is typed yet",
            action: 'h',
        },
        Binding { keys: &[Key::shift(KeyCode::Tab)], does: "the next preset", action: 'p' },
        Binding { keys: &[Key::ctrl('o')], does: "the whole conversation", action: 'o' },
    ]);

    #[test]
    fn help_is_the_table_that_keys_are_looked_up_in() {
        assert_eq!(TABLE.find(Key::ctrl('o')), Some('o'));
        assert_eq!(TABLE.find(Key::char('o')), None);
        let theme = Theme::new(Depth::None, false);
        for columns in [20, 40, 80, 120] {
            let lines = TABLE
                .help(&[("@FILE", "put a file before the prompt")], Look { width: columns, theme: &theme });
            let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let whole = text.join("\n");
            assert!(text.iter().all(|line| width(line) <= usize::from(columns)), "{whole}");
            for wanted in ["Ctrl-O", "?, F1", "@FILE", "/help", "/revoke [GRANT]"] {
                assert!(whole.contains(wanted), "{wanted}: {whole}");
            }
            if columns == 80 {
                assert_eq!(
                    text[..3],
                    ["Keys", "?, F1      this list, when nothing is typed yet", "Shift-Tab  the next preset"]
                );
            }
        }
    }
}
