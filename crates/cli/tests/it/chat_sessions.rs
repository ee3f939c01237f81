//! A chat and its sessions: a fresh one, another one, the last turn once more, and what an interrupt ends.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use zdx_testkit::{Gate, ModelServer, Reply, Zdx};

use crate::chat::{leave, wait_for_prompt};
use crate::{SOON, hold_before, prompt_of, with_model};

/// What the model was shown with its last request, without the system prompt.
fn shown(server: &ModelServer) -> Vec<String> {
    let request = server.calls().pop().unwrap();
    let said = request.messages().iter().filter(|message| message["role"] != "system");
    said.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

fn chat(zdx: &Zdx, lines: &str) -> zdx_testkit::Output {
    zdx.command().stdin(lines).run()
}

#[test]
fn a_fresh_session_keeps_model_agent_and_preset() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok"));
    let zdx = with_model(&server);
    let lines = "/model test/other\n/agent plan\n/approval paranoid\none\n/new\ntwo\n/approval\n";
    let out = zdx.command().args(["--model", "test/scripted"]).stdin(lines).run().success();
    let calls = server.calls();
    assert_eq!((&calls[1].body["model"], prompt_of(&calls[1]).as_str()), (&json!("other"), "two"));
    assert_eq!(calls[0].messages()[0], calls[1].messages()[0], "the agent's prompt");
    assert_eq!(out.stderr.matches("approval: paranoid").count(), 3, "{}", out.stderr);
    assert_eq!((zdx.session_files().len(), &out.records[0]["model"]), (2, &json!("test/other")));
    assert_eq!(out.records_of("agent").len(), 1);
}

#[test]
fn a_session_is_picked_from_a_numbered_list() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok"));
    let zdx = with_model(&server);
    assert!(chat(&zdx, "/resume\n").success().stderr.contains("no other saved session"));
    zdx.run(["exec", "-p", "older"]).success();
    zdx.run(["exec", "-p", "newer"]).success();
    let out = chat(&zdx, "/resume\n7\n2\ngo on\n").success();
    assert!(out.stderr.contains("there is no number 7 in the list; it goes from 1 to 2"), "{}", out.stderr);
    assert_eq!(shown(&server), ["older", "ok", "go on"]);
    // A line that picks nothing is a line like any other, and a number without a list is a prompt.
    chat(&zdx, "/resume\nnever mind\n1\n").success();
    assert_eq!(shown(&server), ["never mind", "ok", "1"]);

    let pty = zdx.command().line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("/resume\r");
    pty.wait_for_text("a number goes on with that session", SOON);
    wait_for_prompt(&pty);
    pty.send("3\r");
    pty.wait_for_text("resumed", SOON);
    wait_for_prompt(&pty);
    pty.send("and now?\r");
    server.wait_for_call(6, SOON);
    leave(pty);
    assert_eq!(shown(&server), ["newer", "ok", "and now?"]);
}

#[test]
fn the_last_turn_is_taken_back_and_asked_again() {
    let server = ModelServer::start();
    let write = || Reply::chat().tool_call("c1", "write", json!({"path": "a.txt", "content": "slip"}));
    server.push(Reply::chat().text("one"));
    server.push(write());
    server.push(Reply::chat().text("two"));
    server.push(Reply::chat().text("three"));
    let zdx = with_model(&server);
    zdx.write("b.txt", "attached");
    let out = chat(&zdx, "first\nsecond @b.txt\n/retry\n").success();
    assert_eq!(out.stdout, "one\ntwo\nthree\n");
    let seen = shown(&server);
    assert_eq!((seen.len(), seen[0].as_str(), seen[1].as_str()), (3, "first", "one"));
    assert!(seen[2].contains("second @b.txt"), "{seen:?}");
    assert!(server.calls().pop().unwrap().body.to_string().contains("attached"));
    assert!(!zdx.root().join("a.txt").exists(), "what the turn did is undone");

    // In another run, as text alone: it may have come through a pipe then.
    server.push(Reply::chat().text("four"));
    let out = zdx.command().args(["-c"]).stdin("/retry\n").run().success();
    assert_eq!((out.stdout.as_str(), shown(&server).len()), ("four\n", 3));

    server.push(Reply::chat().text("one"));
    server.push(Reply::chat().text("two"));
    let out = zdx.command().args(["--no-save"]).stdin("/retry\nfirst\n/retry\n").run().success();
    assert!(out.stderr.contains("nothing was asked yet"), "{}", out.stderr);
    assert!(out.stderr.contains("asked again as a new turn: this session is not saved"), "{}", out.stderr);
    assert_eq!(shown(&server), ["first", "one", "first"]);
}

