//! Settles changes that a killed process had announced and did not come to call done: what lies on the disk tells whether
//! they happened. Touches nothing but empty folders that were made for a file that did not come.

use zdx_protocol::{FileChange, FileState, Record, Transcript, record};

use super::revert::{state, target};
use zdx_workspace::Workspace;
use zdx_workspace::leftover_files::remove_empty_folders;

/// Outcome of announced changes.
#[derive(Debug, Default)]
pub struct SettledIntents {
    /// To be saved; the transcript has them already.
    pub records: Vec<Record>,
    /// For the user, a line each.
    pub notices: Vec<String>,
}

/// Decides every open intent of a session that no process works on.
pub fn settle_intents(transcript: &mut Transcript, workspace: &Workspace) -> SettledIntents {
    let mut settled = SettledIntents::default();
    let last = transcript.last;
    for intent in transcript.open_intents().to_vec() {
        let ts = record::now();
        let path = intent.change.path.display().to_string();
        let call = intent.tool_use_id;
        let (record, became) = match outcome(&intent.change, workspace) {
            IntentOutcome::Happened(change) => {
                (Record::Change(record::Change::new(&call, &change, ts)), "it was made")
            }
            IntentOutcome::Dropped => {
                remove_empty_folders(intent.change.own_folders());
                (Record::ChangeDropped(record::Change::new(&call, &intent.change, ts)), "it was not made")
            }
            IntentOutcome::Unknown => (
                Record::ChangeDropped(record::Change::new(&call, &intent.change, ts)),
                "it was not made, or the file was changed since",
            ),
            // As if it had happened: a revert then refuses to touch what somebody else left there.
            IntentOutcome::Foreign => {
                (Record::Change(record::Change::new(&call, &intent.change, ts)), "the file was changed since")
            }
        };
        settled.notices.push(format!("zdx was ended while it changed {path}: {became}"));
        transcript.absorb(record.clone());
        settled.records.push(record);
    }
    // What is put right now was not said now.
    transcript.last = last;
    settled
}

enum IntentOutcome {
    /// With the file as it is.
    Happened(Box<FileChange>),
    Dropped,
    /// The file is in neither state.
    Foreign,
    /// Nobody knows what the file held before. That was not kept either, so there is nothing that a revert could do here.
    Unknown,
}

fn outcome(intent: &FileChange, workspace: &Workspace) -> IntentOutcome {
    let found = target(&intent.path, workspace).and_then(|target| state(workspace, &target).ok());
    let Some(now) = found else { return IntentOutcome::Foreign };
    let is_unknown = intent.before.as_ref().is_some_and(|before| before.sha256.is_none());
    let is = |state: &Option<FileState>| FileState::same_content(now.as_ref(), state.as_ref());
    // Where only the mode was to change, the content says nothing.
    let only_mode = FileState::same_content(intent.before.as_ref(), intent.after.as_ref());
    match (is(&intent.after), is(&intent.before)) {
        (true, _) if !only_mode || now == intent.after => {
            IntentOutcome::Happened(Box::new(FileChange { after: now, ..intent.clone() }))
        }
        (_, true) => IntentOutcome::Dropped,
        (_, false) if is_unknown => IntentOutcome::Unknown,
        (_, false) => IntentOutcome::Foreign,
    }
}

#[cfg(test)]
mod tests;
