//! A text on a screen of its own, to read up and down in: the whole conversation, help, warnings.

use std::time::{Duration, Instant};

use ratatui_core::text::{Line, Span};
use zdx_protocol::display::text::truncate_width;

use crate::key::{Key, KeyCode};
use crate::look::{Drawn, Look};

/// A long conversation takes a while to lay out: not oftener than this while it grows.
const REFRESHED: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paged {
    Conversation,
    Help,
    Warnings,
}

#[derive(Debug)]
pub(crate) struct Pager {
    pub what: Paged,
    lines: Vec<Line<'static>>,
    /// The first row in view.
    top: usize,
    /// Rows in view, as they were drawn last.
    height: usize,
    /// Stays at the end while the text grows.
    follows: bool,
    search: Search,
    /// How wide the lines were made, and when.
    made: Option<(u16, Instant)>,
}

#[derive(Debug, Default)]
struct Search {
    typing: bool,
    words: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    Stay,
    Leave,
}

impl Pager {
    /// Opened at its end, as a conversation is, or at its start.
    pub fn new(what: Paged) -> Self {
        let follows = what == Paged::Conversation;
        Self { what, lines: Vec::new(), top: 0, height: 0, follows, search: Search::default(), made: None }
    }

    /// Whether its text is to be laid out anew: never was, in another width, or grown since some time ago.
    pub fn is_stale(&self, width: u16, grown: bool, now: Instant) -> bool {
        self.made.is_none_or(|(made, when)| {
            made != width || (grown && now.saturating_duration_since(when) >= REFRESHED)
        })
    }

    /// The same text, grown or wrapped anew.
    pub fn refresh(&mut self, lines: Vec<Line<'static>>, width: u16, now: Instant) {
        self.lines = lines;
        self.made = Some((width, now));
    }

    pub fn key(&mut self, key: Key) -> Turned {
        if self.search.typing {
            self.search_key(key);
            return Turned::Stay;
        }
        let page = self.height.saturating_sub(1).max(1);
        match key {
            Key { code: KeyCode::Char('c' | 'o' | 'd'), ctrl: true, .. }
            | Key { code: KeyCode::Esc | KeyCode::Char('q'), .. } => return Turned::Leave,
            Key { code: KeyCode::Up | KeyCode::Char('k'), .. } => self.up(1),
            Key { code: KeyCode::Down | KeyCode::Enter | KeyCode::Char('j'), .. } => self.down(1),
            Key { code: KeyCode::PageUp | KeyCode::Char('b'), .. } => self.up(page),
            Key { code: KeyCode::PageDown | KeyCode::Char(' ' | 'f'), .. } => self.down(page),
            Key { code: KeyCode::Home | KeyCode::Char('g'), .. } => self.up(usize::MAX),
            Key { code: KeyCode::End | KeyCode::Char('G'), .. } => self.down(usize::MAX),
            Key { code: KeyCode::Char('/'), .. } => {
                self.search = Search { typing: true, words: String::new() }
            }
            Key { code: KeyCode::Char('n'), .. } => self.find(Way::Down),
            Key { code: KeyCode::Char('N'), .. } => self.find(Way::Up),
            _ => {}
        }
        Turned::Stay
    }

    fn search_key(&mut self, key: Key) {
        match key.code {
            KeyCode::Char(c) if !key.ctrl && !key.alt => self.search.words.push(c),
            KeyCode::Backspace => {
                self.search.words.pop();
            }
            KeyCode::Enter => {
                self.search.typing = false;
                self.find(Way::Up);
            }
            _ => self.search = Search::default(),
        }
    }

    /// The next row that holds the words, whatever their case; round the end and on.
    fn find(&mut self, way: Way) {
        let words = self.search.words.to_lowercase();
        if words.is_empty() || self.lines.is_empty() {
            return;
        }
        let count = self.lines.len();
        let steps = 1..=count;
        let at = |step: usize| match way {
            Way::Down => (self.top + step) % count,
            Way::Up => (self.top + count - step % count) % count,
        };
        let found = steps.map(at).find(|row| {
            self.lines.get(*row).is_some_and(|line| line.to_string().to_lowercase().contains(&words))
        });
        if let Some(row) = found {
            self.top = row;
            self.follows = false;
        }
    }

