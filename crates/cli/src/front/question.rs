//! An approval as a person reads it: exactly what would happen, why it is asked, and what may be answered.

use std::fmt::Write;

use zdx_protocol::display::visible;
use zdx_protocol::{ApprovalRequest, Danger, Preview};

use crate::style::Style;

/// A diff longer than this is looked at in an editor, not in a question.
const DIFF_LINES: usize = 60;

pub fn question(request: &ApprovalRequest, style: Style) -> String {
    let mut text = String::new();
    let tool = visible(&request.tool);
    // Writing into a string cannot fail.
    let _ = match &request.preview {
        Preview::Command { command } => writeln!(text, "{tool} wants to run:\n{}", indented(command)),
        Preview::Change { path, operation, additions, deletions, diff } => {
            let path = visible(&path.display().to_string());
            let verb = match operation.as_str() {
                "created" => "create",
                "updated" => "change",
                _ => "touch",
            };
            writeln!(
                text,
                "{tool} wants to {verb} {path} (+{additions} −{deletions}):{}",
                coloured(diff, style)
            )
        }
        Preview::Text { text: what } => writeln!(text, "{tool} wants to go on:\n{}", indented(what)),
        Preview::None => writeln!(text, "{tool} wants to run"),
    };
    let _ = match &request.reason.rule {
        Some(rule) => writeln!(text, "why: {} ({})", visible(&request.reason.message), visible(rule)),
        None => writeln!(text, "why: {}", visible(&request.reason.message)),
    };
    let _ = match grant(request) {
        Some(grant) => {
            write!(text, "[y] once  [a] always `{}`  [n] no  [e] no, with a word: ", visible(grant))
        }
        None => write!(text, "[y] once  [n] no  [e] no, with a word: "),
    };
    text
}

/// What "always" would grant, if it may be granted at all.
pub fn grant(request: &ApprovalRequest) -> Option<&str> {
    match request.danger {
        Danger::Ask => request.grant.as_deref(),
        Danger::Confirm => None,
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {}", visible(line))).collect::<Vec<_>>().join("\n")
}

fn coloured(diff: &str, style: Style) -> String {
    let mut text = String::new();
    for line in diff.lines().take(DIFF_LINES) {
        let clean = visible(line);
        let line = match line.as_bytes().first() {
            Some(b'+') => style.green(&clean),
            Some(b'-') => style.red(&clean),
            _ => clean.as_str().into(),
        };
        text.push_str("\n  ");
        text.push_str(&line);
    }
    let left = diff.lines().count().saturating_sub(DIFF_LINES);
    if left > 0 {
        let _ = write!(text, "\n  … {left} more lines");
    }
    text
}

#[cfg(test)]
mod tests {
    use zdx_protocol::{Action, Reason, RequestId};

    use super::*;

    fn request(preview: Preview, danger: Danger) -> ApprovalRequest {
        ApprovalRequest {
            request: RequestId(1),
            id: "call".into(),
            tool: "bash".into(),
            action: Action::Todo,
            preview,
            danger,
            reason: Reason { code: "ask".into(), message: "it changes files".into(), rule: None },
            grant: Some("cargo test".into()),
        }
    }

    #[test]
    fn a_command_is_shown_with_its_control_characters() {
        let command = Preview::Command { command: "echo \x1b[2J\nrm x".into() };
        let text = question(&request(command.clone(), Danger::Ask), Style::default());
        assert!(!text.contains('\x1b'), "{text:?}");
        assert!(text.contains("\n  rm x\nwhy: it changes files\n"), "{text:?}");
        assert!(text.contains("[a] always `cargo test`"), "{text:?}");
        let text = question(&request(command, Danger::Confirm), Style::default());
        assert!(!text.contains("always"), "{text:?}");
    }

    #[test]
    fn a_change_shows_its_diff_and_no_more_than_fits() {
        let diff = "-old\n+new\n".to_owned() + &" same\n".repeat(100);
        let change = Preview::Change {
            path: "a.rs".into(),
            operation: "updated".into(),
            additions: 1,
            deletions: 1,
            diff,
        };
        let text = question(&request(change, Danger::Ask), Style { colour: true });
        assert!(
            text.starts_with("bash wants to change a.rs (+1 −1):\n  \x1b[31m-old\x1b[0m\n  \x1b[32m+new")
        );
        assert!(text.contains("… 42 more lines"), "{text}");
    }
}
