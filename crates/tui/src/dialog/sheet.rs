//! A question laid out in rows: what is asked on top, what it is about scrolled below, what can be answered at the bottom
//! and always in sight. Nothing is cut: what does not fit is counted, and can be scrolled to.

use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use zdx_protocol::display::approval::Part;
use zdx_protocol::display::diff::LineKind;
use zdx_protocol::display::format::count;
use zdx_protocol::display::text::{one_line, truncate_width, width, wrap, wrap_exact};
use zdx_protocol::display::visible_line;

use super::KeyFocus;
use super::front::{Complaint, Front};
use super::request::{Asked, Choice, Page, Scene};
use crate::look::{Drawn, Look};
use crate::theme::{Depth, Theme};
use crate::write::diff::first_change;

/// With fewer rows left for what is asked about, the choices share rows.
const ROOMY: usize = 4;
/// What is said about a question stays in sight where so much of it does too.
const PINNED: usize = 6;

/// The rows of a page at one width.
#[derive(Debug)]
pub(super) struct Sheet {
    made_for: (u16, Depth, bool),
    title: Vec<Line<'static>>,
    /// The command, the change: what is to be judged.
    about: Vec<Line<'static>>,
    /// Why it is asked, by which rule.
    facts: Vec<Line<'static>>,
    /// The first row of a change that is no context.
    changed: Option<usize>,
    /// As it was last drawn: how many rows scroll, from where, and whether the last one was among them.
    pub(super) window: usize,
    pub(super) scroll: usize,
    pub(super) ended: bool,
    /// The last row of what is to be judged was in sight; what zdx says about it may come behind.
    pub(super) seen: bool,
    /// What is said about it is the same for every edit: where there is no room for both, the change has it, and the rest comes
    /// behind it.
    everyday: bool,
}

/// How the rows are shared out.
struct Layout {
    head: bool,
    compact: bool,
    hint: bool,
    /// An empty row before the choices, where there is one to spare.
    gap: bool,
    /// Rows that scroll.
    window: usize,
    facts: Facts,
}

/// Where stands why it is asked, and by which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Facts {
    /// Behind what is asked about.
    Behind,
    /// Below it, while that scrolls.
    Pinned,
    LeftOut,
}

impl Sheet {
    pub(super) fn new(asked: &Asked, page: Page, look: Look<'_>, scene: Scene<'_>) -> Self {
        let text = asked.text(page, usize::from(look.width), scene);
        let mut sheet = Self {
            made_for: (look.width, look.theme.depth, look.theme.light),
            title: Vec::new(),
            about: Vec::new(),
            facts: Vec::new(),
            changed: None,
            window: 0,
            scroll: 0,
            ended: false,
            seen: false,
            everyday: asked.is_everyday_edit(),
        };
        let columns = usize::from(look.width);
        // Questions are laid out for twenty columns at least; on fewer their rows are broken once more, not cut.
        let pieces = |row: String| if width(&row) <= columns { vec![row] } else { wrap_exact(&row, columns) };
        let changes = text.rows.iter().any(|(part, _)| matches!(part, Part::Diff(_)));
        let mut change = if changes { asked.change(look) } else { None };
        let changes = change.is_some();
        let rows =
            text.rows.into_iter().flat_map(|(part, row)| pieces(row).into_iter().map(move |row| (part, row)));
        for (part, row) in rows {
            // The same lines, with numbers and colours.
            if changes && matches!(part, Part::Diff(_)) {
                if let Some(rows) = change.take() {
                    sheet.changed = first_change(&rows).map(|at| sheet.about.len() + at);
                    sheet.about.extend(rows);
                }
                continue;
            }
            let row = truncate_width(&row, columns);
            sheet.push(part, Line::styled(row, style(part, asked.is_dangerous(), look.theme)));
        }
        sheet
    }

