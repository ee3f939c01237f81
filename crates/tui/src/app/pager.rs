//! A text on a screen of its own, to read up and down in: the whole conversation, help, warnings, a long answer to a command.

mod search;

use std::ops::Range;
use std::time::{Duration, Instant};

use ratatui_core::text::{Line, Span};
use zdx_protocol::Reply;
use zdx_protocol::display::text::truncate_width;
use zdx_protocol::display::visible_line;

use crate::conversation::PageRows;
use crate::key::{Key, KeyCode};
use crate::look::{Drawn, Look};
use search::{Search, Way, holds, marked};

/// A long conversation takes a while to lay out: not oftener than this while it grows.
const REFRESHED: Duration = Duration::from_secs(1);

#[derive(Debug, PartialEq)]
pub(crate) enum Paged {
    Conversation,
    Help,
    Warnings,
    /// What a command brought that is longer than the screen.
    Answer(Box<Reply>),
}

#[derive(Debug)]
pub(crate) struct Pager {
    pub what: Paged,
    parts: Vec<PageRows>,
    /// Rows of all parts.
    count: usize,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    Stay,
    Leave,
}

impl Pager {
    /// Opened at its end, as a conversation is, or at its start.
    pub fn new(what: Paged) -> Self {
        let follows = what == Paged::Conversation;
        let search = Search::default();
        Self { what, parts: Vec::new(), count: 0, top: 0, height: 0, follows, search, made: None }
    }

    /// Whether its text is to be laid out anew: never was, in another width, or grown since some time ago.
    pub fn is_stale(&self, width: u16, grown: bool, now: Instant) -> bool {
        self.made.is_none_or(|(made, when)| {
            made != width || (grown && now.saturating_duration_since(when) >= REFRESHED)
        })
    }

    /// Has its text laid out anew at once.
    pub fn outdate(&mut self) {
        self.made = None;
    }

    /// The same text, grown or wrapped anew.
    pub fn refresh(&mut self, parts: Vec<PageRows>, width: u16, now: Instant) {
        if self.made.is_some_and(|(made, _)| made != width) {
            // The rows are others now.
            self.search.found = None;
        }
        self.count = parts.iter().map(PageRows::len).sum();
        self.parts = parts;
        self.made = Some((width, now));
    }

    /// Whether its search field is being typed in.
    pub fn is_searching(&self) -> bool {
        self.search.typing
    }

