use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use zdx_protocol::redact::Redactor;
use zdx_protocol::{Event, Transcript};

use super::*;
use crate::event_sink::EventSink;
use crate::history::revert::{RevertError, RevertPlan, Way};
use zdx_store::{ResumedSession, SessionId, SessionStore};
use zdx_workspace::{BlobStore, Checkpoints, KEPT};

type Tree = BTreeMap<String, String>;

fn tree(root: &Path) -> Tree {
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    entries.map(|path| (name(&path), fs::read_to_string(path).unwrap())).collect()
}

fn put(root: &Path, tree: &Tree) {
    for entry in fs::read_dir(root).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    tree.iter().for_each(|(name, content)| fs::write(root.join(name), content).unwrap());
}

/// A saved session with one turn, and its folder.
struct Place {
    dir: tempfile::TempDir,
    store: SessionStore,
    id: SessionId,
    emit: EventSink,
    events: mpsc::Receiver<Event>,
    journal: Arc<Checkpoints>,
    workspace: Workspace,
}

impl Place {
    async fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir(&root).unwrap();
        files.iter().for_each(|(name, content)| fs::write(root.join(name), content).unwrap());
        let store = SessionStore::new(dir.path().join("sessions"));
        let id = SessionId::random();
        let (events_in, events) = mpsc::channel(64);
        let redactor = Arc::new(Redactor::new([""; 0]).unwrap());
        let emit = EventSink::new(store.create(id), Transcript::default(), redactor, events_in, None);
        let journal = Arc::new(Checkpoints::new(store.blobs(id)));
        journal.record_to(emit.recorder());
        journal.begin_call("c1");
        let workspace = Workspace::open(&root).unwrap().with_journal(Arc::clone(&journal));
        let place = Self { dir, store, id, emit, events, journal, workspace };
        place.emit.emit(Event::TurnStarted { turn: 1, prompt: "go".to_owned() }).await;
        place
    }

    fn root(&self) -> &Path {
        self.workspace.root()
    }

    fn write(&self, name: &str, content: &str) {
        let target = self.workspace.resolve(name).unwrap();
        self.workspace.replace(&target, content.as_bytes()).unwrap();
    }

    fn remove(&self, name: &str) {
        let target = self.workspace.resolve(name).unwrap();
        self.workspace.set_aside(&target).unwrap().discard();
    }

    fn log(&self) -> Vec<u8> {
        fs::read(self.store.dir().join(format!("{}.jsonl", self.id))).unwrap()
    }

    /// The plan of `zdx sessions revert` for these first bytes of the log.
    fn plan(&self, log: &[u8], copy: &SessionStore) -> Result<RevertPlan, RevertError> {
        fs::create_dir_all(copy.dir()).unwrap();
        fs::write(copy.dir().join(format!("{}.jsonl", self.id)), log).unwrap();
        let ResumedSession { mut log, mut transcript, .. } = copy.open(self.id).unwrap();
        let settled = settle_intents(&mut transcript, &self.outside());
        settled.records.iter().for_each(|record| drop(log.append(record)));
        drop(log);
        let again = copy.read(self.id).unwrap().transcript;
        assert!(again.open_intents().is_empty(), "what was settled is saved");
        RevertPlan::new(&transcript, Way::Back(None))
    }

    fn outside(&self) -> Workspace {
        Workspace::open(self.root()).unwrap()
    }

    fn blobs(&self) -> BlobStore {
        self.store.blobs(self.id)
    }
}

