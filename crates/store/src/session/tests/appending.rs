use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;
use crate::session::file::SessionFileHandle;

#[test]
fn nothing_said_leaves_no_file() {
    let (base, store) = store();
    let id = SessionId::random();
    let mut log = store.create(id);
    let change = Record::Model(record::Model { model: "lab/other".to_owned(), ts: ts() });
    assert_eq!(log.append(&meta(id, "/project")), SaveOutcome::Held);
    assert_eq!(log.append(&change), SaveOutcome::Held, "choosing a model is nothing said either");
    assert_eq!(log.sync(), SaveOutcome::Held);
    assert_eq!(log.unsaved(), 0);
    drop(log);
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
}

#[test]
fn the_first_words_bring_the_header_along() {
    let (_base, store) = store();
    let id = SessionId::random();
    let mut log = store.create(id);
    log.append(&meta(id, "/project"));
    assert_eq!(log.append(&user("hi")), SaveOutcome::Yes);
    assert_eq!(records_of(&store, id), [meta(id, "/project"), user("hi")]);
    assert_eq!(log.path(), Some(path_of(&store, id).as_path()));
    assert_eq!(log.sync(), SaveOutcome::Yes);
}

#[test]
fn a_file_always_begins_with_a_header() {
    let (_base, store) = store();
    let id = SessionId::random();
    store.create(id).append(&user("hi"));
    let records = records_of(&store, id);
    assert!(matches!(&records[0], Record::Meta(meta) if meta.schema_version == 1), "{records:?}");
    assert_eq!(records[1..], [user("hi")]);
}

#[test]
fn only_the_owner_may_read() {
    let (_base, store) = store();
    let id = saved(&store, &[user("hi")]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path_of(&store, id)), 0o600);
    assert_eq!(mode(store.dir()), 0o700);
}

#[test]
fn a_session_that_is_not_to_be_saved_is_not() {
    let id = SessionId::random();
    let mut log = SessionLog::disabled(id);
    assert_eq!((log.append(&user("hi")), log.sync()), (SaveOutcome::Off, SaveOutcome::Off));
    assert_eq!((log.path(), log.id(), log.unsaved()), (None, id, 0));
}

/// A store that cannot make its folder as long as the file is there: not even root makes one below a file.
fn blocked_store() -> (tempfile::TempDir, PathBuf, SessionStore) {
    let base = tempfile::tempdir().unwrap();
    let blocker = base.path().join("home");
    std::fs::write(&blocker, "").unwrap();
    let store = SessionStore::new(blocker.join("sessions"));
    (base, blocker, store)
}

#[test]
fn a_folder_that_cannot_be_made_is_told_once_and_retried() {
    let (_base, blocker, store) = blocked_store();
    let id = SessionId::random();
    let mut log = store.create(id);
    log.append(&meta(id, "/project"));
    let SaveOutcome::Not { why } = log.append(&user("one")) else { panic!("it was saved") };
    assert!(why.contains("a part of the path is a file"), "{why}");
    assert_eq!(log.append(&user("two")), SaveOutcome::Waiting);
    assert_eq!(log.sync(), SaveOutcome::Waiting);
    assert_eq!(log.unsaved(), 3);

    std::fs::remove_file(&blocker).unwrap();
    assert_eq!(log.append(&user("three")), SaveOutcome::Again { lost: 0 });
    assert_eq!(log.append(&user("four")), SaveOutcome::Yes);
    assert_eq!(log.unsaved(), 0);
    let expected = [meta(id, "/project"), user("one"), user("two"), user("three"), user("four")];
    assert_eq!(records_of(&store, id), expected);
}

#[test]
fn sync_also_saves_what_waited() {
    let (_base, blocker, store) = blocked_store();
    let id = SessionId::random();
    let mut log = store.create(id);
    assert!(matches!(log.append(&user("one")), SaveOutcome::Not { .. }));
    std::fs::remove_file(&blocker).unwrap();
    assert_eq!(log.sync(), SaveOutcome::Again { lost: 0 });
    assert_eq!(records_of(&store, id)[1..], [user("one")]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_once() {
    let full = SessionFileHandle::unlocked(File::options().append(true).open("/dev/full").unwrap());
    let (mut log, saved) = SessionLog::resume(SessionId::random(), "/dev/full".into(), full, false);
    assert_eq!(saved, SaveOutcome::Yes);
    let SaveOutcome::Not { why } = log.append(&user("one")) else { panic!("it was saved") };
    assert_eq!(why, "/dev/full: no space is left on the disk");
    assert_eq!(log.append(&user("two")), SaveOutcome::Waiting);
    assert_eq!((log.sync(), log.unsaved()), (SaveOutcome::Waiting, 2));
}

#[cfg(target_os = "linux")]
#[test]
fn what_waits_is_bounded_and_losing_is_told() {
    let full = SessionFileHandle::unlocked(File::options().append(true).open("/dev/full").unwrap());
    let (mut log, _) = SessionLog::resume(SessionId::random(), "/dev/full".into(), full, true);
    let large = user(&"x".repeat(1 << 20));
    let told: Vec<SaveOutcome> = (0..20).map(|_| log.append(&large)).collect();
    // The newline that could not be written was told when the file was opened.
    let losing: Vec<usize> = (0..20).filter(|at| matches!(told[*at], SaveOutcome::Losing { .. })).collect();
    assert_eq!(losing, [7], "eight records of a little over 1 MiB are too much");
    assert!(
        told.iter().all(|saved| matches!(saved, SaveOutcome::Waiting | SaveOutcome::Losing { .. })),
        "{told:?}"
    );
    assert!(log.queued_bytes() <= 8 << 20);
    assert_eq!(log.unsaved(), 21);
}

#[test]
fn a_file_removed_under_us_is_noticed() {
    let (_base, store) = store();
    let id = SessionId::random();
    let mut log = store.create(id);
    log.append(&user("one"));
    std::fs::remove_file(path_of(&store, id)).unwrap();
    assert!(matches!(log.sync(), SaveOutcome::Not { why } if why.contains("removed")));
    assert_eq!(log.append(&user("two")), SaveOutcome::Yes);
    assert_eq!(log.sync(), SaveOutcome::Waiting);
}

#[test]
fn a_record_larger_than_any_reader_takes_is_not_written() {
    let (_base, store) = store();
    let id = SessionId::random();
    let mut log = store.create(id);
    log.append(&user("one"));
    let huge = user(&"x".repeat((64 << 20) + 1));
    assert!(matches!(log.append(&huge), SaveOutcome::Dropped { .. }));
    assert_eq!(log.append(&user("two")), SaveOutcome::Yes);
    assert_eq!(records_of(&store, id)[1..], [user("one"), user("two")]);
}

#[test]
fn notices_are_for_changes_only() {
    let why = || "x: no space is left on the disk".to_owned();
    for quiet in [SaveOutcome::Yes, SaveOutcome::Held, SaveOutcome::Off, SaveOutcome::Waiting] {
        assert_eq!(quiet.notice(), None);
    }
    for told in [
        SaveOutcome::Not { why: why() },
        SaveOutcome::Losing { why: why() },
        SaveOutcome::Dropped { why: why() },
    ] {
        assert!(told.notice().unwrap().contains("not saved: x: no space"), "{told:?}");
    }
    assert!(SaveOutcome::Again { lost: 0 }.notice().unwrap().contains("saved again"));
    assert!(SaveOutcome::Again { lost: 3 }.notice().unwrap().contains("3 records were dropped"));
}
