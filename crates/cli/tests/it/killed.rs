//! SIGKILL while files are changed: what was announced can be taken back, and no temporary file stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use zdx_testkit::{Gate, ModelServer, Reply, Signal, Zdx};

use crate::{SOON, hold_before, place, with_model};

const KILLS: u64 = 40;

fn tree(root: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    entries.map(|path| (name(&path), fs::read_to_string(&path).unwrap_or_default())).collect()
}

fn last_id(zdx: &Zdx) -> String {
    zdx.session_files().pop().unwrap().file_stem().unwrap().to_str().unwrap().to_owned()
}

fn kind(line: &str) -> String {
    serde_json::from_str::<Value>(line)
        .map(|record| record["type"].as_str().unwrap().to_owned())
        .unwrap_or_default()
}

/// One call after another, never an end: writes, an edit by patch, a deletion.
fn busy_server() -> ModelServer {
    let server = ModelServer::start();
    server.forget_requests();
    server.always(|request| {
        let n = request.messages().len();
        let reply = Reply::chat();
        let id = format!("c{n}");
        let reply = match n % 8 {
            2 => {
                let patch =
                    "*** Begin Patch\n*** Delete File: gone.txt\n*** Add File: made.txt\n+x\n*** End Patch\n";
                reply.tool_call(&id, "patch", json!({ "patch": patch }))
            }
            4 => reply.tool_call(&id, "write", json!({"path": "new.txt", "content": format!("{n}")})),
            6 => reply.tool_call(&id, "write", json!({"path": "gone.txt", "content": format!("{n}")})),
            _ => reply.tool_call(
                &id,
                "write",
                json!({"path": "a.txt", "content": format!("{n}\n").repeat(2000)}),
            ),
        };
        reply.done()
    });
    server
}

#[test]
fn after_every_kill_the_turn_can_be_taken_back_and_no_temporary_file_stays() {
    let server = busy_server();
    let zdx = with_model(&server);
    zdx.write("a.txt", "a0");
    zdx.write("gone.txt", "old");
    let start = tree(zdx.root());
    let mut changed = 0;
    for round in 0..KILLS {
        let mut running =
            zdx.command().args(["exec", "--format", "json", "--max-steps", "1000", "-p", "go"]).spawn();
        running.wait_for_stdout("\"tool_started\"", SOON);
        // Any moment of a call, or of the next ones: the property holds at each.
        std::thread::sleep(Duration::from_micros(round * 731 % 30_000));
        running.signal(Signal::KILL);
        running.finish(SOON);
        changed += usize::from(tree(zdx.root()) != start);
        let id = last_id(&zdx);
        let reverted = zdx.run(["sessions", "revert", &id]).success();
        assert_eq!(tree(zdx.root()), start, "round {round}: {}{}", reverted.stdout, reverted.stderr);
    }
    assert!(changed > 0, "no run came to change anything");
}

/// The state of `a.txt` and `gone.txt` after one finished turn, and the session's lines.
fn one_turn() -> (Zdx, ModelServer, Vec<String>) {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "a0");
    server.push(Reply::chat().tool_call("c1", "write", json!({"path": "a.txt", "content": "a1"})));
    server.push(Reply::chat().text("done"));
    zdx.run(["exec", "-p", "go"]).success();
    let log = fs::read_to_string(&zdx.session_files()[0]).unwrap();
    let lines = log.lines().map(|line| format!("{line}\n")).collect();
    (zdx, server, lines)
}

/// Cuts the session off right behind the announcement of the change.
fn cut_behind_the_intent(zdx: &Zdx, lines: &[String]) {
    let intent = lines.iter().position(|line| kind(line) == "change_intent").unwrap();
    fs::write(&zdx.session_files()[0], lines[..=intent].concat()).unwrap();
}

#[test]
fn a_change_is_announced_before_it_happens_and_settled_by_what_lies_there() {
    let (zdx, _server, lines) = one_turn();
    let kinds: Vec<_> = lines.iter().map(|line| kind(line)).collect();
    let at = |wanted: &str| kinds.iter().position(|kind| kind == wanted).unwrap();
    assert!(at("tool_use") < at("change_intent") && at("change_intent") + 1 == at("change"), "{kinds:?}");
    let id = last_id(&zdx);
    for (there, code, after, said) in [
        ("a1", 0, "a0", "it was made"),
        ("a0", 0, "a0", "it was not made"),
        ("by hand", 1, "by hand", "was changed since"),
    ] {
        cut_behind_the_intent(&zdx, &lines);
        zdx.write("a.txt", there);
        let dry = zdx.run(["sessions", "revert", &id, "--dry-run"]).expect_code(code);
        assert!(dry.stderr.contains(said), "{}", dry.stderr);
        assert_eq!(zdx.read("a.txt"), there);
        let told = zdx.run(["sessions", "revert", &id]).expect_code(code);
        assert!(told.stderr.contains(said), "{}", told.stderr);
        assert_eq!(zdx.read("a.txt"), after);
    }
}