/// The files that are to be put back, by name.
fn files(event: &Event) -> BTreeSet<String> {
    let Event::Reverted { files, .. } = event else { panic!("{event:?}") };
    files.iter().map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

fn kind(line: &[u8]) -> String {
    let value: serde_json::Value = serde_json::from_slice(line).unwrap();
    value["type"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_log_cut_at_any_byte_loses_no_change_that_it_announced() {
    let place = Place::new(&[("a", "a0"), ("gone", "old")]).await;
    let mut states = vec![tree(place.root())];
    let steps = [("a", Some("a1")), ("gone", None), ("new", Some("n1")), ("a", Some("a0"))];
    for (name, content) in steps {
        match content {
            Some(content) => place.write(name, content),
            None => place.remove(name),
        }
        states.push(tree(place.root()));
    }
    let log = place.log();
    let copy = SessionStore::new(place.dir.path().join("copy"));
    let mut carried_out = BTreeSet::new();
    for cut in 0..=log.len() {
        let whole: Vec<String> = log[..cut]
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| serde_json::from_slice::<serde_json::Value>(line).is_ok())
            .map(kind)
            .collect();
        let made = whole.iter().filter(|kind| *kind == "change").count();
        let announced = whole.iter().filter(|kind| *kind == "change_intent").count();
        // Before the announcement is whole nothing is touched; behind it the file may be in either state.
        for state in made..=announced {
            put(place.root(), &states[state]);
            let plan = match place.plan(&log[..cut], &copy) {
                Ok(plan) => plan,
                Err(RevertError::NoTurn) if state == 0 => continue,
                Err(other) => panic!("at {cut}: {other}"),
            };
            let event = plan.check(&place.outside(), &place.blobs()).unwrap();
            let names: BTreeSet<&String> = states[state].keys().chain(states[0].keys()).collect();
            let differ = |name: &&String| states[state].get(*name) != states[0].get(*name);
            assert_eq!(files(&event), names.into_iter().filter(differ).cloned().collect(), "at {cut}");
            // Putting files back costs time: once for each way things can stand is enough.
            if carried_out.insert((whole.len(), state)) {
                plan.carry_out(&place.outside(), &place.blobs()).unwrap();
                assert_eq!(tree(place.root()), states[0], "at {cut}");
            }
        }
    }
    assert!(carried_out.len() > 3 * steps.len());
}

#[tokio::test]
async fn a_change_that_did_not_happen_is_saved_as_such() {
    let place = Place::new(&[("a", "a0")]).await;
    let target = place.workspace.resolve("a").unwrap();
    drop(place.workspace.set_aside(&target).unwrap());
    let kinds: Vec<String> = place.log().split_inclusive(|byte| *byte == b'\n').map(kind).collect();
    assert_eq!(kinds, ["meta", "message", "change_intent", "change_dropped"]);
    assert!(place.emit.transcript().open_intents().is_empty());
    assert!(place.journal.take().0.is_empty());
}

#[tokio::test]
async fn a_file_in_neither_state_is_somebody_elses_and_refuses_the_revert() {
    let place = Place::new(&[("a", "a0")]).await;
    place.write("a", "a1");
    let log = place.log();
    let end = log.len() - 1;
    let last = log[..end].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    assert_eq!(kind(&log[last..]), "change");
    fs::write(place.root().join("a"), "by hand").unwrap();
    let copy = SessionStore::new(place.dir.path().join("copy"));
    let plan = place.plan(&log[..last], &copy).unwrap();
    let error = plan.carry_out(&place.outside(), &place.blobs()).unwrap_err();
    assert!(matches!(error, RevertError::Conflicts { .. }), "{error}");
    assert_eq!(fs::read_to_string(place.root().join("a")).unwrap(), "by hand");
}

#[tokio::test]
async fn a_file_that_was_deleted_comes_back_with_its_set_user_bit_and_owner() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new(&[("own", "x")]).await;
    let mode =
        |mode| fs::set_permissions(place.root().join("own"), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o4750);
    place.remove("own");
    let log = String::from_utf8(place.log()).unwrap();
    assert!(log.contains("\"access\":{\"uid\":"), "{log}");
    let copy = SessionStore::new(place.dir.path().join("copy"));
    let now = |log: &str| {
        let _ = fs::remove_file(place.root().join("own"));
        let plan = place.plan(log.as_bytes(), &copy).unwrap();
        plan.carry_out(&place.outside(), &place.blobs()).unwrap();
        fs::metadata(place.root().join("own")).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!(now(&log), 0o4750);
    // As an earlier zdx saved it.
    let start = log.find(",\"access\"").unwrap();
    let access = &log[start..=start + log[start..].find('}').unwrap()];
    assert_eq!(now(&log.replace(access, "")), 0o750);
}

#[tokio::test]
async fn folders_made_for_a_file_that_did_not_come_are_removed() {
    let place = Place::new(&[]).await;
    place.write("a/b/c", "new");
    let log = String::from_utf8(place.log()).unwrap();
    let killed = &log[..log.trim_end().rfind('\n').unwrap() + 1];
    fs::remove_file(place.root().join("a/b/c")).unwrap();
    let copy = SessionStore::new(place.dir.path().join("copy"));
    place.plan(killed.as_bytes(), &copy).unwrap();
    assert!(!place.root().join("a").exists());
}

#[tokio::test]
async fn a_file_too_large_to_be_kept_that_was_not_changed_stands_in_no_way() {
    let place = Place::new(&[("a", "a0"), ("large", &"x".repeat(usize::try_from(KEPT).unwrap() + 1))]).await;
    let start = tree(place.root());
    place.write("a", "a1");
    let after_a = tree(place.root());
    place.write("large", "small");
    let log = String::from_utf8(place.log()).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    let (last, intents) = lines.split_last().unwrap();
    assert_eq!(kind(last.as_bytes()), "change");
    let mut announced: serde_json::Value = serde_json::from_str(intents.last().unwrap()).unwrap();
    assert!(announced["before"]["sha256"].is_string(), "{announced}");
    let killed = format!("{}\n", intents.join("\n"));
    // An earlier zdx did not save what was there before.
    announced["before"].as_object_mut().unwrap().remove("sha256");
    let earlier = format!("{}\n{announced}\n", intents[..intents.len() - 1].join("\n"));
    for log in [killed, earlier] {
        put(place.root(), &after_a);
        let copy = SessionStore::new(place.dir.path().join("copy"));
        let plan = place.plan(log.as_bytes(), &copy).unwrap();
        plan.carry_out(&place.outside(), &place.blobs()).unwrap();
        assert!(tree(place.root()) == start);
    }
}

/// A task may run for long: what its agent does must not wait for its end.
#[tokio::test]
async fn a_change_for_another_session_is_in_both_logs_at_once_and_told_once() {
    let mut place = Place::new(&[("a", "a0")]).await;
    let child = SessionId::random();
    let below =
        Checkpoints::below(Arc::clone(&place.journal), "task".to_owned(), Some(place.store.blobs(child)));
    let below = Arc::new(below);
    let (events_in, _events) = mpsc::channel(8);
    let redactor = Arc::new(Redactor::new([""; 0]).unwrap());
    let emit = EventSink::new(place.store.create(child), Transcript::default(), redactor, events_in, None);
    below.record_to(emit.recorder());
    below.begin_call("own");
    emit.emit(Event::TurnStarted { turn: 1, prompt: "work".to_owned() }).await;
    let workspace = Workspace::open(place.root()).unwrap().with_journal(Arc::clone(&below));
    workspace.replace(&workspace.resolve("a").unwrap(), b"a1").unwrap();
    for (id, call) in [(place.id, "task"), (child, "own")] {
        let log = fs::read_to_string(place.store.dir().join(format!("{id}.jsonl"))).unwrap();
        let calls: Vec<_> = log.lines().filter(|line| line.contains("change")).collect();
        assert_eq!(calls.len(), 2, "{log}");
        assert!(calls.iter().all(|line| line.contains(&format!("\"tool_use_id\":\"{call}\""))), "{log}");
    }
    let (made, _) = place.journal.take();
    assert_eq!(made.iter().map(|made| made.owner.as_deref()).collect::<Vec<_>>(), [Some("task")]);
    assert!(made[0].recorded);
    place.emit.tell(Event::FileChanged { id: "task".to_owned(), change: made[0].change.clone() }).await;
    let lines = place.log().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    assert_eq!(lines, 4, "telling it saves nothing more");
    let mut told = 0;
    while let Ok(event) = place.events.try_recv() {
        told += usize::from(matches!(event, Event::FileChanged { .. }));
    }
    assert_eq!(told, 1);
    drop(emit);
    // A session that is over: its journal may outlive it in a thread that is late.
    workspace.replace(&workspace.resolve("a").unwrap(), b"a2").unwrap();
    assert_eq!(below.take().0.iter().map(|made| made.recorded).collect::<Vec<_>>(), [true, false]);
}