    fn last_top(&self) -> usize {
        self.lines.len().saturating_sub(self.height)
    }

    fn up(&mut self, rows: usize) {
        let top = if self.follows { self.last_top() } else { self.top };
        self.top = top.saturating_sub(rows);
        self.follows = self.last_top() == 0;
    }

    fn down(&mut self, rows: usize) {
        self.top = self.top.saturating_add(rows).min(self.last_top());
        self.follows = self.top == self.last_top();
    }

    /// As high as the whole screen.
    pub fn draw(&mut self, look: Look<'_>, rows: u16) -> Drawn {
        self.height = usize::from(rows).saturating_sub(1).max(1);
        if self.follows && self.what == Paged::Conversation {
            self.top = self.last_top();
        }
        self.top = self.top.min(self.last_top());
        let mut lines: Vec<Line<'static>> =
            self.lines.iter().skip(self.top).take(self.height).cloned().collect();
        lines.resize(self.height, Line::default());
        let (foot, cursor) = self.foot(look);
        lines.push(foot);
        Drawn { lines, cursor: cursor.map(|column| (column, rows.saturating_sub(1))) }
    }

    fn foot(&self, look: Look<'_>) -> (Line<'static>, Option<u16>) {
        let width = usize::from(look.width);
        if self.search.typing {
            let text = truncate_width(&format!("/{}", self.search.words), width.saturating_sub(1));
            let column = Span::raw(text.clone()).width();
            return (Line::from(text), u16::try_from(column).ok());
        }
        let end = (self.top + self.height).min(self.lines.len());
        let text = format!("{end} of {} · q leaves · ↑↓ PgUp PgDn g G · / searches, n N", self.lines.len());
        (Line::from(Span::styled(truncate_width(&text, width), look.theme.dim)), None)
    }
}

#[derive(Clone, Copy)]
enum Way {
    Up,
    Down,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{Depth, Theme};

    fn shown(pager: &mut Pager) -> Vec<String> {
        let theme = Theme::new(Depth::None, false);
        let drawn = pager.draw(Look { width: 60, theme: &theme }, 4);
        drawn.lines.iter().take(3).map(ToString::to_string).collect()
    }

    fn numbered(count: usize) -> Vec<Line<'static>> {
        (1..=count).map(|n| Line::from(format!("line {n}"))).collect()
    }

    #[test]
    fn a_conversation_opens_at_its_end_and_follows_it_until_one_looks_back() {
        let now = Instant::now();
        let mut pager = Pager::new(Paged::Conversation);
        pager.refresh(numbered(10), 60, now);
        assert_eq!(shown(&mut pager), ["line 8", "line 9", "line 10"]);
        assert!(!pager.is_stale(60, true, now) && pager.is_stale(59, false, now));
        assert!(pager.is_stale(60, true, now + REFRESHED) && !pager.is_stale(60, false, now + REFRESHED));
        pager.refresh(numbered(12), 60, now);
        assert_eq!(shown(&mut pager), ["line 10", "line 11", "line 12"]);
        pager.key(Key::plain(KeyCode::Up));
        pager.refresh(numbered(20), 60, now);
        assert_eq!(shown(&mut pager), ["line 9", "line 10", "line 11"]);
        pager.key(Key::char('G'));
        assert_eq!(shown(&mut pager), ["line 18", "line 19", "line 20"]);
        assert_eq!(pager.key(Key::ctrl('o')), Turned::Leave);
    }

    #[test]
    fn words_are_found_backwards_and_again() {
        let mut pager = Pager::new(Paged::Conversation);
        pager.refresh(numbered(20), 60, Instant::now());
        shown(&mut pager);
        for key in [Key::char('/'), Key::char('1'), Key::char('2'), Key::plain(KeyCode::Enter)] {
            assert_eq!(pager.key(key), Turned::Stay);
        }
        assert_eq!(shown(&mut pager)[0], "line 12");
        pager.key(Key::char('/'));
        "LINE 3".chars().for_each(|c| assert_eq!(pager.key(Key::char(c)), Turned::Stay));
        pager.key(Key::plain(KeyCode::Enter));
        assert_eq!(shown(&mut pager)[0], "line 3");
        pager.key(Key::char('n'));
        assert_eq!(shown(&mut pager)[0], "line 3", "it is the only one");
    }
}
