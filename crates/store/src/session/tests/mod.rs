mod appending;
mod crash;
mod listing;
mod recovery;
mod tail;

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use zdx_protocol::record::{self, Meta, Record, SCHEMA_VERSION};
use zdx_protocol::{Role, ToolOutput};

use super::list::SessionDeleteError;
use super::log::SaveOutcome;
use super::*;

fn ts() -> Timestamp {
    "2025-12-17T03:21:09Z".parse().unwrap()
}

fn store() -> (TempDir, SessionStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = SessionStore::new(dir.path().join("sessions"));
    (dir, store)
}

fn path_of(store: &SessionStore, id: SessionId) -> std::path::PathBuf {
    store.dir().join(format!("{id}.jsonl"))
}

fn meta(id: SessionId, root: &str) -> Record {
    Record::Meta(Meta {
        schema_version: SCHEMA_VERSION,
        id: Some(id.to_string()),
        root: Some(root.into()),
        model: Some("lab/qwen".to_owned()),
        parent: None,
        task: None,
        one_prompt: false,
        ts: ts(),
    })
}

fn user(text: &str) -> Record {
    Record::Message(record::Message::new(Role::User, text, ts()))
}

fn assistant(text: &str) -> Record {
    Record::Message(record::Message::new(Role::Assistant, text, ts()))
}

fn call(id: &str) -> Record {
    Record::ToolUse(record::ToolUse::new(id, "read", json!({"path": "a"}), ts()))
}

fn done(id: &str) -> Record {
    Record::ToolResult(record::ToolResult::new(id, ToolOutput::Ok(json!({"bytes": 3})), ts()))
}

/// A saved session with these records after its header; closed again.
fn saved(store: &SessionStore, records: &[Record]) -> SessionId {
    let id = SessionId::random();
    let mut log = store.create(id);
    log.append(&meta(id, "/project"));
    for record in records {
        assert_eq!(log.append(record), SaveOutcome::Yes);
    }
    id
}

fn records_of(store: &SessionStore, id: SessionId) -> Vec<Record> {
    let mut records = Vec::new();
    store.scan(id, |record| records.push(record)).unwrap();
    records
}

/// Every line of the file is JSON, and the last one ends.
fn assert_valid_jsonl(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "{text:?}");
    for line in text.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}

#[test]
fn ids_are_hyphenated_lower_case_uuids_of_version_4() {
    let id = SessionId::random();
    let text = id.to_string();
    assert_eq!((text.len(), text.as_bytes()[14]), (36, b'4'));
    assert_eq!(text, text.to_lowercase());
    assert_eq!(text.to_uppercase().parse(), Ok(id), "typed in capitals it is the same id");
    let simple = text.replace('-', "");
    for wrong in
        ["", "../x", "550e8400", &simple, &format!("{{{text}}}"), &format!("{text}/"), &format!(" {text}")]
    {
        assert!(wrong.parse::<SessionId>().is_err(), "{wrong:?}");
    }
}
