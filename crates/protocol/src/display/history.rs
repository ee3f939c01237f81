//! A past session as text (`sessions show`, an export): what was said and done, in the order it happened.
//! Takes one entry at a time, so that a session of any length needs no memory.

mod markdown;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::context::PrunedTotals;
use super::{context, details, labels, plain};
use crate::path_text;
use crate::record::{ApprovalRecord, Meta};
use crate::transcript::Entry;

pub use markdown::markdown;

/// Only an absurd line is cut: whoever reads this may search it.
const COLUMNS: usize = 1_000;

/// The lines of one entry, newlines included and safe to print; nothing for what a reader need not see.
/// When it began is told by the clock of whoever reads it.
pub fn text(entry: &Entry, zone: &TimeZone) -> String {
    plain(&words(entry, zone)).into_owned()
}

fn paragraph(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{}\n", text.trim_end_matches('\n')) }
}

fn words(entry: &Entry, zone: &TimeZone) -> String {
    match entry {
        Entry::Meta(meta) => header(meta, zone),
        Entry::Prompt { text } => format!("\n> {}\n\n", text.trim_end().replace('\n', "\n> ")),
        Entry::Attached { content } => paragraph(&content.text()),
        Entry::Said { text, .. } | Entry::Ran { text, .. } => paragraph(text),
        Entry::Call(call) => {
            format!("{}\n", labels::tool_requested(&call.name, &call.input))
        }
        Entry::Result { call, result } => {
            let (name, input) =
                call.as_ref().map_or(("tool", &Value::Null), |call| (call.name.as_str(), &call.input));
            let lines = details(name, input, &result.output, result.diff.as_deref(), COLUMNS);
            let below: String = lines.iter().map(|line| format!("  {}\n", line.text)).collect();
            let images: String =
                result.content.iter().map(|content| format!("  {}\n", content.text())).collect();
            format!("{}\n{below}{images}", labels::tool_finished(name, &result.output))
        }
        Entry::Todos(items) => items.iter().map(|item| format!("{item}\n")).collect(),
        Entry::Reverted(revert) => {
            format!("{}\n", labels::reverted(revert.turn, &revert.files, revert.left.as_ref(), None))
        }
        Entry::Redone(_) => "the revert was taken back\n".to_owned(),
        Entry::Interrupted => "interrupted\n".to_owned(),
        Entry::Agent(agent) => format!("agent: {agent}\n"),
        Entry::Remote(remote) => format!("answered by {}\n", remote.agent),
        Entry::Compacted(compaction) => format!("{}\n", context::compacted(compaction)),
        Entry::Cut(cut) => format!("{}\n", context::cut(&cut.cuts)),
        Entry::Pruned(prune) => {
            format!("{}\n", context::pruned(PrunedTotals::new(&prune.calls, &prune.images, prune.bytes)))
        }
        Entry::Model(model) => format!("model: {model}\n"),
        Entry::Checked(checked) => format!("{}\n", labels::checked(checked).1),
        Entry::Noted(noted) => format!("{}\n", noted.message),
        Entry::Error(error) => format!("error: {}\n", error.message),
        Entry::Approval(ApprovalRecord { by: Some(by), .. }) => format!("allowed by {by}\n"),
        Entry::Approval(ApprovalRecord { by: None, .. }) => String::new(),
        Entry::Reminder { .. }
        | Entry::Thought(_)
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

/// `session 550e… · 2026-01-01 00:00 · /home/u/p · lab/m`.
fn header(meta: &Meta, zone: &TimeZone) -> String {
    let root = meta.root.as_deref().map(|root| format!(" · {}", path_text::shown(root))).unwrap_or_default();
    let model = meta.model.as_deref().map(|model| format!(" · {model}")).unwrap_or_default();
    format!("session {} · {}{root}{model}\n", meta.id.as_deref().unwrap_or("?"), when(meta.ts, zone))
}

fn when(ts: Timestamp, zone: &TimeZone) -> String {
    ts.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conversation::Role;
    use crate::record::{self, Message, Record, ToolResult, ToolUse, now};
    use crate::tool::ToolOutput;
    use crate::transcript::Entries;

    #[test]
    fn when_it_began_is_told_by_the_readers_clock() {
        let ts = "2026-01-01T22:04:05.120Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(when(ts, &zone), "2026-01-02 00:04");
    }

    #[test]
    fn a_session_reads_as_it_went_without_what_was_for_the_model_alone() {
        let ts = now();
        let said = |role, text: &str| Record::Message(Message::new(role, text, ts));
        let call = ToolUse::new("a", "bash", json!({"command": "ls"}), ts);
        let done = |id: &str| {
            let output = ToolOutput::Ok(json!({"exit_code": 0, "stdout": "a.txt\n"}));
            ToolResult::new(id, output, ts)
        };
        let hidden = Message { hidden: true, ..Message::new(Role::User, "keep a list", ts) };
        let records = [
            said(Role::System, "a file\n"),
            Record::Message(hidden),
            said(Role::User, "one\ntwo\n"),
            Record::ToolUse(call),
            Record::ToolResult(done("a")),
            Record::ToolResult(done("a")),
            said(Role::Assistant, ""),
            said(Role::Assistant, "red \u{1b}[31mhot\n\n"),
            Record::Interrupted(record::Interrupted::at(ts)),
        ];
        let mut entries = Entries::default();
        records.into_iter().for_each(|record| entries.read(record));
        entries.end();
        let told: String =
            std::iter::from_fn(|| entries.next()).map(|entry| text(&entry, &TimeZone::UTC)).collect();
        assert_eq!(
            told,
            "a file\n\n> one\n> two\n\nTool requested: bash command=\"ls\"\nTool finished: bash exit=0\n  \
             a.txt\nTool finished: tool exit_code=0 stdout=\"a.txt\\n\"\nred hot\ninterrupted\n"
        );
    }
}
