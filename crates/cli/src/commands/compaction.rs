//! `zdx sessions compaction`: for each time a session was pruned or compacted, what left the context and what stayed.

use std::collections::HashMap;

use zdx_protocol::compaction::{Author, Compaction, Trigger};
use zdx_protocol::display::format::{count, size};
use zdx_protocol::display::{context, json_safe, labels, plain};
use zdx_protocol::record::{self, Prune, ToolUseOrigin};
use zdx_protocol::transcript::Entry;
use zdx_protocol::{Record, TodoStatus};

use super::{print, warn};
use crate::args::Format;
use crate::exit::{Ending, Failure};
use crate::settings::Settings;

pub fn show(settings: &Settings, id: &str) -> Result<Ending, Failure> {
    let store = settings.sessions();
    let id = store.find(id).map_err(Failure::runtime)?;
    match settings.format {
        Format::Json => {
            let mut text = String::new();
            let add = |record: Record| {
                if matches!(record, Record::Compaction(_) | Record::Prune(_)) {
                    // What was read from a line can be written as one again.
                    let line = record.to_line().unwrap_or_default();
                    text.push_str(&json_safe(&String::from_utf8_lossy(&line)));
                }
            };
            store.scan(id, add).map_err(Failure::runtime)?;
            print(text)
        }
        Format::Text => {
            let mut account = Account::default();
            store.scan(id, |record| account.note(record.into())).map_err(Failure::runtime)?;
            warn(settings, &account.remark().into_iter().collect::<Vec<_>>());
            print(account.text)
        }
    }
}

/// What left the context, in the order it did.
#[derive(Default)]
struct Account {
    text: String,
    compactions: usize,
    prunings: usize,
    /// How the calls are called that may yet be pruned.
    calls: HashMap<String, String>,
}

impl Account {
    fn note(&mut self, entry: Entry) {
        match entry {
            Entry::Call(call) if call.origin == ToolUseOrigin::Model => {
                self.calls.insert(call.id, labels::call(&call.name, &call.input));
            }
            Entry::Pruned(prune) => {
                self.prunings += 1;
                let text = self.pruned(&prune);
                self.text.push_str(&plain(&text));
            }
            Entry::Compacted(compaction) => {
                self.compactions += 1;
                self.calls.clear();
                self.text.push_str(&plain(&describe(self.compactions, &compaction)));
            }
            Entry::Meta(_)
            | Entry::Prompt { .. }
            | Entry::Attached { .. }
            | Entry::Reminder { .. }
            | Entry::Said { .. }
            | Entry::Ran { .. }
            | Entry::Thought(_)
            | Entry::Result { .. }
            | Entry::Call(_)
            | Entry::Remote(_)
            | Entry::Cut(_)
            | Entry::Checked(_)
            | Entry::Asked(_)
            | Entry::Noted(_)
            | Entry::Ended(_)
            | Entry::Interrupted
            | Entry::Error(_)
            | Entry::Model(_)
            | Entry::Agent(_)
            | Entry::Approval(_)
            | Entry::Revoked(_)
            | Entry::FolderAdded(_)
            | Entry::Preset(_)
            | Entry::Todos(_)
            | Entry::FileChanged(_)
            | Entry::FileChangeIntended(_)
            | Entry::FileChangeDropped(_)
            | Entry::Reverted(_)
            | Entry::Redone(_)
            | Entry::Usage(_)
            | Entry::Unknown(_) => {}
        }
    }

    fn pruned(&self, prune: &Prune) -> String {
        let Prune { calls, images, bytes, ts } = prune;
        let mut text = format!("pruning {} · {}\n", self.prunings, record::written(*ts));
        text.push_str(&format!(
            "{}; the session keeps them\n",
            context::pruned(context::PrunedTotals::new(calls, images, *bytes))
        ));
        for id in calls {
            text.push_str(&format!("  {}\n", self.calls.get(id).unwrap_or(id)));
        }
        text.push('\n');
        text
    }

    fn remark(&self) -> Option<String> {
        match (self.compactions, self.prunings) {
            (0, 0) => Some("this session was never compacted: the model still sees all of it".to_owned()),
            (0, _) => Some("this session was never compacted, only pruned".to_owned()),
            _ => None,
        }
    }
}

fn describe(number: usize, compaction: &Compaction) -> String {
    let Compaction { dropped, kept, instructions, todos, files, skills, .. } = compaction;
    let why = match compaction.trigger {
        Trigger::Auto => "the context was nearly full",
        Trigger::Asked => "asked for",
        Trigger::Refused => "the server refused the request as too long",
    };
    let author = match compaction.author {
        Author::Model => "the model",
        Author::Session => "zdx, from the session itself",
    };
    let messages = usize::try_from(dropped.messages).unwrap_or(usize::MAX);
    let mut text = format!("compaction {number} · {} · {why}\n", record::written(compaction.ts));
    text.push_str(&format!("dropped {} ({})\n", count(messages, "message"), size(dropped.bytes)));
    if dropped.earlier_calls > 0 {
        text.push_str(&format!("  {} earlier calls\n", dropped.earlier_calls));
    }
    for step in &dropped.calls {
        text.push_str(&format!("  {} -> {}\n", step.call, step.outcome));
    }
    let open = todos.iter().filter(|todo| todo.status != TodoStatus::Completed).count();
    text.push_str(&format!(
        "kept {}, {} word for word, {} ({open} open), {}, {}\n",
        count(kept.len(), "message"),
        count(instructions.len(), "prompt"),
        count(todos.len(), "todo"),
        count(files.len(), "file name"),
        count(skills.len(), "skill"),
    ));
    if compaction.instructions_omitted > 0 {
        text.push_str(&format!("  {} prompts found no room\n", compaction.instructions_omitted));
    }
    for name in &compaction.skills_omitted {
        text.push_str(&format!("  the skill {name} found no room\n"));
    }
    text.push_str(&format!("summary by {author}\n"));
    for line in compaction.summary.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text.push('\n');
    text
}