    fn push(&mut self, part: Part, line: Line<'static>) {
        let rows = match part {
            Part::Title => &mut self.title,
            Part::Effect | Part::Why | Part::Rule | Part::Grant => &mut self.facts,
            // What is noted about a command stands right behind it.
            Part::Command | Part::Diff(_) | Part::Text | Part::Note if self.facts.is_empty() => {
                &mut self.about
            }
            Part::Command | Part::Diff(_) | Part::Text | Part::Note => &mut self.facts,
        };
        rows.push(line);
    }

    pub(super) fn fits(&self, look: Look<'_>) -> bool {
        self.made_for == (look.width, look.theme.depth, look.theme.light)
    }

    pub(super) fn draw(
        mut self,
        asked: &Asked,
        front: &Front,
        number: &str,
        look: Look<'_>,
        most: usize,
        focus: KeyFocus,
    ) -> (Self, Drawn) {
        let long = choice_rows(front, look, focus);
        let choices = (long.len(), flow_rows(front, look, focus).len());
        let mut layout = self.layout(front, choices, self.facts.len(), most);
        if self.everyday && layout.window < self.about.len() {
            let alone = self.layout(front, choices, 0, most);
            let facts = if alone.window < self.about.len() { Facts::Behind } else { Facts::LeftOut };
            layout = Layout { facts, ..alone };
        }
        let mut lines = Vec::new();
        if layout.head {
            lines.push(head(asked, number, look));
        }
        lines.extend(self.title.iter().cloned());
        self.scrolled(front, &layout, asked.must_be_read(), look, &mut lines);
        if layout.gap {
            lines.push(Line::default());
        }
        let mut cursor = None;
        if front.page == Page::Message {
            let asks = "Reason for the model (optional):";
            lines.push(Line::styled(truncate_width(asks, usize::from(look.width)), look.theme.strong));
            let (line, column) = front.message.draw("> ", look);
            cursor = Some((column, u16::try_from(lines.len()).unwrap_or(u16::MAX)));
            lines.push(line);
        } else {
            lines.extend(if layout.compact { flow_rows(front, look, focus) } else { long });
        }
        if layout.hint {
            lines.push(hint(asked, front, look, focus));
        }
        // On a screen of very few rows the choices are what must be in sight.
        let over = lines.len().saturating_sub(most.max(1));
        lines.drain(..over);
        let over = u16::try_from(over).unwrap_or(u16::MAX);
        let cursor = cursor.map(|(column, row)| (column, row.saturating_sub(over)));
        self.ended &= over == 0;
        self.seen &= over == 0;
        (self, Drawn { lines, cursor })
    }

    /// `facts`: how many rows of them there are; `choices`: how many rows those take, each on its own and together.
    fn layout(&self, front: &Front, choices: (usize, usize), facts: usize, most: usize) -> Layout {
        let (long, short) = if front.page == Page::Message { (2, 2) } else { choices };
        let whole = self.about.len() + facts;
        let room = |head: bool, choices: usize, hint: bool| {
            most.saturating_sub(usize::from(head) + self.title.len() + choices + usize::from(hint))
        };
        for (head, compact, hint, least) in [
            (true, false, true, ROOMY),
            (true, true, true, ROOMY),
            (false, true, true, 2),
            (false, true, false, 1),
        ] {
            let room = room(head, if compact { short } else { long }, hint);
            if whole <= room {
                let gap = !compact && whole < room;
                return Layout { head, compact, hint, gap, window: whole, facts: Facts::Behind };
            }
            // One row says how much there is.
            let pinned = room > facts + PINNED;
            let window = room.saturating_sub(1 + if pinned { facts } else { 0 });
            if window >= least {
                let facts = if pinned { Facts::Pinned } else { Facts::Behind };
                return Layout { head, compact, hint, gap: false, window, facts };
            }
        }
        Layout { head: false, compact: true, hint: false, gap: false, window: 1, facts: Facts::Behind }
    }

