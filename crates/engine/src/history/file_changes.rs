//! Changes of files, folded from a session's records and compared with the disk. Answers which files differ from what
//! tools left, what the model of a resumed session has seen, what a revert leaves behind, and what `/files` lists.
//! Touches nothing.
//!
//! Changes by tools are recorded. Nobody records what commands change: their changes are found by the times of files, in
//! a bounded look at the tree. Putting files back (`revert`) stays apart, because it writes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use zdx_protocol::compare::LineDiff;
use zdx_protocol::display::format::path_from;
use zdx_protocol::facts::{self, READ, Touches};
use zdx_protocol::query::{ChangedFile, FileNow, FilesChanged};
use zdx_protocol::record::ToolUseOrigin;
use zdx_protocol::transcript::{Entries, Entry, Turns};
use zdx_protocol::{
    FileChange, FileState, LeftBehind, Packed, Part, Record, ToolCode, ToolOutput, Transcript, path_text,
    record,
};
use zdx_store::{SessionId, SessionStore};
use zdx_tools::{ChangedFiles, changed_since};
use zdx_workspace::{BlobStore, ContentVersion, Workspace, read_as};

use super::revert::{read, target};

/// Limits on comparing files with the disk; nothing is said of the rest.
const BUDGET: Duration = Duration::from_millis(500);
const MOST: usize = 500;
/// Files named in a sentence.
const NAMED: usize = 5;
/// Files named as left behind by a revert.
const NAMED_LEFT: usize = 20;
/// Files that were read and are recalled as seen.
const RECALLED: usize = 200;
/// Time for counting the lines of all files.
const PATIENCE: Duration = Duration::from_secs(1);
/// A file's time is that of the last tick of the kernel's clock.
const TICK: SignedDuration = SignedDuration::from_millis(10);

/// Files that are something else now than tools left.
pub(crate) type OvertakenFiles = Vec<(PathBuf, FileNow)>;

/// Returns the change of each file from before the session, as far back as can be reverted, to what tools left.
pub(crate) fn net_changes(transcript: &Transcript) -> Vec<FileChange> {
    let undo = (1..=transcript.turns).find_map(|turn| transcript.undo_since(turn)).unwrap_or_default();
    undo.into_iter().map(|undo| undo.change.inverse()).collect()
}

/// Compares changed files with the disk, as far as the limits allow.
pub(crate) fn overtaken(changes: &[FileChange], workspace: &Workspace) -> OvertakenFiles {
    let until = Instant::now() + BUDGET;
    let looked = changes.iter().take(MOST).take_while(|_| Instant::now() < until);
    looked.filter_map(|change| Some((change.path.clone(), compare(change, workspace)?))).collect()
}

/// None where the file is what tools left, or where that cannot be told.
fn compare(change: &FileChange, workspace: &Workspace) -> Option<FileNow> {
    let left = ContentVersion::of_state(change.after.as_ref())?;
    if change.before == change.after {
        return None;
    }
    match version_now(&change.path, workspace)? {
        now if now == left => None,
        now if Some(now) == ContentVersion::of_state(change.before.as_ref()) => Some(FileNow::AsBefore),
        ContentVersion::ABSENT => Some(FileNow::Gone),
        _ => Some(FileNow::Changed),
    }
}

fn version_now(path: &Path, workspace: &Workspace) -> Option<ContentVersion> {
    let content = read(workspace, &target(path, workspace)?).ok()?;
    Some(ContentVersion::of(content.as_deref()))
}

/// Fills the ledger of a resumed session with what its records tell: what tools left, and what the model read whole.
pub(crate) fn recall(transcript: &Transcript, workspace: &Workspace) {
    let ledger = workspace.ledger();
    for FileChange { path, after, .. } in net_changes(transcript).into_iter().take(MOST) {
        if let Some(left) = ContentVersion::of_state(after.as_ref()) {
            ledger.note_possibly_seen(path, left);
        }
    }
    let (mut results, mut read) = (HashMap::new(), HashSet::new());
    let parts = transcript.messages().iter().rev().flat_map(|message| message.parts.iter().rev());
    for part in parts {
        match part {
            Part::ToolResult { tool_use_id, output, .. } => {
                results.insert(tool_use_id.as_str(), output);
            }
            Part::ToolUse { id, name, .. } if READ.is(name) && read.len() < RECALLED => {
                let shown = results.remove(id.as_str()).map(Packed::<ToolOutput>::unpack);
                // The last look at a file is the one that counts.
                if let Some((path, version)) = shown.and_then(read_version)
                    && read.insert(path.clone())
                    && let Some(version) = version
                {
                    ledger.note_possibly_seen(path, version);
                }
            }
            Part::ToolUse { .. } | Part::Content(_) | Part::Reasoning(_) => {}
        }
    }
}

