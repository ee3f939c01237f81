//! `zdx sessions`: listing, showing, resuming and deleting what was saved.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::{place, with_model};

const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
const OTHER: &str = "550e8400-ffff-41d4-a716-446655440000";

/// A session as any zdx would have written it.
fn save(zdx: &Zdx, id: &str, prompt: &str) {
    let folder = zdx.storage().join("sessions");
    fs::create_dir_all(&folder).unwrap();
    let ts = "2025-12-17T03:21:09.000Z";
    let lines = [
        serde_json::json!({"type":"meta","schema_version":1,"id":id,"root":zdx.root(),"model":"lab/m","ts":ts}),
        serde_json::json!({"type":"message","role":"user","text":prompt,"ts":ts}),
        serde_json::json!({"type":"tool_use","id":"c1","name":"bash","input":{"command":"ls -l"},"ts":ts}),
        serde_json::json!({"type":"tool_result","tool_use_id":"c1","ok":true,"ts":ts,
            "output":{"ok":true,"data":{"stdout":"","stderr":"","exit_code":3,"timed_out":false}}}),
        serde_json::json!({"type":"message","role":"assistant","text":"an \u{1b}[31manswer","ts":ts}),
        serde_json::json!({"type":"from_the_future","x":1,"ts":ts}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.join(format!("{id}.jsonl")), text).unwrap();
}

#[test]
fn list_says_what_is_there() {
    let zdx = place();
    assert_eq!(zdx.run(["sessions", "list"]).success().stdout, "");
    save(&zdx, ID, "first thing\nsecond line");
    let listed = zdx.run(["sessions", "list"]).success().stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
    for part in [ID, "lab/m", "first thing second line"] {
        assert!(listed.contains(part), "{part} is missing in {listed}");
    }
    let json: Value =
        serde_json::from_str(&zdx.run(["sessions", "list", "--format", "json"]).success().stdout).unwrap();
    assert_eq!(json["id"], ID);
    assert_eq!(json["root"], zdx.root().to_str().unwrap());
}

#[test]
fn times_are_written_so_that_they_sort_as_text() {
    let zdx = place();
    save(&zdx, ID, "do it");
    // Taking a session further writes records; what was written before by another hand stays.
    zdx.run(["sessions", "revert", ID]).success();
    let written = zdx.records().pop().unwrap();
    assert_eq!(written["type"], "revert");
    assert!(is_sortable(written["ts"].as_str().unwrap()), "{written}");
    // Read from a whole second, written with all its digits.
    let file = &zdx.session_files()[0];
    fs::write(file, fs::read_to_string(file).unwrap().replace("09.000Z", "09Z")).unwrap();
    let shown = zdx.run(["--format", "json", "sessions", "show", ID]).success().json_lines();
    assert_eq!(shown[0]["ts"], "2025-12-17T03:21:09.000Z");

    let file = fs::File::options().append(true).open(file).unwrap();
    for (nanos, digits) in [(0, "000"), (120_000_000, "120"), (123_456_789, "123")] {
        file.set_modified(UNIX_EPOCH + Duration::new(1_000_000_000, nanos)).unwrap();
        let listed = zdx.run(["sessions", "list", "--format", "json"]).success().json_lines();
        assert_eq!(listed[0]["when"], format!("2001-09-09T01:46:40.{digits}Z"));
    }
}

fn is_sortable(time: &str) -> bool {
    let digits = time.rsplit_once('.').and_then(|(_, end)| end.strip_suffix('Z'));
    digits.is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[test]
fn show_replays_a_session_safely() {
    let zdx = place();
    save(&zdx, ID, "do it");
    let shown = zdx.run(["sessions", "show", "550e"]).success().stdout;
    assert!(shown.contains("> do it"), "{shown}");
    assert!(shown.contains("bash command=\"ls -l\""), "{shown}");
    assert!(shown.contains("exit=3"), "{shown}");
    assert!(shown.contains("answer") && !shown.contains('\u{1b}'), "{shown:?}");
    let records = zdx.run(["--format", "json", "sessions", "show", ID]).success().json_lines();
    assert_eq!(records, zdx.records());
}

#[test]
fn ids_are_found_by_prefix_and_only_when_it_is_one() {
    let zdx = place();
    save(&zdx, ID, "a");
    save(&zdx, OTHER, "b");
    let vague = zdx.run(["sessions", "show", "550e"]).expect_code(1);
    assert!(vague.stderr.contains(ID) && vague.stderr.contains(OTHER), "{}", vague.stderr);
    let none = zdx.run(["sessions", "show", "0000"]).expect_code(1);
    assert!(none.stderr.contains("sessions list"), "{}", none.stderr);
    let none = zdx.run(["exec", "--session", "0000", "-p", "x"]).expect_code(1);
    assert!(none.stderr.contains("sessions list"), "{}", none.stderr);
}

#[test]
fn delete_removes_all_or_nothing() {
    let zdx = place();
    save(&zdx, ID, "a");
    save(&zdx, OTHER, "b");
    zdx.run(["sessions", "delete", "550e8400-e", "nope"]).expect_code(1);
    assert_eq!(zdx.session_files().len(), 2);
    let output = zdx.run(["sessions", "delete", "550e8400-e"]).success();
    assert_eq!(output.stdout, format!("deleted {ID}\n"));
    assert_eq!(zdx.session_files().len(), 1);
}

#[test]
fn a_session_goes_on_by_id_and_as_the_last_of_its_folder() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("one"));
    let zdx = with_model(&server);
    zdx.run(["exec", "-p", "first"]).success();
    let file = zdx.session_files().remove(0);
    let id = file.file_stem().unwrap().to_str().unwrap().to_owned();

    server.push(Reply::chat().text("two"));
    zdx.run(["exec", "--session", &id[..8], "-p", "second"]).success();
    server.push(Reply::chat().text("three"));
    zdx.run(["-c", "exec", "-p", "third"]).success();
    assert_eq!(zdx.session_files(), [file]);

    let last = server.calls().pop().unwrap();
    let said: Vec<_> = last.messages().iter().filter(|m| m["role"] != "system").collect();
    let roles: Vec<_> = said.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);

    let elsewhere = tempfile::tempdir().unwrap();
    let output = zdx.command().args(["-c", "exec", "-p", "x", "--root"]).arg(elsewhere.path()).run();
    let output = output.expect_code(1);
    assert!(output.stderr.contains("no session"), "{}", output.stderr);
}

#[test]
fn no_save_leaves_nothing_behind_wherever_it_stands() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for args in [["--no-save", "exec", "-p", "x"], ["exec", "-p", "x", "--no-save"]] {
        server.push(Reply::chat().text("gone"));
        assert_eq!(zdx.run(args).success().stdout, "gone\n");
        assert!(zdx.session_files().is_empty());
    }
}
