//! `zdx sessions`: listing, showing, resuming and deleting what was saved.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use zdx_testkit::{Gate, ModelServer, Reply, Signal, Zdx};

use crate::{SOON, hold_before, place, with_model};

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
    assert!(!listed.contains("second line"), "{listed}");
    for part in [ID, "lab/m", "first thing"] {
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

/// A task is at work when zdx is killed: its session is the file that was written to last.
fn killed_in_a_task(server: &ModelServer) -> Zdx {
    let task = serde_json::json!({"agent": "explore", "prompt": "look around"});
    server.push(Reply::chat().tool_call("t1", "task", task));
    server.push(hold_before(Reply::chat().text_deltas(["so ", "far"]).done(), "far", &Gate::new()));
    let zdx = with_model(server);
    let mut running = zdx.command().args(["exec", "-p", "find out"]).spawn();
    server.wait_for_call(2, SOON);
    running.signal(Signal::KILL);
    running.finish(SOON);
    zdx
}

#[test]
fn a_tasks_session_is_its_parents_child_and_never_the_latest() {
    let server = ModelServer::start();
    let zdx = killed_in_a_task(&server);
    let mut files = zdx.session_files();
    // Both may have been changed in the same tick of the clock.
    files.sort_by_key(|file| !fs::read_to_string(file).unwrap().contains("find out"));
    let id = |file: &std::path::Path| file.file_stem().unwrap().to_str().unwrap().to_owned();
    let (parent, child) = (id(&files[0]), id(&files[1]));

    server.push(Reply::chat().text("went on"));
    assert_eq!(zdx.run(["-c", "exec", "-p", "and now?"]).success().stdout, "went on\n");
    assert_eq!(id(zdx.session_files().last().unwrap()), parent);
    // Newer again than its parent.
    let file = fs::File::options().append(true).open(&files[1]).unwrap();
    file.set_modified(std::time::SystemTime::now() + Duration::from_secs(60)).unwrap();
    server.push(Reply::status(503));
    let handoff = zdx.run(["handoff", "--goal", "ship it"]).success().stdout;
    assert!(handoff.contains("find out") && !handoff.contains("look around"), "{handoff}");

    let listed = zdx.run(["sessions", "list"]).success().stdout;
    assert_eq!((listed.lines().count(), listed.contains(&parent)), (1, true), "{listed}");
    let all = zdx.run(["sessions", "list", "--all"]).success().stdout;
    let lines: Vec<&str> = all.lines().collect();
    assert!(lines[0].starts_with(&parent) && lines[1].starts_with(&format!("  {child}")), "{all}");
    let json = zdx.run(["sessions", "list", "--all", "--format", "json"]).success().json_lines();
    assert_eq!([&json[0]["works_for"], &json[1]["works_for"]], [&Value::Null, &Value::from(parent.as_str())]);

    let refused = zdx.run(["exec", "--session", &child, "-p", "x"]).expect_code(1);
    assert!(refused.stderr.contains("--agent NAME"), "{}", refused.stderr);
    let deleted = zdx.run(["sessions", "delete", &parent]).success().stdout;
    assert_eq!(deleted, format!("deleted {parent}\ndeleted {child}\n"));
}

#[test]
fn a_file_without_a_header_is_passed_over_and_mended_when_it_is_meant() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("one"));
    let zdx = with_model(&server);
    zdx.run(["exec", "-p", "first"]).success();
    let empty = fs::File::create(zdx.storage().join(format!("sessions/{ID}.jsonl"))).unwrap();
    // The newest, whatever the clock's tick.
    empty.set_modified(std::time::SystemTime::now() + Duration::from_secs(60)).unwrap();
    server.push(Reply::chat().text("two"));
    let output = zdx.run(["-c", "exec", "-p", "second"]).success();
    assert_eq!(output.stdout, "two\n");
    assert!(output.stderr.contains(&format!("{ID} was passed over: its file is empty")), "{}", output.stderr);
    let listed = zdx.run(["sessions", "list"]).success().stdout;
    assert!(listed.contains("(its file is empty)"), "{listed}");

    server.push(Reply::chat().text("three"));
    let output = zdx.run(["exec", "--session", ID, "-p", "third"]).success();
    assert!(output.stderr.contains("had no header; it has one now"), "{}", output.stderr);
    assert_eq!((&output.records[0]["type"], &output.records[0]["id"]), (&"meta".into(), &ID.into()));
    assert_eq!(output.records[0]["root"], zdx.root().to_str().unwrap());
    server.push(Reply::chat().text("four"));
    let output = zdx.run(["-c", "exec", "-p", "fourth"]).success();
    assert_eq!((output.records_of("meta").len(), output.stderr.contains("header")), (1, false));
}
