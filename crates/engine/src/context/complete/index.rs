//! The files of the workspace by name (file index), read on threads of their own when somebody first asks. What is ignored or hidden
//! stays out. Answers with what it has: nobody waits for a large tree.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder, WalkState};

use zdx_workspace::ignore_files::readable_ignore_files;

/// More entries than this are not kept, and no longer than this is looked.
const MOST_ENTRIES: usize = 200_000;
const LONGEST_LOOK: Duration = Duration::from_secs(2);
/// The first answer comes after this at the latest, once there is anything to answer with.
const EARLY: Duration = Duration::from_millis(100);
/// Looked through again when it is older than this, and than so many times as long as looking took.
const FRESH: Duration = Duration::from_secs(2);
const WORTH: u32 = 20;
/// Paths that are handed over at a time.
const CHUNK: usize = 1_024;
const MOST_THREADS: usize = 4;

/// Relative paths, a folder's with a `/` at its end.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    text: String,
    ends: Vec<u32>,
}

impl Chunk {
    fn push(&mut self, path: &str, is_dir: bool) {
        self.text.push_str(path);
        if is_dir {
            self.text.push('/');
        }
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start as usize..*end as usize])
    }
}

#[derive(Debug)]
pub(super) struct FileIndex {
    root: PathBuf,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The last look that came to its end.
    ready: Option<Look>,
    /// Of the look under way.
    growing: Vec<Arc<Chunk>>,
    looking: bool,
}

#[derive(Debug)]
struct Look {
    chunks: Vec<Arc<Chunk>>,
    ended: Instant,
    took: Duration,
}

