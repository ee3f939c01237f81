//! The same as a document to be read: prompts and answers as they were written, a line for each call.

use jiff::tz::TimeZone;
use serde_json::Value;

use super::{text, when};
use crate::content::AttachedContent;
use crate::display::titles;
use crate::path_text;
use crate::record::{Meta, ToolResult, ToolUse, ToolUseOrigin};
use crate::transcript::Entry;
use crate::typeset::plain;

/// What an entry adds to the document; nothing for what a reader need not see.
pub fn markdown(entry: &Entry, zone: &TimeZone) -> String {
    plain(&words(entry, zone)).into_owned()
}

fn words(entry: &Entry, zone: &TimeZone) -> String {
    match entry {
        Entry::Meta(meta) => header(meta, zone),
        Entry::Prompt { text } => format!("\n## Prompt\n\n> {}\n", text.trim_end().replace('\n', "\n> ")),
        Entry::Said { text, .. } if text.trim().is_empty() => String::new(),
        Entry::Said { text, .. } => format!("\n{}\n\n", text.trim_end()),
        Entry::Ran { text, .. } => fenced(text),
        Entry::Attached { content } => {
            format!("- attached {}\n", code(&AttachedContent::new(content.clone()).label))
        }
        Entry::Call(_) => String::new(),
        Entry::Result { call, result } => called(call.as_ref(), result),
        Entry::Todos(items) => items.iter().map(|item| format!("- {item}\n")).collect(),
        Entry::Reverted(_)
        | Entry::Redone(_)
        | Entry::Interrupted
        | Entry::Agent(_)
        | Entry::Remote(_)
        | Entry::Compacted(_)
        | Entry::Cut(_)
        | Entry::Pruned(_)
        | Entry::Model(_)
        | Entry::Error(_)
        | Entry::Noted(_)
        | Entry::Approval(_) => {
            let words = text(entry, zone);
            if words.trim().is_empty() { String::new() } else { format!("- {}\n", words.trim()) }
        }
        Entry::Reminder { .. }
        | Entry::Thought(_)
        | Entry::Checked(_)
        | Entry::Asked(_)
        | Entry::Ended(_)
        | Entry::FileChanged(_)
        | Entry::FileChangeIntended(_)
        | Entry::FileChangeDropped(_)
        | Entry::Revoked(_)
        | Entry::FolderAdded(_)
        | Entry::Preset(_)
        | Entry::Usage(_)
        | Entry::Unknown(_) => String::new(),
    }
}

fn header(meta: &Meta, zone: &TimeZone) -> String {
    let root = meta.root.as_deref().map(|root| format!(" · {}", code(&path_text::shown(root))));
    let model = meta.model.as_deref().map(|model| format!(" · {model}"));
    let about: String = root.into_iter().chain(model).collect();
    format!("# Session {}\n\n{}{about}\n", meta.id.as_deref().unwrap_or("?"), when(meta.ts, zone))
}

/// ``- Ran `cargo test` · exit 0``.
fn called(call: Option<&ToolUse>, result: &ToolResult) -> String {
    let by = match result.origin {
        ToolUseOrigin::Model => "",
        ToolUseOrigin::Remote => "Remote: ",
        ToolUseOrigin::Check => "Check: ",
    };
    let (name, input) = call.map_or(("tool", &Value::Null), |call| (call.name.as_str(), &call.input));
    let (title, ended) = (titles::title(name, input, None), titles::ended(name, &result.output));
    let verb = if ended.undone { title.plain } else { title.done };
    let ends = [Some(ended.words), ended.message].into_iter().flatten().filter(|end| !end.is_empty());
    let ends: String = ends.map(|end| format!(" · {end}")).collect();
    format!("- {by}{verb} {}{ends}\n", code(&title.subject))
}

/// Between more backticks than it holds.
fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let gap = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{gap}{text}{gap}{ticks}")
}

fn fenced(text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("\n{fence}\n{}\n{fence}\n\n", text.trim_end())
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::code::ToolCode;
    use crate::tool::ToolOutput;

    #[test]
    fn a_call_is_a_line_whatever_it_is_about() {
        let call = |command: &str, output: ToolOutput| {
            let ts = crate::record::now();
            let call = ToolUse::new("a", "bash", json!({"command": command}), ts);
            let result = ToolResult::new("a", output, ts);
            markdown(&Entry::Result { call: Some(call), result }, &TimeZone::UTC)
        };
        let done = ToolOutput::Ok(json!({"exit_code": 0, "stdout": "a\nb\n"}));
        assert_eq!(call("make\ntest", done.clone()), "- Ran `make ⏎ test` · exit 0\n");
        assert_eq!(call("echo `date`", done), "- Ran `` echo `date` `` · exit 0\n");
        let no = ToolOutput::error(ToolCode::Rejected, "the user said no");
        assert_eq!(call("rm x", no), "- Run `rm x` · denied · the user said no\n");
        let said = Entry::Said { text: "# Fi\x1b[2Jne\n".into(), partial: false, continues: false };
        assert_eq!(markdown(&said, &TimeZone::UTC), "\n# Fine\n\n");
    }
}