    pub fn key(&mut self, key: Key) -> Turned {
        self.search.note = None;
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
                self.search = Search { typing: true, ..Search::default() }
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
                self.find(Way::Down);
            }
            _ => self.search = Search::default(),
        }
    }

    /// The next row that holds the words, whatever their case: from the one that was found last if it is still in view, else
    /// from the edge of what is. Round the end and on.
    fn find(&mut self, way: Way) {
        let count = self.count;
        if self.search.words.is_empty() || count == 0 {
            return;
        }
        let (top, below) = (self.top, (self.top + self.height).min(count));
        let last = self.search.found.filter(|row| (top..below).contains(row));
        let from = match way {
            Way::Down => last.map_or(top, |row| row + 1),
            Way::Up => last.unwrap_or(below),
        };
        let (before, behind) = (0..from.min(count), from.min(count)..count);
        let (ahead, around) = match way {
            Way::Down => (self.find_in(behind, way), self.find_in(before, way)),
            Way::Up => (self.find_in(before, way), self.find_in(behind, way)),
        };
        self.search.note = match (ahead, around, way) {
            (Some(_), ..) => None,
            (None, None, _) => Some(format!("not found: {}", self.search.words)),
            (None, Some(_), Way::Down) => Some("from the top again".to_owned()),
            (None, Some(_), Way::Up) => Some("from the end again".to_owned()),
        };
        let Some(row) = ahead.or(around) else { return };
        self.search.found = Some(row);
        if !(top..below).contains(&row) {
            self.top = row.min(self.last_top());
        }
        self.follows = false;
    }

    /// The row in this range that holds the words: the first one going down, the last one going up.
    fn find_in(&self, range: Range<usize>, way: Way) -> Option<usize> {
        let is_there = |line: &Line<'static>| holds(line, &self.search.words);
        let last = matches!(way, Way::Up);
        let mut found = self
            .parts_in(range)
            .filter_map(|(start, part, range)| part.find(range, last, is_there).map(|at| start + at));
        if last { found.last() } else { found.next() }
    }

    /// The parts that reach into this range: where each starts, and which of its rows lie in it.
    fn parts_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &PageRows, Range<usize>)> {
        self.parts
            .iter()
            .scan(0, |next, part| {
                let start = *next;
                *next += part.len();
                Some((start, part))
            })
            .filter_map(move |(start, part)| {
                let from = range.start.max(start) - start;
                let to = range.end.min(start + part.len()).saturating_sub(start);
                (from < to).then_some((start, part, from..to))
            })
    }

    fn last_top(&self) -> usize {
        self.count.saturating_sub(self.height)
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
        let marks = !self.search.words.is_empty() && !self.search.typing;
        let mut lines: Vec<Line<'static>> = Vec::new();
        for (start, part, range) in self.parts_in(self.top..self.top + self.height) {
            for (at, line) in part.rows(range) {
                let found = self.search.found == Some(start + at);
                lines.push(if marks { marked(&line, &self.search.words, found) } else { line });
            }
        }
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
        if let Some(note) = &self.search.note {
            let note = truncate_width(&visible_line(note), width);
            return (Line::from(Span::styled(note, look.theme.warning)), None);
        }
        let end = (self.top + self.height).min(self.count);
        let text = format!("{end} of {} · q leaves · ↑↓ PgUp PgDn g G · / searches, n N", self.count);
        (Line::from(Span::styled(truncate_width(&text, width), look.theme.dim)), None)
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::Modifier;

    use super::*;
    use crate::theme::{Depth, Theme};

    fn shown(pager: &mut Pager) -> Vec<String> {
        let theme = Theme::new(Depth::None, false);
        let drawn = pager.draw(Look { width: 60, theme: &theme }, 4);
        drawn.lines.iter().take(3).map(ToString::to_string).collect()
    }

    /// In two parts.
    fn numbered(count: usize) -> Vec<PageRows> {
        let lines = |range: std::ops::RangeInclusive<usize>| {
            PageRows::Lines(range.map(|n| Line::from(format!("line {n}"))).collect())
        };
        vec![lines(1..=count / 3), lines(count / 3 + 1..=count)]
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

    fn search(pager: &mut Pager, words: &str) {
        pager.key(Key::char('/'));
        words.chars().for_each(|c| assert_eq!(pager.key(Key::char(c)), Turned::Stay));
        pager.key(Key::plain(KeyCode::Enter));
    }

    fn foot(pager: &mut Pager) -> String {
        let theme = Theme::new(Depth::None, false);
        let drawn = pager.draw(Look { width: 60, theme: &theme }, 4);
        drawn.lines.last().map(ToString::to_string).unwrap_or_default()
    }

    /// What is marked in the rows in view.
    fn found(pager: &mut Pager) -> Vec<String> {
        let theme = Theme::new(Depth::None, false);
        let drawn = pager.draw(Look { width: 60, theme: &theme }, 4);
        let spans = drawn.lines.iter().take(3).flat_map(|line| line.spans.clone());
        let spans = spans.filter(|span| span.style.add_modifier.contains(Modifier::REVERSED));
        spans.map(|span| span.content.into_owned()).collect()
    }

    #[test]
    fn words_are_found_from_here_on_one_after_the_other() {
        let mut pager = Pager::new(Paged::Conversation);
        pager.refresh(numbered(40), 60, Instant::now());
        shown(&mut pager);
        pager.key(Key::char('g'));
        search(&mut pager, "LINE 1");
        assert_eq!(shown(&mut pager)[0], "line 1");
        assert_eq!(found(&mut pager), ["line 1"], "marked as it is written");
        for row in 10..=14 {
            pager.key(Key::char('n'));
            let row = format!("line {row}");
            assert!(shown(&mut pager).contains(&row), "{row}: {:?}", shown(&mut pager));
        }
        pager.key(Key::char('N'));
        pager.key(Key::char('N'));
        assert_eq!((shown(&mut pager)[0].as_str(), pager.search.found), ("line 12", Some(11)));
        // The end of the text is in view: there is still a next one in it.
        search(&mut pager, "line 4");
        assert_eq!(shown(&mut pager), ["line 38", "line 39", "line 40"]);
        assert_eq!(found(&mut pager), ["line 4"]);
        pager.key(Key::char('n'));
        assert_eq!(shown(&mut pager)[0], "line 4");
        assert_eq!(foot(&mut pager), "from the top again");
        pager.key(Key::char('N'));
        assert_eq!(foot(&mut pager), "from the end again");
        assert_eq!(shown(&mut pager)[2], "line 40");
    }

    #[test]
    fn what_is_not_there_is_said_and_moves_nothing() {
        let mut pager = Pager::new(Paged::Conversation);
        pager.refresh(numbered(20), 60, Instant::now());
        let before = shown(&mut pager);
        search(&mut pager, "nowhere");
        assert_eq!((shown(&mut pager), foot(&mut pager).as_str()), (before, "not found: nowhere"));
        pager.key(Key::plain(KeyCode::Up));
        assert!(foot(&mut pager).contains("of 20"), "{}", foot(&mut pager));
    }
}
