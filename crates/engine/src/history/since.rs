//! What became of the files that tools changed: whoever comes back to a session, and its model, must not take for granted
//! that they are as they were left. Looks, and touches nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use zdx_protocol::display::format::path_from;
use zdx_protocol::facts::READ;
use zdx_protocol::query::FileNow;
use zdx_protocol::{FileChange, FileState, Packed, Part, ToolOutput, Transcript, path_text};

use super::revert::{look, target};
use zdx_workspace::ContentVersion;
use zdx_workspace::workspace::Workspace;

/// How long may be looked, and at how many files; of the rest nothing is said.
const BUDGET: Duration = Duration::from_millis(500);
const MOST: usize = 500;
/// Of names in a sentence.
const NAMED: usize = 5;
/// Of files that were read.
const RECALLED: usize = 200;

/// Files, and what became of them.
pub(crate) type Since = Vec<(PathBuf, FileNow)>;

/// From what each file was before the session, as far back as it can be gone, to what tools left.
pub(crate) fn files_changed(transcript: &Transcript) -> Vec<FileChange> {
    let undo = (1..=transcript.turns).find_map(|turn| transcript.undo_since(turn)).unwrap_or_default();
    undo.into_iter().map(|undo| undo.change.inverse()).collect()
}

/// Those that are something else now than what tools left, as far as could be looked.
pub(crate) fn since(files: &[FileChange], workspace: &Workspace) -> Since {
    let until = Instant::now() + BUDGET;
    let looked = files.iter().take(MOST).take_while(|_| Instant::now() < until);
    looked.filter_map(|file| Some((file.path.clone(), differs(file, workspace)?))).collect()
}

/// What the model of a resumed session knows of files, as far as its records tell: what tools left, and what it read whole.
pub(crate) fn recall(transcript: &Transcript, workspace: &Workspace) {
    let ledger = workspace.ledger();
    for FileChange { path, after, .. } in files_changed(transcript).into_iter().take(MOST) {
        if let Some(left) = ContentVersion::of_state(after.as_ref()) {
            ledger.note_possibly_seen(path, left);
        }
    }
    let (mut results, mut read) = (HashMap::new(), HashSet::new());
    let parts = transcript.messages().iter().rev().flat_map(|message| message.parts.iter().rev());
    for part in parts {
        match part {
            Part::ToolResult { tool_use_id, output } => drop(results.insert(tool_use_id.as_str(), output)),
            Part::ToolUse { id, name, .. } if READ.is(name) && read.len() < RECALLED => {
                let shown = results.remove(id.as_str()).map(Packed::<ToolOutput>::unpack);
                // The last look at a file is the one that counts.
                if let Some((path, seen)) = shown.and_then(read_of)
                    && read.insert(path.clone())
                    && let Some(seen) = seen
                {
                    ledger.note_possibly_seen(path, seen);
                }
            }
            Part::ToolUse { .. } | Part::Text(_) | Part::Reasoning(_) => {}
        }
    }
}

/// The file that was read, and what it held if all of it was shown and nothing in it masked.
fn read_of(output: ToolOutput) -> Option<(PathBuf, Option<ContentVersion>)> {
    let ToolOutput::Ok(data) = output else { return None };
    let (path, content) = (data["path"].as_str()?, data["content"].as_str()?);
    let whole = data["bytes"] == content.len() && data["lossy"].is_null();
    Some((path_text::decode(path), whole.then(|| ContentVersion::of(Some(content.as_bytes())))))
}

fn differs(file: &FileChange, workspace: &Workspace) -> Option<FileNow> {
    // What was never read cannot be compared.
    if file.after.as_ref().is_some_and(|after| after.sha256.is_none()) || file.before == file.after {
        return None;
    }
    let found = look(workspace, &target(&file.path, workspace)?).ok()?;
    let found = found.map(|(state, _)| state);
    match found.as_ref() {
        now if FileState::same_content(now, file.after.as_ref()) => None,
        now if FileState::same_content(now, file.before.as_ref()) => Some(FileNow::AsBefore),
        None => Some(FileNow::Gone),
        Some(_) => Some(FileNow::Changed),
    }
}

/// `2 files changed since: a.rs, b.rs`, for whoever comes back.
pub(crate) fn words(changed: &[(PathBuf, FileNow)], root: &Path) -> Option<String> {
    let (count, names) = (changed.len(), named(changed, root, |_| ""));
    match count {
        0 => None,
        1 => Some(format!("1 file changed since: {names}")),
        count => Some(format!("{count} files changed since: {names}")),
    }
}

/// The same for the model.
pub(crate) fn reminder(changed: &[(PathBuf, FileNow)], root: &Path) -> Option<String> {
    let what = |now| match now {
        FileNow::AsBefore => " (as it was before your changes)",
        FileNow::Gone => " (it is gone)",
        FileNow::Changed => "",
    };
    (!changed.is_empty()).then(|| {
        let names = named(changed, root, what);
        format!(
            "Since you last worked here, somebody else changed files that you had changed: {names}. What you remember of \
             them may be wrong: read them again before you rely on it."
        )
    })
}

fn named(changed: &[(PathBuf, FileNow)], root: &Path, what: impl Fn(FileNow) -> &'static str) -> String {
    let name = |(path, now): &(PathBuf, FileNow)| format!("{}{}", path_from(path, Some(root)), what(*now));
    let mut names: Vec<String> = changed.iter().take(NAMED).map(name).collect();
    if changed.len() > NAMED {
        names.push(format!("and {} more", changed.len() - NAMED));
    }
    names.join(", ")
}
