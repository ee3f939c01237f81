//! An approval question, dressed for line mode. What it says is `zdx_protocol::display::approval`'s business.

use zdx_protocol::display::approval::{Part, Question};

use super::lines;
use crate::style::Style;

/// What is asked, line by line.
pub fn dressed(question: &Question, style: Style) -> String {
    let mut text = String::new();
    for line in &question.lines {
        let dressed = match line.part {
            Part::Title => style.yellow(&line.text),
            Part::Diff(kind) => lines::dressed(kind, &line.text, style),
            Part::Rule | Part::Note => style.dim(&line.text),
            Part::Command | Part::Text | Part::Effect | Part::Why | Part::Grant => line.text.as_str().into(),
        };
        text.push_str(&dressed);
        text.push('\n');
    }
    text
}

/// The choices, with the one that Enter takes; a colon must still fit behind them.
pub fn offered(question: &Question, columns: usize) -> String {
    question.key_lines(columns.saturating_sub(4)).join("\n")
}

#[cfg(test)]
mod tests {
    use zdx_protocol::display::approval::{Answer, Key, QuestionLine};
    use zdx_protocol::display::diff::LineKind;

    use super::*;

    #[test]
    fn lines_are_coloured_by_what_they_are_and_keys_come_apart() {
        let line = |part, text: &str| QuestionLine { part, text: text.to_owned() };
        let question = Question {
            lines: vec![line(Part::Diff(LineKind::Add), "+new"), line(Part::Command, "make")],
            keys: vec![Key { key: 'y', label: "yes, once", answer: Answer::AllowOnce }],
            default: Answer::AllowOnce,
        };
        assert_eq!(dressed(&question, Style { colour: true }), "\x1b[32m+new\x1b[0m\nmake\n");
        assert_eq!(offered(&question, 80), "[y] yes, once (Enter)");
    }
}