/// The file that was read, and its version if all of it was shown and nothing in it masked.
fn read_version(output: ToolOutput) -> Option<(PathBuf, Option<ContentVersion>)> {
    let ToolOutput::Ok(data) = output else { return None };
    let (path, content) = (data["path"].as_str()?, data["content"].as_str()?);
    let whole = data["bytes"] == content.len() && data["lossy"].is_null();
    Some((path_text::decode(path), whole.then(|| ContentVersion::of(Some(content.as_bytes())))))
}

/// Names overtaken files for a user who resumes the session: `2 files changed since: a.rs, b.rs`.
pub(crate) fn summary(files: &[(PathBuf, FileNow)], root: &Path) -> Option<String> {
    let (count, names) = (files.len(), named(files, root, |_| ""));
    match count {
        0 => None,
        1 => Some(format!("1 file changed since: {names}")),
        count => Some(format!("{count} files changed since: {names}")),
    }
}

/// The same for the model.
pub(crate) fn reminder(files: &[(PathBuf, FileNow)], root: &Path) -> Option<String> {
    let note = |now| match now {
        FileNow::AsBefore => " (as it was before your changes)",
        FileNow::Gone => " (it is gone)",
        FileNow::Changed => "",
    };
    (!files.is_empty()).then(|| {
        let names = named(files, root, note);
        format!(
            "Since you last worked here, somebody else changed files that you had changed: {names}. What you remember of \
             them may be wrong: read them again before you rely on it."
        )
    })
}

fn named(files: &[(PathBuf, FileNow)], root: &Path, note: impl Fn(FileNow) -> &'static str) -> String {
    let name = |(path, now): &(PathBuf, FileNow)| format!("{}{}", path_from(path, Some(root)), note(*now));
    let mut names: Vec<String> = files.iter().take(NAMED).map(name).collect();
    if files.len() > NAMED {
        names.push(format!("and {} more", files.len() - NAMED));
    }
    names.join(", ")
}

/// Returns the answer to `/files`. `saved` is where the session's records are, if it has any.
pub(crate) fn report(
    changes: &[FileChange],
    saved: Option<(&SessionStore, SessionId)>,
    workspace: &Workspace,
) -> FilesChanged {
    let mut files = count_lines(changes, saved.map(|(store, id)| store.blobs(id)).as_ref());
    for (path, now) in overtaken(changes, workspace) {
        let file = files.iter_mut().find(|file| file.change.path == path);
        file.into_iter().for_each(|file| file.now = Some(now));
    }
    let by_command = saved.and_then(|(store, id)| {
        let history = FileHistory::read(store, id)?;
        let first = history.command_times.iter().map(|(from, _)| *from).min()?;
        let found = files_since(first, store, workspace).files.into_iter();
        let found = found.filter(|(_, when)| history.is_while_command_ran(*when)).map(|(path, _)| path);
        Some(found.filter(|path| !changes.iter().any(|change| change.path == *path)).collect())
    });
    FilesChanged { root: workspace.root().to_owned(), files, by_command: by_command.unwrap_or_default() }
}

fn count_lines(changes: &[FileChange], blobs: Option<&BlobStore>) -> Vec<ChangedFile> {
    let deadline = Instant::now() + PATIENCE;
    let counted = |change: &FileChange| {
        let text = |state: &Option<FileState>| match state {
            None => Some(Vec::new()),
            Some(state) => content(state, &change.path, blobs?),
        };
        let in_time = Instant::now() < deadline;
        let texts = in_time.then(|| text(&change.before).zip(text(&change.after))).flatten();
        let lines = texts.map(|(before, after)| LineDiff::new(&before, &after, Some(deadline)).counts());
        ChangedFile { change: change.clone(), lines, now: None }
    };
    changes.iter().map(counted).collect()
}