fn pid_in(file: &Path) -> Pid {
    let deadline = Instant::now() + SOON;
    loop {
        assert!(Instant::now() < deadline, "{} is not written", file.display());
        let written = std::fs::read_to_string(file).unwrap_or_default();
        if let Some(pid) = written.strip_suffix('\n').and_then(|pid| pid.parse().ok()) {
            return Pid::from_raw(pid).unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupt_ends_what_its_own_turn_left_running() {
    let server = ModelServer::start();
    let sleeper = |id: &str, file: &str| {
        let command = format!("sleep 600 >/dev/null 2>&1 & echo $! > {file}");
        Reply::chat().tool_call(id, "bash", json!({"command": command}))
    };
    server.push(sleeper("c1", "one"));
    server.push(Reply::chat().text("started"));
    server.push(sleeper("c2", "two"));
    server.push(hold_before(Reply::chat().text_deltas(["half", " more"]).done(), " more", &Gate::new()));
    let zdx = with_model(&server);
    let pty = zdx.command().args(["--yolo"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    pty.wait_for_text("still running until zdx exits", SOON);
    wait_for_prompt(&pty);
    pty.send("again\r");
    pty.wait_for_text("\nhalf", SOON);
    let (one, two) = (pid_in(&zdx.root().join("one")), pid_in(&zdx.root().join("two")));
    pty.send("\x03");
    pty.wait_for_text("interrupted", SOON);
    wait_for_prompt(&pty);
    assert_eq!((test_kill_process(one), test_kill_process(two).is_err()), (Ok(()), true));
    leave(pty);
    assert!(test_kill_process(one).is_err(), "nothing outlives zdx");
}

#[test]
fn what_an_option_let_through_is_on_record() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "a");
    server.push(Reply::chat().tool_call("c1", "bash", json!({"command": "rm a.txt"})).tool_call(
        "c2",
        "bash",
        json!({"command": "ls"}),
    ));
    server.push(Reply::chat().text("done"));
    let out = zdx.run(["exec", "--allow-dangerous", "--format", "json", "-p", "x"]).success();
    assert!(!zdx.root().join("a.txt").exists());
    let approvals: Vec<(&Value, &Value, &Value)> = out
        .records_of("approval")
        .iter()
        .map(|record| (&record["tool_use_id"], &record["decision"], &record["by"]))
        .collect();
    assert_eq!(approvals, [(&json!("c1"), &json!("allow_once"), &json!("--allow-dangerous"))]);
    assert!(out.json_lines().iter().any(|event| event["by"] == "--allow-dangerous"));
    let id = out.records[0]["id"].as_str().unwrap();
    assert!(zdx.run(["sessions", "show", id]).stdout.contains("\nallowed by --allow-dangerous\n"));
}

/// Another folder, beside the one that the place works in.
fn other_folder(zdx: &Zdx) -> std::path::PathBuf {
    let other = zdx.home().join("other place");
    std::fs::create_dir_all(&other).unwrap();
    other.canonicalize().unwrap()
}

#[test]
fn a_session_of_another_folder_says_so_and_leaves_that_folder_alone() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let other = other_folder(&zdx);
    let root = other.to_str().unwrap();
    server.push(Reply::chat().tool_call("c1", "write", json!({"path": "a.txt", "content": "kept"})));
    server.push(Reply::chat().text("written"));
    zdx.run(["exec", "--root", root, "-p", "write it"]).success();
    let id = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned();
    let back = format!("cd '{root}' && zdx --session {id}");

    let out = zdx.command().args(["--session", &id]).stdin("/revert\n/retry\n").run();
    let here = zdx.root().canonicalize().unwrap();
    let warning = format!("this session was had in {root}; it goes on here, in {}", here.display());
    assert!(out.stderr.contains(&warning) && out.stderr.contains(&back), "{}", out.stderr);
    assert_eq!(
        out.stderr.matches("nothing was touched: this session was had in").count(),
        2,
        "{}",
        out.stderr
    );
    assert_eq!(std::fs::read_to_string(other.join("a.txt")).unwrap(), "kept");
    assert_eq!(server.calls().len(), 2, "nothing was asked again");

    // What it does from here on can be taken back here.
    server.push(Reply::chat().tool_call("c2", "write", json!({"path": "b.txt", "content": "new"})));
    server.push(Reply::chat().text("written"));
    let out = zdx.command().args(["--session", &id, "--yolo"]).stdin("here too\n/revert\n").run().success();
    assert!(out.stdout.contains("written") && !zdx.root().join("b.txt").exists(), "{}", out.stderr);

    // Where it was had, nothing is said and all of it can be taken back; forth again only there, too.
    let out = zdx.command().args(["--session", &id, "--root", root]).stdin("/revert\n").run().success();
    assert!(!out.stderr.contains("was had in") && !other.join("a.txt").exists(), "{}", out.stderr);
    let out = zdx.command().args(["--session", &id]).stdin("/redo\n").run();
    assert!(out.stderr.contains("nothing was touched: this session was had in"), "{}", out.stderr);
    assert!(!other.join("a.txt").exists());
}

#[test]
fn sessions_of_this_folder_are_offered_first() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok"));
    let zdx = with_model(&server);
    let other = other_folder(&zdx);
    chat(&zdx, "near\n").success();
    zdx.command().args(["--root", other.to_str().unwrap()]).stdin("far\n").run().success();
    let out = chat(&zdx, "/resume\n").success();
    let at = |text: &str| out.stderr.find(text).unwrap_or_else(|| panic!("{text}: {}", out.stderr));
    assert!(at("near") < at("far"), "{}", out.stderr);
    assert!(out.stderr.contains("~/other place"), "{}", out.stderr);
}

#[test]
fn a_person_goes_on_with_a_conversation_not_with_a_run_of_one_prompt() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok"));
    let zdx = with_model(&server);
    chat(&zdx, "talked\n").success();
    zdx.command().args(["exec", "-p", "sum"]).stdin("piped data\n").run().success();
    let listed = zdx.run(["sessions", "list"]).success().stdout;
    assert!(listed.contains("(exec) sum\n") && !listed.contains("piped data"), "{listed}");
    let offered = chat(&zdx, "/resume\n").success().stderr;
    assert!(offered.find("talked").unwrap() < offered.find("(exec) sum").unwrap(), "{offered}");

    zdx.command().arg("-c").stdin("more\n").run().success();
    assert_eq!(shown(&server), ["talked", "ok", "more"]);
    zdx.run(["exec", "-p", "once"]).success();
    zdx.run(["exec", "-c", "-p", "twice"]).success();
    assert_eq!(shown(&server), ["once", "ok", "twice"]);

    // Taken up in a conversation it is one.
    let json = zdx.run(["sessions", "list", "--format", "json"]).success().stdout;
    let newest: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(newest["one_prompt"], true, "{json}");
    zdx.command().args(["--session", newest["id"].as_str().unwrap()]).stdin("talk\n").run().success();
    zdx.run(["exec", "-p", "another"]).success();
    zdx.command().arg("-c").stdin("on\n").run().success();
    assert_eq!(shown(&server).last().unwrap(), "on");
    assert_eq!(shown(&server)[0], "once");
    assert!(!zdx.run(["sessions", "list"]).success().stdout.contains("(exec) once"));
}
