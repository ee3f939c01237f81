//! A question laid out line by line. Never cuts a command.

use super::{Part, QuestionLine, View};
use crate::policy::{Action, ApprovalRequest, Preview};
use crate::typeset::diff::{self, Bounds, LineKind};
use crate::typeset::text::{wrap, wrap_exact};
use crate::typeset::{format, visible, visible_line};

pub(super) const INDENT: &str = "  ";
/// Narrower than this nothing can be laid out.
const NARROWEST: usize = 20;
/// More empty rows in a row push the beginning of a command off the screen.
const BLANK_ROWS: usize = 3;
const TALL: usize = 20;

pub(super) struct Page<'a> {
    pub(super) view: View<'a>,
    columns: usize,
    pub(super) lines: Vec<QuestionLine>,
    /// Something of the preview is not shown.
    pub(super) cut: bool,
}

impl<'a> Page<'a> {
    pub(super) fn new(view: View<'a>) -> Self {
        Self { view, columns: view.columns.max(NARROWEST), lines: Vec::new(), cut: false }
    }

    fn push(&mut self, part: Part, text: String) {
        self.lines.push(QuestionLine { part, text });
    }

    pub(super) fn wrapped(&mut self, part: Part, indent: &str, text: &str) {
        for line in wrap(&visible_line(text), self.columns - indent.len()) {
            self.push(part, format!("{indent}{line}"));
        }
    }

    /// `  why     the text, wrapped below itself`.
    pub(super) fn labelled(&mut self, part: Part, label: &str, text: &str) {
        const LABEL: usize = 8;
        let lines = wrap(&visible_line(text), self.columns - INDENT.len() - LABEL);
        for (at, line) in lines.into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.push(part, format!("{INDENT}{label:LABEL$}{line}"));
        }
    }

    pub(super) fn preview(&mut self, request: &ApprovalRequest) {
        // The command that is judged and run is the action's; a preview may only add to it.
        if let Action::Command { command, .. } = &request.action {
            return self.exact(Part::Command, command);
        }
        let bounds = Bounds { columns: self.columns - INDENT.len(), lines: self.view.lines };
        match &request.preview {
            Preview::None => {}
            Preview::Command { command } => self.exact(Part::Command, command),
            Preview::Change { diff, .. } => self.diff(diff::judged(diff, bounds)),
            // Of several files.
            Preview::Text { text } if matches!(request.action, Action::Write { .. }) => {
                self.diff(diff::judged_files(text, bounds));
            }
            Preview::Text { text } => self.text(text, bounds),
        }
    }

    fn diff(&mut self, lines: Vec<diff::Line>) {
        for line in lines {
            self.cut |= line.kind == LineKind::LeftOut;
            self.push(Part::Diff(line.kind), format!("{INDENT}{}", line.text));
        }
    }

    fn text(&mut self, text: &str, bounds: Bounds) {
        let rows: Vec<String> =
            visible(text).lines().flat_map(|line| wrap_exact(line, bounds.columns)).collect();
        let shown = if rows.len() > bounds.lines { bounds.lines.saturating_sub(1) } else { rows.len() };
        for row in &rows[..shown] {
            self.push(Part::Text, format!("{INDENT}{row}"));
        }
        if shown < rows.len() {
            self.cut = true;
            self.push(Part::Note, format!("{INDENT}{}", diff::more(rows.len() - shown).text));
        }
    }

    /// The whole text: `$` before its first line, `>` before further ones, nothing before what was only wrapped.
    pub(super) fn exact(&mut self, part: Part, text: &str) {
        let spelled = visible(text);
        let first_row = self.lines.len();
        let mut blank = 0;
        for (number, line) in spelled.split('\n').enumerate() {
            let mark = if number == 0 { "$ " } else { "> " };
            for (at, piece) in wrap_exact(line, self.columns - mark.len()).into_iter().enumerate() {
                if piece.trim().is_empty() {
                    blank += 1;
                    continue;
                }
                self.blank_rows(part, &mut blank);
                self.push(part, format!("{}{piece}", if at == 0 { mark } else { INDENT }));
            }
        }
        self.blank_rows(part, &mut blank);
        if self.lines.len() - first_row > TALL && !self.view.scrolls {
            let lines = format::count(spelled.split('\n').count(), "line");
            self.wrapped(
                Part::Note,
                INDENT,
                &format!("{lines}, all shown: scroll up to read from the start"),
            );
        }
        // A tab is spelled out too, but it is in every script that somebody indented.
        let odd = text.replace('\t', " ");
        if visible(&odd) != odd {
            self.wrapped(
                Part::Note,
                INDENT,
                "it holds characters that do not show; they are spelled out above",
            );
        }
    }

    fn blank_rows(&mut self, part: Part, blank: &mut usize) {
        if *blank > BLANK_ROWS {
            self.push(Part::Note, format!("{INDENT}({blank} empty rows)"));
        } else {
            (0..*blank).for_each(|_| self.push(part, ">".to_owned()));
        }
        *blank = 0;
    }
}
