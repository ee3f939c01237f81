//! Which files commands changed in a session. Nobody kept what was there before; that they did is told by a file's time, which
//! falls into one that a command ran. Found by a bounded look at the tree; touches nothing.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use zdx_protocol::Record;
use zdx_protocol::record::ToolUseOrigin;
use zdx_protocol::transcript::{Entries, Entry};

use super::left::{TICK, ran, was_run};
use zdx_store::{SessionId, SessionStore};
use zdx_tools::changed_since;
use zdx_workspace::Workspace;

/// Files that were last changed while a command ran, sorted. One that somebody else changed in that very moment is among
/// them, one that was changed again since is not.
pub(crate) fn by_commands(store: &SessionStore, id: SessionId, workspace: &Workspace) -> Vec<PathBuf> {
    let mut times = Times::default();
    if store.scan(id, |record| times.note(record)).is_err() {
        return Vec::new();
    }
    let Some(first) = times.ran.iter().map(|(from, _)| *from).min() else { return Vec::new() };
    // Where the folder is one that zdx keeps its own files in.
    let base = store.dir().parent().unwrap_or(store.dir());
    let found = changed_since(workspace, first).files.into_iter();
    let theirs = found.filter(|(path, when)| times.hold(*when) && !path.starts_with(base));
    let mut files: Vec<PathBuf> = theirs.map(|(path, _)| path).collect();
    files.sort_unstable();
    files
}

/// When commands ran, from and to.
#[derive(Default)]
struct Times {
    entries: Entries,
    ran: Vec<(Timestamp, Timestamp)>,
}

impl Times {
    fn note(&mut self, record: Record) {
        let ts = record.ts();
        self.entries.read(record);
        while let Some(entry) = self.entries.next() {
            let took = match &entry {
                Entry::Ran { shell, .. } if ran(&entry) => shell.duration_ms,
                Entry::Result { result, .. } => match result.origin {
                    ToolUseOrigin::Model if ran(&entry) => result.duration_ms,
                    ToolUseOrigin::Check if was_run(&result.output) => result.duration_ms,
                    // What another agent does itself need be no command.
                    _ => None,
                },
                _ => None,
            };
            if let Some((ended, took)) = ts.zip(took) {
                let took = SignedDuration::from_millis(i64::try_from(took).unwrap_or(i64::MAX));
                let from = ended.checked_sub(took).and_then(|from| from.checked_sub(TICK));
                self.ran.push((from.unwrap_or(ended), ended.checked_add(TICK).unwrap_or(ended)));
            }
        }
    }

    fn hold(&self, when: Timestamp) -> bool {
        self.ran.iter().any(|(from, to)| (*from..=*to).contains(&when))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zdx_protocol::{ToolCode, ToolOutput, record};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_time_is_a_commands_while_it_ran() {
        let mut times = Times::default();
        let mut call = |name: &str, end: i64, output: ToolOutput| {
            let (id, input) = (format!("{name}{end}"), json!({}));
            let ts = at(end - 60);
            let asked = record::ToolUse::new(&id, name, input, ts);
            let ended = record::ToolResult {
                duration_ms: Some(5_000),
                ..record::ToolResult::new(id, output, at(end))
            };
            times.note(Record::ToolUse(asked));
            times.note(Record::ToolResult(ended));
        };
        call("bash", 1_000, ToolOutput::Ok(json!({"exit_code": 1})));
        call("write", 2_000, ToolOutput::Ok(json!({})));
        call("bash", 3_000, ToolOutput::error(ToolCode::Denied, "no"));
        let held: Vec<bool> = [990, 996, 1_000, 1_001, 1_999, 2_999].map(|when| times.hold(at(when))).into();
        assert_eq!(held, [false, true, true, false, false, false]);
    }
}
