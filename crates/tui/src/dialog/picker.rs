//! A list to pick one thing from: sessions, models, agents, turns. What is typed filters it.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use ratatui_core::style::Modifier;
use ratatui_core::text::{Line, Span};
use zdx_protocol::display::text::{one_line, truncate_width, width};

use super::field::Field;
use crate::key::{Key, KeyCode};
use crate::look::{Drawn, Look};

/// One row; what it means is the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item<T> {
    pub(crate) id: T,
    pub(crate) label: String,
    /// More about it, dimmed.
    pub(crate) detail: String,
    /// What the filter looks in beside the label.
    pub(crate) known_by: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picked<T> {
    Chosen(T),
    Cancelled,
}

#[derive(Debug)]
pub(crate) struct Picker<T> {
    title: String,
    items: Vec<Item<T>>,
    filter: Field,
    /// Which items match, best first.
    found: Vec<usize>,
    focus: usize,
    /// Rows of items as last drawn, for PgUp and PgDn.
    window: usize,
}

impl<T: Clone> Picker<T> {
    pub(crate) fn new(title: impl Into<String>, items: Vec<Item<T>>) -> Self {
        let found = (0..items.len()).collect();
        Self { title: title.into(), items, filter: Field::default(), found, focus: 0, window: 1 }
    }

    /// Opens on what holds now.
    pub(crate) fn at(mut self, focus: Option<usize>) -> Self {
        self.focus = focus.unwrap_or_default().min(self.items.len().saturating_sub(1));
        self
    }

    /// What a paste puts into the filter; it picks nothing.
    pub(crate) fn paste(&mut self, text: &str) {
        self.filter.insert(text);
        self.search();
    }

    pub(crate) fn key(&mut self, key: Key) -> Option<Picked<T>> {
        let last = self.found.len().saturating_sub(1);
        match key.code {
            KeyCode::Esc => return Some(Picked::Cancelled),
            KeyCode::Char('c') if key.ctrl => return Some(Picked::Cancelled),
            KeyCode::Enter => {
                let item = self.found.get(self.focus).and_then(|at| self.items.get(*at));
                return item.map(|item| Picked::Chosen(item.id.clone()));
            }
            KeyCode::Up => self.focus = self.focus.saturating_sub(1),
            KeyCode::Char('p') if key.ctrl => self.focus = self.focus.saturating_sub(1),
            KeyCode::Down => self.focus = (self.focus + 1).min(last),
            KeyCode::Char('n') if key.ctrl => self.focus = (self.focus + 1).min(last),
            KeyCode::PageUp => self.focus = self.focus.saturating_sub(self.window),
            KeyCode::PageDown => self.focus = (self.focus + self.window).min(last),
            _ => {
                let before = self.filter.text().to_owned();
                self.filter.key(key);
                if before != self.filter.text() {
                    self.search();
                }
            }
        }
        None
    }