    /// Where it is read from, as long as nobody scrolled: nobody is to judge a change by the rows above it. What must be
    /// read whole begins with its first row.
    fn start(&self, must_be_read: bool) -> usize {
        const SEEN: usize = 2;
        let changed = self.changed.filter(|at| !must_be_read && at + SEEN > self.window);
        changed.map_or(0, |at| at.saturating_sub(usize::from(self.window > 2 * SEEN)))
    }

    /// The rows that scroll, how many do not show, and what is pinned below.
    fn scrolled(
        &mut self,
        front: &Front,
        layout: &Layout,
        must_be_read: bool,
        look: Look<'_>,
        lines: &mut Vec<Line<'static>>,
    ) {
        let below: &[Line<'static>] = if layout.facts == Facts::Behind { &self.facts } else { &[] };
        let all = self.about.len() + below.len();
        self.window = layout.window.min(all);
        let start = front.scroll.unwrap_or_else(|| self.start(must_be_read));
        self.scroll = start.min(all - self.window);
        let end = self.scroll + self.window;
        lines.extend(self.about.iter().chain(below).skip(self.scroll).take(self.window).cloned());
        self.ended = end == all;
        self.seen = end >= self.about.len();
        if self.window < all {
            let style = if self.ended { look.theme.dim } else { look.theme.warning };
            let text = mark(self.scroll, end, all, must_be_read && !front.read && !self.seen);
            lines.push(Line::styled(truncate_width(&text, usize::from(look.width)), style));
        }
        if layout.facts == Facts::Pinned {
            lines.extend(self.facts.iter().cloned());
        }
    }
}

/// How much there is above and below.
fn mark(start: usize, end: usize, all: usize, must_be_read: bool) -> String {
    match (all - end, start) {
        (0, above) => format!("… {} above · PgUp", count(above, "line")),
        (below, _) if must_be_read => {
            format!("… {}: read to the end (PgDn)", count(below, "more line"))
        }
        (below, 0) => format!("… {} below · PgDn", count(below, "more line")),
        (below, above) => format!("… {} below, {above} above · PgDn PgUp", count(below, "line")),
    }
}

fn style(part: Part, dangerous: bool, theme: &Theme) -> Style {
    match part {
        Part::Title if dangerous => theme.error,
        Part::Title => theme.strong,
        Part::Command => theme.code,
        Part::Diff(LineKind::Add) => theme.added,
        Part::Diff(LineKind::Remove) => theme.removed,
        Part::Diff(LineKind::Context) | Part::Text | Part::Effect | Part::Why | Part::Grant => theme.text,
        Part::Diff(LineKind::Hunk | LineKind::Note | LineKind::LeftOut) | Part::Rule | Part::Note => {
            theme.dim
        }
    }
}

/// `── approval 1 of 3 · agent tester ─────`.
fn head(asked: &Asked, number: &str, look: Look<'_>) -> Line<'static> {
    let agent = asked.agent().map(|agent| format!(" · agent {}", one_line(&visible_line(agent), 24)));
    let text = format!("── {}{number}{} ", asked.kind(), agent.unwrap_or_default());
    let rest = usize::from(look.width).saturating_sub(width(&text));
    let text = truncate_width(&format!("{text}{}", "─".repeat(rest)), usize::from(look.width));
    Line::styled(text, if asked.is_dangerous() { look.theme.warning } else { look.theme.accent })
}

/// A row for each choice, or more where it does not fit.
fn choice_rows(front: &Front, look: Look<'_>, focus: KeyFocus) -> Vec<Line<'static>> {
    const LABEL: usize = 5;
    let mut rows = Vec::new();
    for (at, choice) in front.choices.iter().enumerate() {
        let focused = at == front.focus && focus == KeyFocus::Request;
        let columns = usize::from(look.width).saturating_sub(LABEL).max(1);
        for (number, piece) in wrap(&choice.long, columns).into_iter().enumerate() {
            let key = match (number, focused) {
                (0, true) => format!("▸ {}  ", choice.key),
                (0, false) => format!("  {}  ", choice.key),
                (_, _) => " ".repeat(LABEL),
            };
            rows.push(Line::from(vec![
                Span::styled(key, key_style(focus, look.theme)),
                Span::styled(piece, choice_style(focused, focus, look.theme)),
            ]));
        }
    }
    rows
}

/// Keys that would go to the composer are faint.
fn key_style(focus: KeyFocus, theme: &Theme) -> Style {
    match focus {
        KeyFocus::Request => theme.accent,
        KeyFocus::Composer | KeyFocus::ComposerUntilTab => theme.dim,
    }
}

fn choice_style(focused: bool, focus: KeyFocus, theme: &Theme) -> Style {
    match (focus, focused) {
        (KeyFocus::Request, true) => theme.accent.add_modifier(Modifier::BOLD),
        (KeyFocus::Request, false) => theme.text,
        (KeyFocus::Composer | KeyFocus::ComposerUntilTab, _) => theme.dim,
    }
}

/// The same on as few rows as it takes: `y yes, once ▸n no`.
fn flow_rows(front: &Front, look: Look<'_>, focus: KeyFocus) -> Vec<Line<'static>> {
    let mut rows: Vec<(usize, Vec<Span<'static>>)> = Vec::new();
    for (at, choice) in front.choices.iter().enumerate() {
        let Choice { key, short, .. } = choice;
        let focused = at == front.focus && focus == KeyFocus::Request;
        let text = if focused { format!("▸{key} {short}") } else { format!(" {key} {short}") };
        let text = truncate_width(&text, usize::from(look.width));
        let columns = width(&text);
        let span = Span::styled(text, choice_style(focused, focus, look.theme));
        match rows.last_mut() {
            Some((used, row)) if *used + 1 + columns <= usize::from(look.width) => {
                *used += 1 + columns;
                row.extend([Span::raw(" "), span]);
            }
            _ => rows.push((columns, vec![span])),
        }
    }
    rows.into_iter().map(|(_, row)| Line::from(row)).collect()
}

const ANSWER: &str = "Up/Down Enter, or a key";

/// The row of keys, or the reason why the last key did nothing.
fn hint(asked: &Asked, front: &Front, look: Look<'_>, focus: KeyFocus) -> Line<'static> {
    let columns = usize::from(look.width);
    if let Some(complaint) = front.complaint {
        let text = match complaint {
            Complaint::Unread => "not allowed yet: scroll to the end first (PgDn)",
            Complaint::TooQuick => "ignored: key pressed too quickly, press again",
        };
        return Line::styled(truncate_width(text, columns), look.theme.warning);
    }
    let way_out = if front.page == Page::First { asked.way_out() } else { "Esc: back" };
    let parts: &[&str] = match (front.page, focus) {
        (Page::Message, _) => &["Esc: back", "Enter sends it"],
        (_, KeyFocus::Composer) => &["this request waits for you", asked.way_out()],
        (_, KeyFocus::ComposerUntilTab) => &["Tab to answer", "this request waits for you", asked.way_out()],
        (_, KeyFocus::Request) if front.is_marked() => &[way_out, "Enter confirms"],
        (_, KeyFocus::Request) if front.focused_by_tab => &[way_out, "Up/Down, then Enter", "Tab: back"],
        (Page::First, KeyFocus::Request) => &[way_out, ANSWER, "Ctrl-O: the conversation"],
        (Page::Scope | Page::Wider | Page::Preset | Page::Yolo, KeyFocus::Request) => &[way_out, ANSWER],
    };
    // The way out is what must not be missing.
    let mut text = String::new();
    for part in parts {
        let longer = if text.is_empty() { (*part).to_owned() } else { format!("{part} · {text}") };
        if width(&longer) <= columns {
            text = longer;
        }
    }
    Line::styled(truncate_width(&text, columns), look.theme.dim)
}
