//! Changes to files that another agent shows: a whole text, or the part that will be different, which is put into the file as
//! it is so that a person sees where it goes. And what became of them: what was allowed, and what we wrote ourselves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use zdx_acp::shapes::{Call, ToolContent};
use zdx_protocol::compare::LineDiff;
use zdx_protocol::{Operation, Preview};

use super::output::cut;
use crate::acp::{Lines, text_of};
use crate::call::TurnIo;
use zdx_workspace::Workspace;

/// What comparing may take.
const COMPARING: Duration = Duration::from_millis(200);
/// Lines around what is different.
const AROUND: usize = 3;

/// One file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    named: PathBuf,
    /// What the name leads to.
    path: Option<PathBuf>,
    /// There was none before.
    old: Option<String>,
    new: String,
}

/// All that a call shows. `done`: it says that it was made.
pub(super) async fn shown(call: &Value, done: bool, io: &TurnIo) -> Vec<Change> {
    let diffs: Vec<Value> = Call::read(call)
        .content
        .into_iter()
        .filter_map(|content| match content {
            ToolContent::Diff(diff) => Some(diff),
            ToolContent::Content(_) | ToolContent::Terminal(_) | ToolContent::Unknown(_) => None,
        })
        .collect();
    if diffs.is_empty() {
        return Vec::new();
    }
    let workspace = Arc::clone(io.session.workspace());
    let read = move || diffs.iter().map(|diff| Change::read(diff, done, &workspace)).collect();
    // A file system may hang.
    tokio::task::spawn_blocking(read).await.unwrap_or_default()
}

impl Change {
    fn read(diff: &Value, done: bool, workspace: &Workspace) -> Self {
        let named = diff["path"].as_str().unwrap_or_default();
        let new = diff["newText"].as_str().unwrap_or_default().to_owned();
        let old = diff["oldText"].as_str().map(str::to_owned);
        let target = workspace.resolve(named).ok().filter(|target| target.inside);
        let file = target.as_ref().filter(|target| target.exists);
        let file = file.and_then(|target| text_of(workspace, target, Lines::of(None, None)).ok());
        let (old, new) = match (old, file) {
            (Some(old), Some(file)) => {
                placed(&file, &old, &new, done).map_or((Some(old), new), |(old, new)| (Some(old), new))
            }
            (old, _) => (old, new),
        };
        Self { named: named.into(), path: target.map(|target| target.path), old, new }
    }

    /// Line by line.
    fn diff(&self) -> String {
        let old = self.old.as_deref().unwrap_or_default();
        // Parts of lines that were found nowhere end like lines.
        let (old, new) = match self.old.is_some() && !old.ends_with('\n') && !self.new.ends_with('\n') {
            true => (format!("{old}\n"), format!("{}\n", self.new)),
            false => (old.to_owned(), self.new.clone()),
        };
        LineDiff::new(&old, &new, Some(Instant::now() + COMPARING)).unified(AROUND)
    }

    fn operation(&self) -> Operation {
        if self.old.is_some() { Operation::Updated } else { Operation::Created }
    }
}

/// The whole file before and after, where the part stands in it once; of what was made already, the new one does.
fn placed(file: &str, old: &str, new: &str, done: bool) -> Option<(String, String)> {
    let once = |part: &str| !part.is_empty() && file.matches(part).nth(1).is_none() && file.contains(part);
    let to_come = || once(old).then(|| (file.to_owned(), file.replacen(old, new, 1)));
    let made = || once(new).then(|| (file.replacen(new, old, 1), file.to_owned()));
    if done { made().or_else(to_come) } else { to_come().or_else(made) }
}

pub(super) fn diffs(changes: &[Change]) -> String {
    changes.iter().map(Change::diff).collect()
}