/// As it was kept, or as it still lies there.
fn content(state: &FileState, path: &Path, blobs: &BlobStore) -> Option<Vec<u8>> {
    let hash = state.sha256.as_deref()?;
    blobs.get(hash).or_else(|_| read_as(path, hash)).ok()
}

/// Returns what commands did in the turns from this one on; a revert leaves that, as nobody kept what was there before.
pub fn left_behind(
    store: &SessionStore,
    id: SessionId,
    turn: u32,
    workspace: &Workspace,
) -> Option<LeftBehind> {
    let history = FileHistory::read(store, id)?;
    let turns = (turn..=history.turns.count()).filter_map(|turn| history.turns.get(turn));
    let turns: Vec<&TurnChanges> = turns.collect();
    let (at, began) = (turns.first()?.at, turns.first()?.began?);
    let commands = turns.iter().any(|turn| turn.commands);
    let ours: HashSet<&PathBuf> = turns.iter().flat_map(|turn| &turn.changed).collect();
    // After a change the work may have been checked, and no record tells of that.
    if !commands && ours.is_empty() {
        return Some(LeftBehind::default());
    }
    let found = files_since(began.checked_sub(TICK).unwrap_or(began), store, workspace);
    let mut files: Vec<PathBuf> = found.files.into_iter().map(|(path, _)| path).collect();
    files.retain(|path| !ours.contains(path) && !history.is_as_before(path, at, workspace));
    let shown =
        |path: &PathBuf| path_text::shown(path.strip_prefix(workspace.root()).unwrap_or(path)).into_owned();
    Some(LeftBehind {
        commands,
        more: u32::try_from(files.len().saturating_sub(NAMED_LEFT)).unwrap_or(u32::MAX),
        files: files.iter().take(NAMED_LEFT).map(shown).collect(),
        incomplete: found.incomplete,
    })
}

/// Files that changed since then, sorted, without those that zdx keeps for itself where the folder holds them.
fn files_since(since: Timestamp, store: &SessionStore, workspace: &Workspace) -> ChangedFiles {
    let own = store.dir().parent().unwrap_or(store.dir());
    let mut found = changed_since(workspace, since);
    found.files.retain(|(path, _)| !path.starts_with(own));
    found.files.sort_unstable();
    found
}

/// Changes of files as the records of a session tell them.
#[derive(Default)]
struct FileHistory {
    entries: Entries,
    turns: Turns<TurnChanges>,
    /// Number of entries so far.
    now: usize,
    /// Recorded changes with the number of their entry, in reverted turns too: to revert a file is to write it anew.
    changes: HashMap<PathBuf, Vec<(usize, FileChange)>>,
    /// Entries that tell of a program which may have changed any file.
    programs: Vec<usize>,
    /// Times from and to which commands ran.
    command_times: Vec<(Timestamp, Timestamp)>,
}

#[derive(Default)]
struct TurnChanges {
    began: Option<Timestamp>,
    /// The number of its first entry.
    at: usize,
    commands: bool,
    /// Files that tools changed.
    changed: Vec<PathBuf>,
}

impl FileHistory {
    fn read(store: &SessionStore, id: SessionId) -> Option<Self> {
        let mut history = Self::default();
        store.scan(id, |record| history.note(record)).ok()?;
        // No record follows: what broke off stays so.
        history.entries.end();
        history.drain(None, None);
        Some(history)
    }

    fn note(&mut self, record: Record) {
        let ts = record.ts();
        let said = ts.filter(|_| matches!(record, Record::Message(_)));
        self.entries.read(record);
        self.drain(ts, said);
    }

    fn drain(&mut self, ts: Option<Timestamp>, said: Option<Timestamp>) {
        while let Some(entry) = self.entries.next() {
            self.now += 1;
            let at = self.now;
            self.turns.fold(&entry, || TurnChanges { began: said, at, ..TurnChanges::default() });
            self.note_program(&entry, ts);
            self.note_changes(entry);
        }
    }