/// What is known, and whether that is all there will be: of a tree that is too large or too slow, no more is ever looked at.
pub(super) struct Known {
    pub chunks: Vec<Arc<Chunk>>,
    pub whole: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileIndex {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, shared: Arc::default() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// What there is; waits at most `patience`, and not when the question is `stale` by now.
    pub(super) fn known(&self, patience: Duration, stale: &dyn Fn() -> bool) -> Known {
        let began = Instant::now();
        let mut state = self.shared.state();
        if !state.looking && state.ready.as_ref().is_none_or(Look::is_old) {
            state.looking = self.look();
        }
        loop {
            if let Some(look) = &state.ready {
                return Known { chunks: look.chunks.clone(), whole: true };
            }
            let most = if state.growing.is_empty() { patience } else { patience.min(EARLY) };
            let left = most.saturating_sub(began.elapsed());
            if left.is_zero() || !state.looking || stale() {
                return Known { chunks: state.growing.clone(), whole: false };
            }
            let waited = self.shared.grown.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Somebody asks something else: those who wait look up.
    pub(super) fn wake(&self) {
        self.shared.grown.notify_all();
    }

    /// Begins to look through the tree; whether that could be begun.
    fn look(&self) -> bool {
        let (root, shared) = (self.root.clone(), Arc::clone(&self.shared));
        let work = move || {
            let began = Instant::now();
            walk(&root, &shared);
            let mut state = shared.state();
            let chunks = std::mem::take(&mut state.growing);
            state.ready = Some(Look { chunks, ended: Instant::now(), took: began.elapsed() });
            state.looking = false;
            drop(state);
            shared.grown.notify_all();
        };
        std::thread::Builder::new().name("files".to_owned()).spawn(work).is_ok()
    }
}

impl Look {
    fn is_old(&self) -> bool {
        self.ended.elapsed() > FRESH.max(self.took * WORTH)
    }
}

fn walk(root: &Path, shared: &Shared) {
    if !readable_ignore_files(root) {
        return;
    }
    let (until, seen) = (Instant::now() + LONGEST_LOOK, AtomicUsize::new(0));
    builder(root).build_parallel().run(|| {
        let seen = &seen;
        let mut batch = Batch { shared, chunk: Chunk::default() };
        Box::new(move |entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            if seen.fetch_add(1, Ordering::Relaxed) > MOST_ENTRIES || Instant::now() > until {
                return WalkState::Quit;
            }
            if entry.depth() > 0 {
                batch.note(root, &entry);
            }
            WalkState::Continue
        })
    });
}

fn builder(root: &Path) -> WalkBuilder {
    let in_repository = root.ancestors().any(|folder| folder.join(".git").exists());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let mut builder = WalkBuilder::new(root);
    builder
        .follow_links(false)
        .threads(threads)
        .current_dir(root)
        // Up to the repository's root and no farther: a home folder may well ignore everything below it.
        .require_git(in_repository)
        .parents(in_repository)
        .filter_entry(|entry| {
            let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || !folder || readable_ignore_files(entry.path())
        });
    builder
}

/// What one thread found, handed over when it is enough or the thread is done.
struct Batch<'a> {
    shared: &'a Shared,
    chunk: Chunk,
}

impl Batch<'_> {
    fn note(&mut self, root: &Path, entry: &DirEntry) {
        let Some(path) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else { return };
        if path.contains(char::is_control) {
            return;
        }
        let kind = entry.file_type();
        let is_dir = match kind {
            Some(kind) if kind.is_symlink() => entry.path().is_dir(),
            Some(kind) => kind.is_dir(),
            None => false,
        };
        self.chunk.push(path, is_dir);
        if self.chunk.ends.len() == CHUNK {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        if self.chunk.ends.is_empty() {
            return;
        }
        self.shared.state().growing.push(Arc::new(std::mem::take(&mut self.chunk)));
        self.shared.grown.notify_all();
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.hand_over();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn paths(known: &Known) -> Vec<String> {
        let mut paths: Vec<String> =
            known.chunks.iter().flat_map(|chunk| chunk.iter()).map(str::to_owned).collect();
        paths.sort();
        paths
    }

    #[test]
    fn what_is_ignored_or_hidden_stays_out_and_links_lead_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir_all(root.join("target/debug")).unwrap();
        fs::create_dir_all(root.join(".hidden")).unwrap();
        for file in
            ["src/main.rs", "src/deep/中文.md", "target/debug/zdx", ".hidden/x", "note.log", "bad\nname"]
        {
            fs::write(root.join(file), "").unwrap();
        }
        fs::write(root.join(".gitignore"), "target\n*.log\n").unwrap();
        std::os::unix::fs::symlink(dir.path(), root.join("up")).unwrap();
        let index = FileIndex::new(root);
        // A busy machine may take longer than anybody waits.
        let mut looks = (0..20).map(|_| index.known(LONGEST_LOOK, &|| false));
        let known = looks.find(|known| known.whole).expect("a look at all of it");
        assert_eq!(paths(&known), ["src/", "src/deep/", "src/deep/中文.md", "src/main.rs", "up/"]);
    }

    #[test]
    fn an_old_look_answers_at_once_and_is_renewed_behind() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("one"), "").unwrap();
        let index = FileIndex::new(dir.path().to_owned());
        assert_eq!(paths(&index.known(LONGEST_LOOK, &|| false)), ["one"]);
        fs::write(dir.path().join("two"), "").unwrap();
        assert_eq!(paths(&index.known(LONGEST_LOOK, &|| false)), ["one"]);
        if let Some(look) = &mut index.shared.state().ready {
            look.ended -= FRESH * 2;
            look.took = Duration::ZERO;
        }
        assert_eq!(paths(&index.known(LONGEST_LOOK, &|| false)), ["one"]);
        let mut state = index.shared.state();
        while state.looking {
            state = index.shared.grown.wait(state).unwrap();
        }
        drop(state);
        assert_eq!(paths(&index.known(LONGEST_LOOK, &|| false)), ["one", "two"]);
    }

    #[test]
    fn a_look_under_way_answers_early_and_a_stale_question_does_not_wait() {
        let index = FileIndex::new("/nowhere".into());
        index.shared.state().looking = true;
        let began = Instant::now();
        let known = index.known(LONGEST_LOOK, &|| true);
        assert!(!known.whole && known.chunks.is_empty());
        let mut chunk = Chunk::default();
        chunk.push("early", false);
        index.shared.state().growing.push(Arc::new(chunk));
        let known = index.known(LONGEST_LOOK, &|| false);
        assert_eq!((known.whole, paths(&known)), (false, vec!["early".to_owned()]));
        assert!(began.elapsed() < LONGEST_LOOK);
    }
}
