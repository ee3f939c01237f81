//! What commands did to files in turns that are taken back: nobody kept what was there before, so it stays, and is named.
//! Found by a bounded look at the tree: what changed since those turns began and is no change of a tool of ours.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use zdx_protocol::facts::{self, Touches};
use zdx_protocol::record::ToolUseOrigin;
use zdx_protocol::transcript::{Entries, Entry, Turns};
use zdx_protocol::{FileChange, FileState, LeftBehind, Record, ToolCode, ToolOutput, path_text, record};

use super::revert::{look, target};
use zdx_store::{SessionId, SessionStore};
use zdx_tools::changed_since;
use zdx_workspace::Workspace;

/// So many files are named.
const NAMED: usize = 20;
/// A file's time is that of the last tick of the kernel's clock.
pub(super) const TICK: SignedDuration = SignedDuration::from_millis(10);

/// What is left of the turns from this one on. Looks at the session's file and at the folder; touches neither.
pub fn left_behind(
    store: &SessionStore,
    id: SessionId,
    turn: u32,
    workspace: &Workspace,
) -> Option<LeftBehind> {
    let mut account = Account::default();
    store.scan(id, |record| account.note(record)).ok()?;
    account.end();
    let spans = account.since(turn);
    let began = spans.first()?.began?;
    let commands = spans.iter().any(|span| span.commands);
    let ours: HashSet<PathBuf> = spans.iter().flat_map(|span| span.changed.iter().cloned()).collect();
    // After a change the work may have been checked, and no record tells of that.
    if !commands && ours.is_empty() {
        return Some(LeftBehind::default());
    }
    let since = began.checked_sub(TICK).unwrap_or(began);
    // Where the folder is one that zdx keeps its own files in.
    let base = store.dir().parent().unwrap_or(store.dir());
    let at = spans.first().map_or(0, |span| span.at);
    let own = |path: &PathBuf| {
        ours.contains(path) || path.starts_with(base) || account.files.is_as_before(path, at, workspace)
    };
    let found = changed_since(workspace, since);
    let mut files: Vec<PathBuf> =
        found.files.into_iter().map(|(path, _)| path).filter(|path| !own(path)).collect();
    files.sort_unstable();
    let shown =
        |path: &PathBuf| path_text::shown(path.strip_prefix(workspace.root()).unwrap_or(path)).into_owned();
    Some(LeftBehind {
        commands,
        more: u32::try_from(files.len().saturating_sub(NAMED)).unwrap_or(u32::MAX),
        files: files.iter().take(NAMED).map(shown).collect(),
        incomplete: found.incomplete,
    })
}

/// What a session's records say of each turn.
#[derive(Default)]
struct Account {
    entries: Entries,
    turns: Turns<Span>,
    files: KnownFiles,
}

/// What files held at one time or another, in turns that were taken back too: to take something back is to write it anew.
#[derive(Default)]
struct KnownFiles {
    /// Entries so far.
    now: usize,
    changes: HashMap<PathBuf, Vec<(usize, FileChange)>>,
    /// When something ran that may change any file.
    ran: Vec<usize>,
}

impl KnownFiles {
    fn note(&mut self, change: &FileChange) {
        self.changes.entry(change.path.clone()).or_default().push((self.now, change.clone()));
    }

    /// Whether a file holds what it held at that time, as far as that is known: what zdx had left there by then, or what it
    /// found there afterwards if nothing had run in between.
    fn is_as_before(&self, path: &Path, at: usize, workspace: &Workspace) -> bool {
        let Some(changes) = self.changes.get(path) else { return false };
        let earlier = changes.iter().rev().find(|(when, _)| *when < at).map(|(_, change)| &change.after);
        let then = earlier.or_else(|| {
            let (when, change) = changes.first()?;
            let ran = self.ran.iter().any(|ran| (at..*when).contains(ran));
            (!ran).then_some(&change.before)
        });
        let Some((then, target)) = then.zip(target(path, workspace)) else { return false };
        let now = look(workspace, &target).ok().map(|found| found.map(|(state, _)| state));
        now.is_some_and(|now| FileState::same_content(now.as_ref(), then.as_ref()))
    }
}

#[derive(Default)]
struct Span {
    began: Option<Timestamp>,
    /// So many entries came before it.
    at: usize,
    commands: bool,
    /// By tools of ours.
    changed: Vec<PathBuf>,
}

impl Account {
    fn note(&mut self, record: Record) {
        let said = if let Record::Message(message) = &record { Some(message.ts) } else { None };
        self.entries.read(record);
        self.drain(said);
    }

    /// No record follows: what broke off stays so.
    fn end(&mut self) {
        self.entries.end();
        self.drain(None);
    }

    fn drain(&mut self, said: Option<Timestamp>) {
        while let Some(entry) = self.entries.next() {
            self.take(entry, said);
        }
    }

    fn take(&mut self, entry: Entry, said: Option<Timestamp>) {
        self.files.now += 1;
        let at = self.files.now;
        self.turns.fold(&entry, || Span { began: said, at, ..Span::default() });
        if ran(&entry) {
            self.files.ran.push(at);
            self.turns.last_mut().into_iter().for_each(|turn| turn.commands = true);
        }
        match entry {
            // Of an intent that nothing followed yet it is unknown: what it names is no command's doing either way.
            Entry::FileChanged(change) | Entry::FileChangeIntended(change) => {
                self.files.note(&change.change);
                self.turns
                    .last_mut()
                    .into_iter()
                    .for_each(|turn| turn.changed.push(change.change.path.clone()));
            }
            Entry::Reverted(record::Revert { files, .. }) | Entry::Redone(record::Redo { files, .. }) => {
                files.iter().for_each(|file| self.files.note(file));
            }
            _ => {}
        }
    }

    fn since(&self, turn: u32) -> Vec<&Span> {
        (turn..=self.turns.count()).filter_map(|turn| self.turns.get(turn)).collect()
    }
}

/// Whether something ran that may have changed any file.
pub(super) fn ran(entry: &Entry) -> bool {
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

/// What our tools do to files is recorded, but for what commands do, and agents that run some; of any other it is not known.
fn runs_programs(tool: &str) -> bool {
    facts::facts(tool)
        .is_none_or(|facts| matches!(facts.touches, Touches::Runs(_)) || facts.name == facts::TASK.name)
}

/// A call that was refused or made no sense did nothing.
pub(super) fn was_run(output: &ToolOutput) -> bool {
    match output {
        ToolOutput::Ok(_) => true,
        ToolOutput::Err(error) => matches!(
            error.code,
            ToolCode::Interrupted | ToolCode::TaskFailed | ToolCode::ExecError | ToolCode::Timeout
        ),
    }
}