    fn note_program(&mut self, entry: &Entry, ended: Option<Timestamp>) {
        let is_program = ran_program(entry);
        if is_program {
            self.programs.push(self.now);
            self.turns.last_mut().into_iter().for_each(|turn| turn.commands = true);
        }
        let took = match entry {
            Entry::Ran { shell, .. } if is_program => shell.duration_ms,
            Entry::Result { result, .. } => match result.origin {
                ToolUseOrigin::Model if is_program => result.duration_ms,
                ToolUseOrigin::Check if was_run(&result.output) => result.duration_ms,
                ToolUseOrigin::Model | ToolUseOrigin::Check | ToolUseOrigin::Remote => None,
            },
            // A call that another agent runs itself need not be a command.
            _ => None,
        };
        if let Some((ended, took)) = ended.zip(took) {
            let took = SignedDuration::from_millis(i64::try_from(took).unwrap_or(i64::MAX));
            let from = ended.checked_sub(took).and_then(|from| from.checked_sub(TICK));
            self.command_times.push((from.unwrap_or(ended), ended.checked_add(TICK).unwrap_or(ended)));
        }
    }

    fn note_changes(&mut self, entry: Entry) {
        let files = match entry {
            // Of an intent that nothing followed yet it is unknown: what it names is no command's doing either way.
            Entry::FileChanged(change) | Entry::FileChangeIntended(change) => {
                let path = || change.change.path.clone();
                self.turns.last_mut().into_iter().for_each(|turn| turn.changed.push(path()));
                vec![change.change]
            }
            Entry::Reverted(record::Revert { files, .. }) | Entry::Redone(record::Redo { files, .. }) => {
                files
            }
            _ => return,
        };
        for change in files {
            self.changes.entry(change.path.clone()).or_default().push((self.now, change));
        }
    }

    /// Whether a file holds what it held at that entry, as far as that is known: what zdx had left there by then, or what
    /// it found there afterwards if no program had run in between.
    fn is_as_before(&self, path: &Path, at: usize, workspace: &Workspace) -> bool {
        let Some(changes) = self.changes.get(path) else { return false };
        let earlier = changes.iter().rev().find(|(when, _)| *when < at).map(|(_, change)| &change.after);
        let then = earlier.or_else(|| {
            let (when, change) = changes.first()?;
            let ran = self.programs.iter().any(|ran| (at..*when).contains(ran));
            (!ran).then_some(&change.before)
        });
        let then = then.and_then(|state| ContentVersion::of_state(state.as_ref()));
        then.is_some_and(|then| version_now(path, workspace) == Some(then))
    }

    /// A file that somebody else changed in that very moment counts as a command's, one that was changed again since does
    /// not.
    fn is_while_command_ran(&self, when: Timestamp) -> bool {
        self.command_times.iter().any(|(from, to)| (*from..=*to).contains(&when))
    }
}

/// Whether an entry tells of a program that ran and may have changed any file.
fn ran_program(entry: &Entry) -> bool {
    match entry {
        Entry::Ran { shell, .. } => !matches!(shell.end, record::ShellEnd::NotRun { .. }),
        Entry::Result { call, result } => match result.origin {
            ToolUseOrigin::Model => {
                let name = call.as_ref().map(|call| call.name.as_str());
                // An agent may have wanted much and been refused all of it.
                let task = result.beside.as_ref().and_then(|beside| beside.task);
                let refused = task.is_some_and(|task| task.denied >= task.calls);
                name.is_none_or(runs_programs) && was_run(&result.output) && !refused
            }
            // Nobody here saw what it did.
            ToolUseOrigin::Remote => was_run(&result.output),
            ToolUseOrigin::Check => false,
        },
        _ => false,
    }
}

/// Changes by our tools are recorded, but not those of commands and of agents that run some; of other tools nothing is known.
fn runs_programs(tool: &str) -> bool {
    facts::facts(tool)
        .is_none_or(|facts| matches!(facts.touches, Touches::Runs(_)) || facts.name == facts::TASK.name)
}

/// False for a call that was refused or made no sense.
fn was_run(output: &ToolOutput) -> bool {
    match output {
        ToolOutput::Ok(_) => true,
        ToolOutput::Err(error) => matches!(
            error.code,
            ToolCode::Interrupted | ToolCode::TaskFailed | ToolCode::ExecError | ToolCode::Timeout
        ),
    }
}

#[cfg(test)]
mod tests;