    fn search(&mut self) {
        self.focus = 0;
        if self.filter.text().trim().is_empty() {
            self.found = (0..self.items.len()).collect();
            return;
        }
        // Words that stand there as they are typed; letters in their order only where none do.
        let words = self.filter.text().to_lowercase();
        let holds = |item: &Item<T>| {
            let text = format!("{} {}", item.label, item.known_by).to_lowercase();
            words.split_whitespace().all(|word| text.contains(word))
        };
        self.found = (0..self.items.len()).filter(|at| holds(&self.items[*at])).collect();
        if !self.found.is_empty() {
            return;
        }
        let mut matcher = Matcher::new(Config::DEFAULT);
        let pattern = Pattern::parse(self.filter.text(), CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let mut scored: Vec<(u32, usize)> = Vec::new();
        for (at, item) in self.items.iter().enumerate() {
            let text = format!("{} {}", item.label, item.known_by);
            let score = pattern.score(Utf32Str::new(&text, &mut buffer), &mut matcher);
            scored.extend(score.map(|score| (score, at)));
        }
        // Among equals the order in which they came.
        scored.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        self.found = scored.into_iter().map(|(_, at)| at).collect();
    }

    pub(crate) fn draw(&mut self, look: Look<'_>, most_rows: usize) -> Drawn {
        let columns = usize::from(look.width);
        let mut lines = Vec::new();
        if most_rows > 3 {
            let of = match (self.found.len(), self.items.len()) {
                (found, all) if found == all => format!(" ({all})"),
                (found, all) => format!(" ({found} of {all})"),
            };
            lines.push(Line::styled(
                truncate_width(&format!("{}{of}", self.title), columns),
                look.theme.strong,
            ));
        }
        let row = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        let (line, column) = self.filter.draw("filter: ", look);
        lines.push(line);
        let hint = most_rows > 4;
        self.window = most_rows.saturating_sub(lines.len() + usize::from(hint)).max(1);
        let start = (self.focus + 1).saturating_sub(self.window);
        let labels = self.label_columns(columns);
        for (at, item) in self.found.iter().enumerate().skip(start).take(self.window) {
            if let Some(item) = self.items.get(*item) {
                lines.push(row_of(item, at == self.focus, labels, look));
            }
        }
        if self.found.is_empty() {
            let nothing = if self.items.is_empty() { "  there is nothing" } else { "  nothing matches" };
            lines.push(Line::styled(truncate_width(nothing, columns), look.theme.dim));
        }
        if hint {
            let text = "type to filter · Enter · Esc: back";
            lines.push(Line::styled(truncate_width(text, columns), look.theme.dim));
        }
        Drawn { lines, cursor: Some((column, row)) }
    }

    /// Details begin in one column, and have half of the row if they need it.
    fn label_columns(&self, columns: usize) -> usize {
        let widest = |text: fn(&Item<T>) -> &str| self.items.iter().map(|item| width(text(item))).max();
        let (label, detail) = (widest(|item| &item.label), widest(|item| &item.detail));
        let left = columns.saturating_sub(detail.unwrap_or_default() + 4);
        label.unwrap_or_default().min(left.max(columns / 2))
    }
}

fn row_of<T>(item: &Item<T>, focused: bool, labels: usize, look: Look<'_>) -> Line<'static> {
    let columns = usize::from(look.width);
    let most = if item.detail.is_empty() { columns.saturating_sub(2) } else { labels };
    let label = one_line(&item.label, most);
    let gap = labels.saturating_sub(width(&label)) + 2;
    let room = columns.saturating_sub(2 + width(&label) + gap);
    let style = match focused {
        true => look.theme.accent.add_modifier(Modifier::BOLD),
        false => look.theme.text,
    };
    let mut spans = vec![Span::styled(
        truncate_width(&format!("{}{label}", if focused { "▸ " } else { "  " }), columns),
        style,
    )];
    if room > 4 && !item.detail.is_empty() {
        let detail = one_line(&item.detail, room);
        spans.push(Span::styled(format!("{}{detail}", " ".repeat(gap)), look.theme.dim));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::screen;

    fn picker() -> Picker<u32> {
        let rows = [
            ("550e8400", "2 h ago · ~/work · why does the build fail?"),
            ("6ba7b810", "1 day ago · ~/项目 · 修复解析器的错误\x1b[2J"),
            ("7d444840", "3 days ago · ~/other · rename the parser"),
        ];
        let item = |(id, (label, detail)): (u32, (&str, &str))| Item {
            id,
            label: label.to_owned(),
            detail: detail.to_owned(),
            known_by: detail.to_owned(),
        };
        Picker::new("go on with which session?", (1..).zip(rows).map(item).collect())
    }

    #[test]
    fn what_is_typed_filters_and_enter_takes_the_best() {
        let mut picker = picker();
        assert_eq!(picker.key(Key::plain(KeyCode::Down)), None);
        "parsr".chars().for_each(|c| assert_eq!(picker.key(Key::char(c)), None));
        assert_eq!(picker.key(Key::plain(KeyCode::Enter)), Some(Picked::Chosen(3)));
        picker.key(Key::ctrl('u'));
        picker.paste("解析");
        assert_eq!(picker.key(Key::plain(KeyCode::Enter)), Some(Picked::Chosen(2)));
        picker.paste("zzz");
        assert_eq!(picker.key(Key::plain(KeyCode::Enter)), None, "there is nothing to take");
        assert_eq!(picker.key(Key::plain(KeyCode::Esc)), Some(Picked::Cancelled));
    }

    #[test]
    fn the_focus_stays_in_sight_and_in_the_list() {
        let mut picker = picker();
        for _ in 0..9 {
            picker.key(Key::plain(KeyCode::Down));
        }
        let shown = screen(40, |look| picker.draw(look, 3).lines);
        assert_eq!(
            shown,
            "filter:\n  6ba7b810  1 day ago · ~/项目 · 修复解…\n▸ 7d444840  3 days ago · ~/other · rena…"
        );
        for _ in 0..9 {
            picker.key(Key::plain(KeyCode::PageUp));
        }
        assert_eq!(picker.key(Key::plain(KeyCode::Enter)), Some(Picked::Chosen(1)));
    }

    #[test]
    fn lists_on_screens() {
        for (columns, rows) in [(40, 10), (80, 20), (120, 20)] {
            let mut picker = picker();
            let shown = screen(columns, |look| picker.draw(look, rows).lines);
            insta::assert_snapshot!(format!("picker_{columns}"), shown);
            picker.paste("zz");
            let shown = screen(columns, |look| picker.draw(look, rows).lines);
            insta::assert_snapshot!(format!("picker_nothing_{columns}"), shown);
        }
    }

    #[test]
    fn no_screen_is_too_small_for_it() {
        for columns in 1..12 {
            for rows in 1..8 {
                let theme = crate::theme::Theme::new(crate::theme::Depth::None, false);
                let drawn = picker().draw(Look { width: columns, theme: &theme }, rows);
                assert!(drawn.lines.len() <= rows.max(2), "{columns}×{rows}");
                let widest = drawn.lines.iter().map(Line::width).max();
                assert!(widest <= Some(usize::from(columns)), "{columns}×{rows}");
            }
        }
    }
}
