//! Whatever is printed and however the live region changes, what stands in scrollback and on the screen is the source.

use proptest::prelude::*;
use ratatui_core::text::Line;
use unicode_width::UnicodeWidthStr;
use zdx_testkit::TerminalEmulator;

use crate::term::Frame;
use crate::term::capabilities::Reflow;
use crate::term::painter::Painter;
use crate::term::settle::rows_above;
use crate::theme::Depth;

const WORDS: [&str; 14] =
    ["a", "fn", "word", " ", "  ", "中文", "日本", "e\u{301}", "🦀", "🚀", "·", "…", "long-longer", "─"];

#[derive(Clone, Debug)]
struct Step {
    history: Vec<Vec<usize>>,
    live: Vec<Vec<usize>>,
    cursor: Option<(u16, u16)>,
}

fn line() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..WORDS.len(), 0..14)
}

fn step() -> impl Strategy<Value = Step> {
    let history = prop_oneof![
        2 => Just(Vec::new()),
        5 => prop::collection::vec(line(), 0..4),
        1 => prop::collection::vec(line(), 0..30),
    ];
    let live = prop::collection::vec(line(), 0..8);
    let cursor = prop::option::weighted(0.9, (0_u16..60, 0_u16..8));
    (history, live, cursor).prop_map(|(history, live, cursor)| Step { history, live, cursor })
}

/// As many of the words as fit, without blanks at the end.
fn text(words: &[usize], columns: usize) -> String {
    let mut text = String::new();
    for word in words {
        if text.width() + WORDS[*word].width() <= columns {
            text.push_str(WORDS[*word]);
        }
    }
    text.trim_end().to_owned()
}

/// A terminal in memory, for whoever makes frames.
pub(crate) struct InMemory {
    painter: Painter,
    screen: TerminalEmulator,
}

impl InMemory {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let screen = TerminalEmulator::new(rows, columns, 10_000);
        Self { painter: Painter::new(columns, rows, Depth::Many, true), screen }
    }

    pub(crate) fn show(&mut self, frame: &Frame) {
        let bytes = self.painter.frame(&frame.history, &frame.live, frame.cursor);
        self.screen.process(&bytes);
    }

    /// What stands in scrollback and on the screen.
    pub(crate) fn rows(&mut self) -> Vec<String> {
        recovered(&mut self.screen, self.painter.rows, self.painter.columns)
    }
}

/// All rows that were ever shown, oldest first.
fn recovered(screen: &mut TerminalEmulator, rows: u16, columns: u16) -> Vec<String> {
    let screen = screen.screen_mut();
    screen.set_scrollback(usize::MAX);
    let above = screen.scrollback();
    let mut found = Vec::new();
    let mut from = above;
    loop {
        screen.set_scrollback(from);
        let taken = if from == 0 { usize::from(rows) } else { from.min(usize::from(rows)) };
        found.extend(screen.rows(0, columns).take(taken).map(|row| row.trim_end().to_owned()));
        if from == 0 {
            return found;
        }
        from -= taken;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_what_stands_there(
        columns in 4_u16..60,
        rows in 3_u16..14,
        insert in prop::bool::weighted(0.8),
        before in 0_usize..16,
        steps in prop::collection::vec(step(), 1..8),
    ) {
        let mut screen = TerminalEmulator::new(rows, columns, 2_000);
        let mut expected: Vec<String> = (0..before).map(|n| format!("$ {n}")).collect();
        for line in &expected {
            screen.process(format!("{line}\r\n").as_bytes());
        }
        let mut painter = Painter::new(columns, rows, Depth::Many, insert);
        let width = usize::from(columns);
        let mut live = Vec::new();
        for step in &steps {
            let made = |lines: &[Vec<usize>]| -> Vec<String> { lines.iter().map(|line| text(line, width)).collect() };
            let history = made(&step.history);
            live = made(&step.live);
            let as_lines = |text: &[String]| -> Vec<Line<'static>> { text.iter().cloned().map(Line::from).collect() };
            let bytes = painter.frame(&as_lines(&history), &as_lines(&live), step.cursor);
            screen.process(&bytes);
            let again = painter.frame(&[], &as_lines(&live), step.cursor);
            prop_assert!(again.is_empty());
            expected.extend(history);
            // The caret is where it was asked to be.
            if let Some((column, row)) = step.cursor {
                let cut = live.len().saturating_sub(usize::from(rows));
                let row = usize::from(row).saturating_sub(cut).min(live.len().max(1) - cut.min(live.len()) - 1);
                let (at, at_column) = screen.screen().cursor_position();
                prop_assert_eq!(at_column, column.min(columns - 1));
                let kept = live[cut..].len().max(1);
                let shown: Vec<String> = screen.screen().rows(0, columns).collect();
                let top = usize::from(at) - row;
                for (n, line) in live[cut..].iter().enumerate() {
                    prop_assert_eq!(shown[top + n].trim_end(), line);
                }
                prop_assert!(shown[top + kept..].iter().all(|row| row.trim_end().is_empty()));
            }
        }
        let cut = live.len().saturating_sub(usize::from(rows));
        expected.extend(live.drain(cut..));
        let mut found = recovered(&mut screen, rows, columns);
        for all in [&mut found, &mut expected] {
            while all.last().is_some_and(String::is_empty) {
                all.pop();
            }
        }
        prop_assert_eq!(found, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A terminal that cuts rows off, as this one in memory and xterm do.
    #[test]
    fn a_region_is_found_again_after_any_change_of_size(
        sizes in prop::collection::vec((20_u16..60, 8_u16..16, 0_usize..4), 1..8),
        caret in 0_usize..3,
    ) {
        let (columns, rows) = (40, 12);
        let mut screen = TerminalEmulator::new(rows, columns, 2_000);
        let mut painter = Painter::new(columns, rows, Depth::None, true);
        let mut expected: Vec<String> = Vec::new();
        let mut draw = |painter: &mut Painter, screen: &mut TerminalEmulator, lines: usize| {
            let history: Vec<String> = (0..lines).map(|n| format!("line {}", expected.len() + n)).collect();
            expected.extend_from_slice(&history);
            let wide = usize::from(painter.columns);
            let live = ["tail".to_owned(), "-".repeat(wide), "> ".to_owned(), "=".repeat(wide)];
            let as_lines = |text: &[String]| -> Vec<Line<'static>> { text.iter().cloned().map(Line::from).collect() };
            let bytes = painter.frame(&as_lines(&history), &as_lines(&live), Some((2, caret as u16)));
            screen.process(&bytes);
            expected.clone()
        };
        let mut all = draw(&mut painter, &mut screen, 5);
        for (columns, rows, lines) in sizes {
            screen.set_size(rows, columns);
            let (row, column) = screen.screen().cursor_position();
            let above = rows_above(&painter.shape(), columns, Reflow::Cut, Some((row + 1, column + 1)));
            (painter.columns, painter.rows) = (columns, rows);
            screen.process(&painter.erase(above));
            all = draw(&mut painter, &mut screen, lines);
        }
        let found = recovered(&mut screen, painter.rows, painter.columns);
        let lines: Vec<&String> = found.iter().filter(|line| line.starts_with("line ")).collect();
        prop_assert_eq!(lines, all.iter().collect::<Vec<_>>());
        for part in ["tail", "---", ">", "==="] {
            prop_assert_eq!(found.iter().filter(|line| line.starts_with(part)).count(), 1);
        }
    }
}