/// What a person is shown of what a call will do to files.
pub(super) fn preview(changes: &[Change]) -> Preview {
    match changes {
        [] => Preview::None,
        [change] => {
            let diff = change.diff();
            let count = |sign: char| diff.lines().filter(|line| line.starts_with(sign)).count();
            Preview::Change {
                path: change.named.clone(),
                operation: change.operation(),
                additions: count('+'),
                deletions: count('-'),
                diff: cut(&diff),
            }
        }
        several => Preview::Text { text: cut(&diffs(several)) },
    }
}

/// What became of changes in a turn.
#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    /// What files may become that a person was shown in a permission and said yes to: the agent that then has us write them
    /// need not be asked about again, once, if it is that text.
    allowed: Vec<(PathBuf, String)>,
    /// What we wrote for the agent, and told of.
    written: Vec<(PathBuf, String)>,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn allow(&self, changes: &[Change]) {
        let new = changes.iter().filter_map(|change| Some((change.path.clone()?, change.new.clone())));
        self.lock().allowed.extend(new);
    }

    pub(super) fn take(&self, path: &Path, text: &str) -> bool {
        let all = &mut self.lock().allowed;
        let found = all.iter().position(|(allowed, new)| allowed == path && new == text);
        found.map(|at| all.swap_remove(at)).is_some()
    }

    pub(super) fn wrote(&self, path: PathBuf, text: &str) {
        self.lock().written.push((path, text.to_owned()));
    }

    /// All of it is known from a call of our own.
    pub(super) fn has_written(&self, changes: &[Change]) -> bool {
        let written = &self.lock().written;
        let known = |change: &Change| {
            written.iter().any(|(path, text)| change.path.as_ref() == Some(path) && *text == change.new)
        };
        !changes.is_empty() && changes.iter().all(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(file: &str, old: &str, new: &str, done: bool) -> Change {
        let (old, new) = placed(file, old, new, done).unwrap_or_else(|| (old.to_owned(), new.to_owned()));
        Change { named: "a.py".into(), path: None, old: Some(old), new }
    }

    #[test]
    fn a_part_is_shown_where_it_stands_in_the_file_before_and_after() {
        let (before, after) = ("a\nb\nold\nc\n", "a\nb\nnew\nc\n");
        let shown = "@@ -1,4 +1,4 @@\n a\n b\n-old\n+new\n c\n";
        assert_eq!(change(before, "old", "new", false).diff(), shown);
        assert_eq!(change(after, "old", "new", true).diff(), shown);
        // What comes to hold what was there is not put in twice.
        let longer = change("# shop\nx\n", "# shop", "# shop\nmore", false);
        assert_eq!(longer.diff(), "@@ -1,2 +1,3 @@\n # shop\n+more\n x\n");
        assert_eq!(change("# shop\nmore\nx\n", "# shop", "# shop\nmore", true).diff(), longer.diff());
    }

    #[test]
    fn a_part_that_stands_nowhere_or_twice_is_shown_by_itself_without_a_remark() {
        let alone = "@@ -1 +1 @@\n-old\n+new\n";
        assert_eq!(change("nothing of it\n", "old", "new", false).diff(), alone);
        assert_eq!(change("old\nold\n", "old", "new", false).diff(), alone);
        assert_eq!(change("", "", "new", false).diff(), "@@ -1 +1 @@\n-\n+new\n");
    }

    #[test]
    fn only_the_text_that_was_shown_is_allowed_and_only_once() {
        let ledger = Ledger::default();
        let change = Change { path: Some("/w/a.py".into()), ..change("x old y\n", "old", "new", false) };
        ledger.allow(std::slice::from_ref(&change));
        assert!(!ledger.take(Path::new("/w/a.py"), "new"));
        assert!(!ledger.take(Path::new("/w/b.py"), "x new y\n"));
        assert!(ledger.take(Path::new("/w/a.py"), "x new y\n"));
        assert!(!ledger.take(Path::new("/w/a.py"), "x new y\n"));
        assert!(!ledger.has_written(std::slice::from_ref(&change)));
        ledger.wrote("/w/a.py".into(), "x new y\n");
        assert!(ledger.has_written(&[change]));
        assert!(!ledger.has_written(&[]));
    }
}
