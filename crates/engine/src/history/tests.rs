use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zdx_protocol::record::{self, Record};
use zdx_protocol::{Event, Role, Transcript};

use super::revert::{Conflict, RevertError, RevertPlan, Way, Why};
use zdx_workspace::Workspace;
use zdx_workspace::{BlobStore, Checkpoints, ContentHash, KEPT, MadeChange};

struct Place {
    dir: tempfile::TempDir,
    transcript: Transcript,
    journal: Arc<Checkpoints>,
    workspace: Workspace,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        let journal = Arc::new(Checkpoints::new(BlobStore::new(dir.path().join("blobs"))));
        let workspace = Workspace::open(&dir.path().join("root")).unwrap();
        let workspace = workspace.with_journal(Arc::clone(&journal));
        Self { dir, transcript: Transcript::default(), journal, workspace }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.root().join(name)
    }

    fn put(&self, name: &str, content: &str, mode: u32) {
        fs::write(self.path(name), content).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn has(&self, name: &str) -> Option<(String, u32)> {
        let content = fs::read_to_string(self.path(name)).ok()?;
        Some((content, self.path(name).metadata().unwrap().permissions().mode() & 0o7777))
    }

    fn turn(&mut self) {
        let message = record::Message::new(Role::User, "go on", record::now());
        self.transcript.apply(&Record::Message(message));
    }

    /// As a turn does after each call.
    fn save(&mut self) {
        for MadeChange { owner, change, .. } in self.journal.take().0 {
            let event = Event::FileChanged { id: owner.unwrap_or_else(|| "c".to_owned()), change };
            self.transcript.apply(&event.record(record::now()).unwrap());
        }
    }

    fn write(&mut self, name: &str, content: &str) {
        let target = self.workspace.resolve(name).unwrap();
        self.workspace.replace(&target, content.as_bytes()).unwrap();
        self.save();
    }

    fn remove(&mut self, name: &str) {
        let target = self.workspace.resolve(name).unwrap();
        self.workspace.set_aside(&target).unwrap().discard();
        self.save();
    }

    fn go(&mut self, way: Way) -> Result<(), RevertError> {
        let plan = RevertPlan::new(&self.transcript, way)?;
        let outside = Workspace::open(self.workspace.root()).unwrap();
        let event = plan.carry_out(&outside, self.journal.blobs().unwrap())?;
        self.transcript.apply(&event.record(record::now()).unwrap());
        Ok(())
    }
}

fn conflicts(result: Result<(), RevertError>) -> Vec<Conflict> {
    match result {
        Err(RevertError::Conflicts { files, .. }) => files,
        other => panic!("{other:?}"),
    }
}

#[test]
fn back_and_forth_byte_for_byte_and_mode_for_mode() {
    let mut place = Place::new();
    place.put("script", "#!/bin/sh\n", 0o751);
    place.put("gone", "\u{feff}old\r\n", 0o600);
    let names = ["script", "gone", "new/deep/file", "new/other"];
    let all = |place: &Place| names.map(|name| place.has(name));
    let start = all(&place);
    place.turn();
    place.write("script", "#!/bin/sh\ntrue\n");
    let first = all(&place);
    place.turn();
    place.write("script", "");
    place.write("new/deep/file", "x");
    place.write("new/other", "y");
    place.remove("gone");
    // What a command did to the mode is no other content.
    fs::set_permissions(place.path("new/other"), fs::Permissions::from_mode(0o777)).unwrap();
    let last = all(&place);

    place.go(Way::Back(None)).unwrap();
    assert_eq!(all(&place), first);
    assert!(!place.path("new").exists(), "folders go with what they were made for");
    place.go(Way::Back(Some(1))).unwrap();
    assert_eq!(all(&place), start);
    place.go(Way::Forth).unwrap();
    assert_eq!(all(&place), first);
    place.go(Way::Forth).unwrap();
    assert_eq!(all(&place), last);
    assert!(matches!(place.go(Way::Forth), Err(RevertError::NothingToRedo)));
}

#[test]
fn nothing_is_touched_when_somebody_else_was_there() {
    let mut place = Place::new();
    place.put("a", "0", 0o644);
    place.turn();
    place.write("a", "1");
    place.write("b", "1");
    place.write("c", "1");
    place.put("b", "by hand", 0o644);
    let result = place.go(Way::Back(None));
    assert_eq!(conflicts(result), [Conflict { path: place.path("b"), why: Why::ChangedSince }]);
    assert_eq!((place.has("a").unwrap().0, place.has("c").unwrap().0), ("1".to_owned(), "1".to_owned()));
    place.put("b", "1", 0o644);
    place.go(Way::Back(None)).unwrap();
    assert_eq!((place.has("a").unwrap().0, place.has("b")), ("0".to_owned(), None));

    place.put("b", "mine", 0o644);
    let result = place.go(Way::Forth);
    assert_eq!(conflicts(result), [Conflict { path: place.path("b"), why: Why::ChangedSince }]);
    assert_eq!(place.has("a").unwrap().0, "0");
}

#[test]
fn a_change_by_hand_between_two_of_ours_is_not_lost() {
    let mut place = Place::new();
    place.turn();
    place.write("a", "1");
    place.put("a", "by hand", 0o644);
    place.turn();
    place.write("a", "2");
    let result = place.go(Way::Back(Some(1)));
    assert_eq!(conflicts(result), [Conflict { path: place.path("a"), why: Why::ChangedBetween }]);
    place.go(Way::Back(Some(2))).unwrap();
    assert_eq!(place.has("a").unwrap().0, "by hand");
}

