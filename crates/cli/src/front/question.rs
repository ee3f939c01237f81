//! An approval question, dressed for line mode. What it says is `zdx_protocol::display::approval`'s business.

use zdx_protocol::display::approval::{Part, Question};
use zdx_protocol::display::diff::LineKind;

use crate::style::Style;

/// The question and its keys; the cursor stays behind the last of them.
pub fn dressed(question: &Question, columns: usize, style: Style) -> String {
    let mut text = String::new();
    for line in &question.lines {
        let dressed = match line.part {
            Part::Title => style.yellow(&line.text),
            Part::Diff(LineKind::Add) => style.green(&line.text),
            Part::Diff(LineKind::Remove) => style.red(&line.text),
            Part::Diff(LineKind::Hunk | LineKind::Note) | Part::Rule | Part::Note => style.dim(&line.text),
            Part::Diff(LineKind::Context)
            | Part::Command
            | Part::Text
            | Part::Effect
            | Part::Why
            | Part::Grant => line.text.as_str().into(),
        };
        text.push_str(&dressed);
        text.push('\n');
    }
    // A colon and the answer must still fit behind the keys.
    text.push_str(&question.key_lines(columns.saturating_sub(12)).join("\n"));
    text.push_str(": ");
    text
}

#[cfg(test)]
mod tests {
    use zdx_protocol::display::approval::{Answer, Key, QuestionLine};

    use super::*;

    #[test]
    fn lines_are_coloured_by_what_they_are_and_keys_come_last() {
        let line = |part, text: &str| QuestionLine { part, text: text.to_owned() };
        let question = Question {
            lines: vec![line(Part::Diff(LineKind::Add), "+new"), line(Part::Command, "make")],
            keys: vec![Key { key: 'y', label: "once", answer: Answer::AllowOnce }],
        };
        let text = dressed(&question, 80, Style { colour: true });
        assert_eq!(text, "\x1b[32m+new\x1b[0m\nmake\n[y] once: ");
    }
}