#[test]
fn a_resumed_session_knows_what_was_changed_when_it_was_killed() {
    let (zdx, server, lines) = one_turn();
    cut_behind_the_intent(&zdx, &lines);
    server.push(Reply::chat().text("went on"));
    let told = zdx.run(["exec", "-c", "-p", "go on"]).success();
    assert!(told.stderr.contains("a.txt: it was made"), "{}", told.stderr);
    let kinds: Vec<_> =
        zdx.records().iter().map(|record| record["type"].as_str().unwrap().to_owned()).collect();
    assert!(kinds.contains(&"change".to_owned()), "{kinds:?}");
    zdx.run(["sessions", "revert", &last_id(&zdx), "--turn", "1"]).success();
    assert_eq!(zdx.read("a.txt"), "a0");
}

#[test]
fn a_session_of_before_there_were_announcements_is_reverted_as_ever() {
    let (zdx, _server, lines) = one_turn();
    let old: Vec<String> = lines.into_iter().filter(|line| kind(line) != "change_intent").collect();
    fs::write(&zdx.session_files()[0], old.concat()).unwrap();
    zdx.run(["sessions", "revert", &last_id(&zdx)]).success();
    assert_eq!(zdx.read("a.txt"), "a0");
}

#[test]
fn what_an_agent_of_a_task_changed_is_taken_back_when_the_task_was_killed() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let held = gate.clone();
    server.always(move |request| {
        let messages = request.messages();
        let first = messages.iter().find(|m| m["role"] == "user").unwrap()["content"].to_string();
        let answered = messages.iter().any(|m| m["role"] == "tool");
        match (first.contains("delegate"), answered) {
            (true, _) => Reply::chat()
                .tool_call("t1", "task", json!({"agent": "general", "prompt": "write it"}))
                .done(),
            (false, false) => Reply::chat()
                .tool_call("w", "write", json!({"path": "a.txt", "content": "by the agent"}))
                .done(),
            (false, true) => {
                hold_before(Reply::chat().text_deltas(["a", " report"]).done(), " report", &held)
            }
        }
    });
    let zdx = place().chat(&server);
    zdx.write("a.txt", "a0");
    let mut running = zdx.command().args(["exec", "-p", "delegate"]).spawn();
    gate.wait_reached(SOON);
    assert_eq!(zdx.read("a.txt"), "by the agent");
    running.signal(Signal::KILL);
    running.finish(SOON);
    gate.open();
    let is_parent = |file: &&std::path::PathBuf| {
        let log = fs::read_to_string(file).unwrap();
        !log.lines().next().unwrap().contains("\"task\"")
    };
    let files = zdx.session_files();
    let parent = files.iter().find(is_parent).unwrap().file_stem().unwrap().to_str().unwrap();
    zdx.run(["sessions", "revert", parent]).success();
    assert_eq!(zdx.read("a.txt"), "a0");
}

#[test]
fn the_next_start_clears_up_after_a_killed_process_wherever_it_worked() {
    let (zdx, server, _) = one_turn();
    let locks = zdx.storage().join("locks");
    let leave = |list: &str, tag: &str, id: &str, content: &str| {
        let name = format!(".zdx-{id}.tmp");
        let path = zdx.home().join("elsewhere.txt");
        fs::write(zdx.home().join(&name), content).unwrap();
        fs::write(locks.join(list), format!("{tag}\0{}\0{name}\0", path.display())).unwrap();
        zdx.home().join(name)
    };
    let staged = leave("e0.lock", "staged", "0123456789abcdef0123456789abcdef", "half");
    let aside = leave("e1.lock", "aside", "1123456789abcdef0123456789abcdef", "not deleted yet");
    let living = leave("e2.lock", "staged", "2123456789abcdef0123456789abcdef", "in use");
    let held = fs::File::open(locks.join("e2.lock")).unwrap();
    held.try_lock().unwrap();
    server.push(Reply::chat().text("hello"));
    zdx.run(["exec", "-p", "hi"]).success();
    assert!(!staged.exists() && !aside.exists() && living.exists());
    assert_eq!(fs::read_to_string(zdx.home().join("elsewhere.txt")).unwrap(), "not deleted yet");
}
