//! What a text was, said where it ends: the labels of line mode. Never said before it is known.

use zdx_protocol::display::labels;
use zdx_protocol::{CheckResult, Checked};

use super::Plain;
use crate::output::Page;

/// What a text was, which is known only when it is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Calls came after it.
    Plan,
    /// It was the last.
    Answer,
}

impl Mark {
    fn word(self) -> &'static str {
        match self {
            Self::Plan => "— PLAN",
            Self::Answer => "— ANSWER",
        }
    }
}

impl Plain {
    /// Says to a person what the text above was. Not before it is known: a text neither waits for its label nor bears a
    /// wrong one.
    pub(super) fn mark(&mut self, mark: Mark, page: &mut Page) {
        if std::mem::take(&mut self.unmarked) && self.terminal.shared {
            self.end_text(page);
            self.status(mark.word(), page);
        }
    }

    pub(super) fn checked(&mut self, checked: &Checked, page: &mut Page) {
        match checked.result {
            CheckResult::Failed => self.mark(Mark::Plan, page),
            // The error that ends the turn says it, with what the check said.
            CheckResult::GivenUp => return,
            CheckResult::Passed | CheckResult::NotRun { .. } => {}
        }
        let (level, message) = labels::checked(checked);
        self.notice(level, &message, page);
    }
}
