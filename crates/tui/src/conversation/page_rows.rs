//! The rows of a page: those of the conversation, laid out, and those of long outputs, which are laid out where they are
//! looked at. An output may have millions of them.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use zdx_protocol::query::SpilledOutput;

use super::rows::{printed, span};
use crate::write::wrap::{Margin, wrap_in};

/// Lines between two places whose row is remembered.
const BETWEEN_MARKS: usize = 64;

#[derive(Debug)]
pub(crate) enum PageRows {
    Lines(Vec<Line<'static>>),
    Output(OutputRows),
}

impl PageRows {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Lines(lines) => lines.len(),
            Self::Output(output) => output.rows,
        }
    }

    /// The rows in this range, in order.
    pub(crate) fn rows(&self, range: Range<usize>) -> Vec<(usize, Line<'static>)> {
        match self {
            Self::Lines(lines) => {
                let rows = lines.iter().cloned().enumerate();
                rows.skip(range.start).take(range.len()).collect()
            }
            Self::Output(output) => {
                let mut rows = Vec::new();
                output.each(
                    range,
                    |_| true,
                    |at, line| {
                        rows.push((at, line));
                        ControlFlow::Continue(())
                    },
                );
                rows
            }
        }
    }

    /// The first row in this range for which `is_there` holds, or the last.
    pub(crate) fn find(
        &self,
        range: Range<usize>,
        last: bool,
        is_there: impl Fn(&Line<'static>) -> bool,
    ) -> Option<usize> {
        match self {
            Self::Lines(lines) => {
                let holds = |at: &usize| lines.get(*at).is_some_and(&is_there);
                if last { range.rev().find(holds) } else { range.into_iter().find(holds) }
            }
            Self::Output(output) => {
                let mut found = None;
                let visit = |at, line| {
                    if is_there(&line) {
                        found = Some(at);
                    }
                    if found.is_some() && !last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                // A row holds nothing that its line does not.
                output.each(range, |line| is_there(&Line::from(printed(line))), visit);
                found
            }
        }
    }
}

/// The rows of one text for one width.
#[derive(Debug)]
pub(crate) struct OutputRows {
    output: Arc<SpilledOutput>,
    width: u16,
    indent: &'static str,
    style: Style,
    /// Byte and row of every so many lines.
    marks: Vec<(usize, usize)>,
    rows: usize,
}

impl OutputRows {
    /// Counts the rows of the beginning of an output, which is all of it if nothing was left out.
    pub(super) fn new(output: Arc<SpilledOutput>, indent: &'static str, style: Style, width: u16) -> Self {
        let mut this = Self { output, width, indent, style, marks: Vec::new(), rows: 0 };
        let (mut marks, mut offset, mut rows) = (Vec::new(), 0, 0);
        for (number, line) in this.text().split_inclusive('\n').enumerate() {
            if number % BETWEEN_MARKS == 0 {
                marks.push((offset, rows));
            }
            offset += line.len();
            rows += this.count(line.trim_end_matches('\n'));
        }
        (this.marks, this.rows) = (marks, rows);
        this
    }

    fn text(&self) -> &str {
        self.output.head.trim_end()
    }

    fn count(&self, line: &str) -> usize {
        let room = usize::from(self.width).saturating_sub(self.indent.len());
        let is_plain = line.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if is_plain && line.len() <= room { 1 } else { self.wrapped(line).len().max(1) }
    }

    fn wrapped(&self, line: &str) -> Vec<Line<'static>> {
        if line.trim().is_empty() {
            return vec![Line::default()];
        }
        let indent = || vec![Span::raw(self.indent)];
        let margin = Margin { first: indent(), rest: indent() };
        wrap_in(Line::from(span(printed(line), self.style)), self.width, &margin)
    }

    /// Visits the rows in this range that lie in lines that are wanted.
    fn each(
        &self,
        range: Range<usize>,
        wanted: impl Fn(&str) -> bool,
        mut visit: impl FnMut(usize, Line<'static>) -> ControlFlow<()>,
    ) {
        let mark = self.marks.partition_point(|(_, row)| *row <= range.start).saturating_sub(1);
        let Some((offset, mut row)) = self.marks.get(mark).copied() else { return };
        for line in self.text()[offset..].split_inclusive('\n') {
            if row >= range.end {
                return;
            }
            let line = line.trim_end_matches('\n');
            let count = self.count(line);
            if row + count > range.start && wanted(line) {
                for (at, line) in self.wrapped(line).into_iter().enumerate() {
                    if range.contains(&(row + at)) && visit(row + at, line).is_break() {
                        return;
                    }
                }
            }
            row += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: u16) -> PageRows {
        let output = SpilledOutput { head: text.to_owned(), ..SpilledOutput::default() };
        PageRows::Output(OutputRows::new(Arc::new(output), "  ", Style::new(), width))
    }

    fn shown(rows: &PageRows, range: Range<usize>) -> Vec<String> {
        rows.rows(range).into_iter().map(|(_, line)| line.to_string()).collect()
    }

    #[test]
    fn every_range_shows_what_the_whole_shows_there() {
        let text: String = (1..=300)
            .map(|n| {
                format!("line {n} 漢字{}\n{}", " word".repeat(n % 7), if n % 9 == 0 { "\n" } else { "" })
            })
            .collect();
        for width in [12, 20, 80] {
            let rows = rows(&text, width);
            let all = shown(&rows, 0..rows.len());
            assert_eq!(all.len(), rows.len());
            assert!(all.iter().all(|row| Line::from(row.as_str()).width() <= usize::from(width)));
            for start in (0..rows.len()).step_by(17) {
                let end = (start + 11).min(rows.len());
                assert_eq!(shown(&rows, start..end), all[start..end], "{width} {start}");
            }
            let holds = |line: &Line<'static>| line.to_string().contains("line 2");
            let expected: Vec<usize> = (0..all.len()).filter(|at| all[*at].contains("line 2")).collect();
            assert_eq!(rows.find(0..rows.len(), false, holds), expected.first().copied(), "{width}");
            assert_eq!(rows.find(0..rows.len(), true, holds), expected.last().copied(), "{width}");
            let behind = expected[3] + 1..rows.len();
            assert_eq!(rows.find(behind, false, holds), Some(expected[4]), "{width}");
        }
    }

    #[test]
    fn an_empty_text_has_no_rows() {
        assert_eq!(rows("", 80).len(), 0);
        assert!(shown(&rows("", 80), 0..5).is_empty());
    }
}
