use jiff::Timestamp;

use super::*;
use crate::record::{self, Record};
use crate::todo::TodoStatus;

fn ts() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn said(role: Role, text: &str) -> Record {
    Record::Message(record::Message::new(role, text, ts()))
}

fn todos(content: &str) -> Record {
    let item = Todo { id: "1".to_owned(), content: content.to_owned(), status: TodoStatus::Pending };
    Record::Todos(record::Todos { items: vec![item], draft: false, ts: ts() })
}

fn state(content: Option<&str>) -> Option<FileState> {
    content.map(|content| FileState { sha256: Some(content.to_owned()), mode: 0o644, access: None })
}

fn way(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange { path: path.into(), before: state(before), after: state(after), folders: 0 }
}

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> Record {
    Record::Change(record::Change { tool_use_id: "c".to_owned(), change: way(path, before, after), ts: ts() })
}

fn revert(turn: u32) -> Record {
    Record::Revert(record::Revert { turn, files: Vec::new(), left: None, ts: ts() })
}

fn redo() -> Record {
    Record::Redo(record::Redo { files: Vec::new(), ts: ts() })
}

fn fold(records: &[Record]) -> Transcript {
    let mut transcript = Transcript::default();
    for record in records {
        transcript.apply(record);
    }
    transcript
}

/// Everything but what a revert leaves behind for a redo.
fn told(transcript: &Transcript) -> (Vec<Message>, u32, Vec<Todo>, Option<String>) {
    let Transcript { turns, todos, first_prompt, .. } = transcript.clone();
    (transcript.messages().to_vec(), turns, todos, first_prompt)
}

fn session() -> Vec<Record> {
    vec![
        said(Role::User, "one"),
        todos("plan"),
        said(Role::Assistant, "first"),
        // Fails: the next prompt joins the message of this one.
        said(Role::User, "two"),
        said(Role::User, "three"),
        todos("more"),
        said(Role::Assistant, "third"),
        said(Role::System, "an attached file"),
        said(Role::User, "four"),
        said(Role::Assistant, "fourth"),
    ]
}

#[test]
fn a_revert_is_as_if_the_turns_had_not_been_and_a_redo_as_if_the_revert_had_not() {
    let records = session();
    for (turn, kept) in [(1, 0), (2, 3), (3, 4), (4, 7)] {
        let mut transcript = fold(&records);
        transcript.apply(&revert(turn));
        assert_eq!(told(&transcript), told(&fold(&records[..kept])), "before turn {turn}");
        transcript.apply(&redo());
        assert_eq!(transcript, fold(&records), "and back");
    }
}

#[test]
fn reverts_are_taken_back_one_by_one_until_something_is_said() {
    let records = session();
    let mut transcript = fold(&records);
    transcript.apply(&revert(3));
    let once = transcript.clone();
    transcript.apply(&revert(2));
    assert_eq!(transcript.redo_turns(), Some(2));
    transcript.apply(&redo());
    assert_eq!(transcript, once);
    transcript.apply(&said(Role::User, "instead"));
    assert_eq!((transcript.redo_files(), transcript.turns), (None, 3));
    transcript.apply(&redo());
    assert_eq!(transcript.turns, 3, "there is nothing to take back");
}

#[test]
fn undoing_leads_from_the_last_state_of_a_file_to_its_first() {
    let transcript = fold(&[
        said(Role::User, "one"),
        change("/a", Some("0"), Some("1")),
        said(Role::User, "two"),
        change("/a", Some("1"), Some("2")),
        change("/b", None, Some("x")),
        change("/a", Some("2"), Some("3")),
        said(Role::User, "three"),
        change("/a", Some("3"), None),
        change("/b", Some("touched by another"), Some("y")),
    ]);
    let undo = |path, now, then, interleaved| Undo { change: way(path, now, then), interleaved };
    let two = [undo("/a", None, Some("1"), false), undo("/b", Some("y"), None, true)];
    assert_eq!(transcript.undo_since(2).unwrap(), two);
    assert_eq!(transcript.undo_since(3).unwrap()[0], undo("/a", None, Some("3"), false));
    assert_eq!(transcript.undo_since(4), None);
    assert_eq!(transcript.undo_since(0), None);
}

#[test]
fn what_somebody_put_back_in_between_is_not_lost_by_going_back() {
    let transcript = fold(&[
        said(Role::User, "one"),
        change("/a", Some("0"), Some("1")),
        change("/a", Some("0"), Some("2")),
        said(Role::User, "two"),
        change("/a", Some("0"), Some("3")),
    ]);
    let undo = Undo { change: way("/a", Some("3"), Some("0")), interleaved: false };
    assert_eq!(transcript.undo_since(1).unwrap(), [undo]);
}

#[test]
fn reverted_changes_are_no_longer_to_be_undone() {
    let mut transcript = fold(&[
        said(Role::User, "one"),
        change("/a", Some("0"), Some("1")),
        said(Role::User, "two"),
        change("/a", Some("1"), Some("2")),
        revert(2),
    ]);
    assert_eq!(transcript.undo_since(1).unwrap()[0].change, way("/a", Some("1"), Some("0")));
    transcript.apply(&redo());
    assert_eq!(transcript.undo_since(1).unwrap()[0].change, way("/a", Some("2"), Some("0")));
}