#[test]
fn what_was_not_kept_is_not_touched() {
    let mut place = Place::new();
    place.put("large", &"x".repeat(usize::try_from(KEPT).unwrap() + 1), 0o644);
    place.turn();
    place.write("large", "small");
    let result = place.go(Way::Back(None));
    assert_eq!(conflicts(result), [Conflict { path: place.path("large"), why: Why::NotKept }]);

    place.turn();
    place.write("large", "smaller");
    let kept = place.dir.path().join("blobs").join(ContentHash::of(b"small").to_hex());
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(kept, "SMALL").unwrap();
    let result = place.go(Way::Back(None));
    assert_eq!(conflicts(result), [Conflict { path: place.path("large"), why: Why::NotKept }]);
    assert_eq!(place.has("large").unwrap().0, "smaller");
}

#[test]
fn a_link_that_came_since_is_not_followed() {
    let mut place = Place::new();
    place.turn();
    place.write("sub/file", "ours");
    let elsewhere = place.dir.path().join("elsewhere");
    fs::rename(place.path("sub"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.path("sub")).unwrap();
    let result = place.go(Way::Back(None));
    assert_eq!(conflicts(result), [Conflict { path: place.path("sub/file"), why: Why::ChangedSince }]);
    assert!(elsewhere.join("file").exists());
}

#[test]
fn a_step_that_fails_takes_the_others_back() {
    let mut place = Place::new();
    fs::create_dir(place.path("locked")).unwrap();
    place.put("a", "0", 0o644);
    place.turn();
    place.write("locked/file", "1");
    place.write("a", "1");
    let lock = |mode| fs::set_permissions(place.path("locked"), fs::Permissions::from_mode(mode)).unwrap();
    lock(0o555);
    // Whoever may write anywhere cannot be locked out.
    let barred = fs::write(place.path("locked/probe"), "").is_err();
    let plan = RevertPlan::new(&place.transcript, Way::Back(None)).unwrap();
    let workspace = Workspace::open(place.workspace.root()).unwrap();
    let result = plan.carry_out(&workspace, place.journal.blobs().unwrap());
    lock(0o755);
    if barred {
        assert!(matches!(result, Err(RevertError::Failed { .. })), "{result:?}");
        assert_eq!(place.has("a").unwrap().0, "1");
        assert_eq!(place.has("locked/file").unwrap().0, "1");
    }
}

#[test]
fn turns_that_cannot_be_gone_back_to_are_told_apart() {
    let mut place = Place::new();
    assert!(matches!(place.go(Way::Back(None)), Err(RevertError::NoTurn)));
    place.turn();
    assert!(matches!(place.go(Way::Back(Some(2))), Err(RevertError::UnknownTurn { turn: 2, turns: 1 })));
    assert!(matches!(place.go(Way::Back(Some(0))), Err(RevertError::UnknownTurn { .. })));
    place.transcript.forget_history();
    assert!(matches!(place.go(Way::Back(Some(1))), Err(RevertError::FoldedAway(1))));
}

#[test]
fn what_is_changed_for_another_session_can_be_taken_back_there() {
    let mut place = Place::new();
    place.put("a", "0", 0o644);
    place.turn();
    let blobs = BlobStore::new(place.dir.path().join("below"));
    let below = Arc::new(Checkpoints::below(Arc::clone(&place.journal), "task".to_owned(), Some(blobs)));
    let workspace = Workspace::open(place.workspace.root()).unwrap().with_journal(Arc::clone(&below));
    workspace.replace(&workspace.resolve("a").unwrap(), b"1").unwrap();
    assert_eq!(below.take().0.len(), 1);
    place.save();
    place.go(Way::Back(None)).unwrap();
    assert_eq!(place.has("a").unwrap().0, "0");
    assert!(Path::new(&place.dir.path().join("below")).join(ContentHash::of(b"0").to_hex()).exists());
}

#[test]
fn content_that_cannot_be_kept_is_told_once_and_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "0").unwrap();
    // A file where the folder would be.
    let journal = Arc::new(Checkpoints::new(BlobStore::new(dir.path().join("a"))));
    let workspace = Workspace::open(dir.path()).unwrap().with_journal(Arc::clone(&journal));
    fs::write(dir.path().join("b"), "0").unwrap();
    for (before, content, told) in [(b"0", "1", true), (b"1", "2", false)] {
        workspace.replace(&workspace.resolve("b").unwrap(), content.as_bytes()).unwrap();
        let (changes, trouble) = journal.take();
        assert_eq!(changes[0].change.before.as_ref().unwrap().sha256, Some(ContentHash::of(before).to_hex()));
        assert_eq!(trouble.is_some(), told);
    }
}

#[test]
fn folders_that_came_with_files_go_with_them_however_the_files_went() {
    let mut place = Place::new();
    fs::create_dir(place.path("old")).unwrap();
    place.turn();
    place.write("moved/away/x", "x");
    place.write("old/new/deep/y", "y");
    place.write("by-hand/z", "z");
    place.turn();
    place.remove("moved/away/x");
    place.write("kept/x", "x");
    fs::remove_file(place.path("by-hand/z")).unwrap();
    place.go(Way::Back(Some(1))).unwrap();
    let left: Vec<_> =
        fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["old"]);
    assert_eq!(fs::read_dir(place.path("old")).unwrap().count(), 0, "it was there before");
}

#[test]
fn a_write_that_does_not_come_leaves_no_folder_and_a_later_one_knows_that_it_made_it() {
    let mut place = Place::new();
    place.turn();
    let target = place.workspace.resolve("new/deep/x").unwrap();
    drop(place.workspace.stage(&target, b"x", zdx_workspace::workspace::FilePermissions::Keep).unwrap());
    assert!(!place.path("new").exists());
    place.write("new/deep/x", "x");
    place.go(Way::Back(None)).unwrap();
    assert!(!place.path("new").exists());
}
