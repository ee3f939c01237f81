//! Going back, going forth, branching off and summing up: the conversation and the files it changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use zdx_testkit::{Gate, ModelServer, Reply, Zdx};

use crate::{SOON, hold_before, place, with_model};

/// Every file and folder of the workspace, with content and mode.
type Tree = BTreeMap<String, (Option<Vec<u8>>, u32)>;

fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
            let name = path.strip_prefix(root).unwrap().display().to_string();
            match path.is_dir() {
                true => {
                    tree.insert(name, (None, mode));
                    folders.push(path);
                }
                false => {
                    tree.insert(name, (Some(fs::read(&path).unwrap()), mode));
                }
            }
        }
    }
    tree
}

fn with_mode(zdx: &Zdx, path: &str, content: &[u8], mode: u32) {
    zdx.write(path, content);
    fs::set_permissions(zdx.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
}

fn id_of(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

fn only_id(zdx: &Zdx) -> String {
    id_of(&zdx.session_files()[0])
}

/// One turn in which the model makes these calls and then says `said`.
fn turn(server: &ModelServer, calls: &[(&str, Value)], said: &str) {
    for (n, (tool, input)) in calls.iter().enumerate() {
        server.push(Reply::chat().tool_call(&format!("{said}-{n}"), tool, input.clone()));
    }
    server.push(Reply::chat().text(said));
}

/// What the last request says, as far as prompts and answers go.
fn said(server: &ModelServer) -> Vec<String> {
    let request = server.calls().pop().unwrap();
    let spoken = request.messages().iter().filter(|m| m["role"] == "user" || m["role"] == "assistant");
    spoken.filter_map(|message| message["content"].as_str().map(str::to_owned)).collect()
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write", json!({"path": path, "content": content}))
}

#[test]
fn revert_and_redo_are_byte_and_mode_exact() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    with_mode(&zdx, "run.sh", b"#!/bin/sh\necho 1\n", 0o751);
    with_mode(&zdx, "crlf.txt", b"\xef\xbb\xbfone\r\ntwo\r\nno newline", 0o640);
    with_mode(&zdx, "gone.bin", b"\x00\xff secret\n", 0o600);
    with_mode(&zdx, "gone.txt", b"secret\n", 0o600);
    with_mode(&zdx, "moves.txt", b"a\nb\n", 0o604);
    let start = tree(zdx.root());

    turn(
        &server,
        &[
            write("run.sh", "#!/bin/sh\necho 2\n"),
            ("edit", json!({"path": "crlf.txt", "old": "two", "new": "2"})),
        ],
        "first done",
    );
    zdx.run(["exec", "-p", "first"]).success();
    let first = tree(zdx.root());
    let patch = "*** Begin Patch\n*** Update File: run.sh\n@@\n-echo 2\n+echo 3\n*** Delete File: gone.txt\n\
                 *** Add File: made/by/patch.txt\n+x\n*** Update File: moves.txt\n*** Move to: made/moved.txt\n@@\n-a\n+A\n\
                 *** End Patch";
    turn(
        &server,
        &[
            write("new/deep/file.txt", "x"),
            write("gone.bin", "now text"),
            ("patch", json!({"patch": patch})),
            ("bash", json!({"command": "echo by-bash > bash.txt; mkdir -p new/of-bash"})),
        ],
        "second done",
    );
    zdx.run(["-c", "exec", "-p", "second"]).success();
    let second = tree(zdx.root());
    assert!(!second.contains_key("gone.txt") && second.contains_key("made/moved.txt"), "{second:?}");
    let id = only_id(&zdx);

    let dry = zdx.run(["sessions", "revert", &id, "--dry-run"]).success().stdout;
    assert!(dry.contains("gone.txt") && dry.contains("would be"), "{dry}");
    assert_eq!(tree(zdx.root()), second, "a dry run does nothing");

    // What a command did is left alone.
    let with_bash = |tree: &Tree| {
        let mut tree = tree.clone();
        for name in ["bash.txt", "new", "new/of-bash"] {
            tree.insert(name.to_owned(), second[name].clone());
        }
        tree
    };
    let told = zdx.run(["sessions", "revert", &id]).success().stdout;
    assert!(told.contains("back to before turn 2"), "{told}");
    assert_eq!(tree(zdx.root()), with_bash(&first));
    zdx.run(["sessions", "revert", &id, "--turn", "1"]).success();
    assert_eq!(tree(zdx.root()), with_bash(&start));
    zdx.run(["sessions", "redo", &id]).success();
    assert_eq!(tree(zdx.root()), with_bash(&first));

    let redone = zdx.run(["--format", "json", "sessions", "redo", &id]).success().json_lines();
    assert_eq!((&redone[0]["type"], &redone[0]["turn"]), (&json!("redone"), &json!(2)));
    assert_eq!(tree(zdx.root()), second);
    let nothing = zdx.run(["sessions", "redo", &id]).expect_code(1);
    assert!(nothing.stderr.contains("no revert"), "{}", nothing.stderr);

    turn(&server, &[], "third done");
    zdx.run(["-c", "exec", "-p", "third"]).success();
    assert!(said(&server).contains(&"second done".to_owned()), "the redo brought the conversation back");
    zdx.run(["sessions", "revert", &id, "--turn", "2"]).success();
    turn(&server, &[], "instead");
    zdx.run(["-c", "exec", "-p", "second again"]).success();
    let said = said(&server);
    assert_eq!(said, ["first", "first done", "second again"], "reverted turns leave the context");
    zdx.run(["sessions", "redo", &id]).expect_code(1);
    let shown = zdx.run(["sessions", "show", &id]).success().stdout;
    assert!(shown.contains("> second\n") && shown.contains("> second again"), "nothing is deleted: {shown}");
}

#[test]
fn a_file_changed_by_somebody_else_refuses_everything() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "a0");
    turn(&server, &[write("a.txt", "a1"), write("b.txt", "b1"), write("c.txt", "c1")], "done");
    zdx.run(["exec", "-p", "go"]).success();
    let id = only_id(&zdx);
    zdx.write("b.txt", "by hand");
    fs::remove_file(zdx.root().join("c.txt")).unwrap();
    let log = fs::read(&zdx.session_files()[0]).unwrap();
    let before = tree(zdx.root());
    for args in [&["sessions", "revert", &id][..], &["sessions", "revert", &id, "--dry-run"]] {
        let refused = zdx.run(args).expect_code(1);
        assert!(refused.stderr.contains("b.txt was changed since"), "{}", refused.stderr);
        // Gone is what a revert would have made of it.
        assert!(!refused.stderr.contains("c.txt") && !refused.stderr.contains("a.txt"), "{}", refused.stderr);
        assert_eq!(tree(zdx.root()), before);
        assert_eq!(fs::read(&zdx.session_files()[0]).unwrap(), log, "nothing is saved of it");
    }
    zdx.write("b.txt", "b1");
    zdx.run(["sessions", "revert", &id]).success();
    assert_eq!(tree(zdx.root()).into_keys().collect::<Vec<_>>(), ["a.txt"]);
    zdx.write("a.txt", "by hand");
    let refused = zdx.run(["sessions", "redo", &id]).expect_code(1);
    assert!(refused.stderr.contains("a.txt was changed since"), "{}", refused.stderr);
    assert_eq!(zdx.read("a.txt"), "by hand");
    assert!(!zdx.root().join("b.txt").exists());
}

#[test]
fn turns_that_are_not_there_are_named() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    turn(&server, &[], "done");
    zdx.run(["exec", "-p", "go"]).success();
    let id = only_id(&zdx);
    for (args, word) in [
        (["sessions", "revert", &id, "--turn=2"], "there is no turn 2"),
        (["sessions", "revert", &id, "--turn=0"], "there is no turn 0"),
        (["sessions", "fork", &id, "--turn=2"], "there is no turn 2"),
    ] {
        let refused = zdx.run(args).expect_code(1);
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    assert_eq!(zdx.session_files().len(), 1);
}

#[test]
fn a_fork_stands_alone_and_leaves_the_original_untouched() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "a0");
    turn(&server, &[write("a.txt", "a1"), ("bash", json!({"command": "seq 20000"}))], "first done");
    zdx.run(["exec", "-p", "first"]).success();
    let file = zdx.session_files().remove(0);
    let id = id_of(&file);

    // The original is in use: a turn waits for its answer.
    let gate = Gate::new();
    server.push(hold_before(Reply::chat().text_deltas(["second done"]).done(), "second done", &gate));
    let running = zdx.command().args(["-c", "exec", "-p", "second"]).spawn();
    gate.wait_reached(SOON);
    let before = fs::read(&file).unwrap();
    let fork = zdx.run(["sessions", "fork", &id]).success().stdout.trim().to_owned();
    let early = zdx.run(["sessions", "fork", &id, "--turn", "2"]).success().stdout.trim().to_owned();
    assert_eq!(fs::read(&file).unwrap(), before, "the original is only read");
    zdx.run(["sessions", "revert", &id]).expect_code(1);
    gate.open();
    running.finish(SOON).success();
    assert_eq!(zdx.session_files().len(), 3);

    zdx.run(["sessions", "delete", &id]).success();
    turn(&server, &[], "early done");
    zdx.run(["exec", "--session", &early, "-p", "other second"]).success();
    assert_eq!(said(&server).last().unwrap(), "other second");
    let request = server.calls().pop().unwrap().body.to_string();
    assert!(request.contains("first done") && !request.contains("\"second\""), "{request}");
    assert!(!request.contains(&id), "nothing of the fork leads to the original");
    let companion = zdx.storage().join("sessions").join(&early);
    let spilled = fs::read_to_string(companion.join("first_done-1.stdout")).unwrap();
    assert!(spilled.contains("20000"), "long outputs came along");

    turn(&server, &[], "fork done");
    zdx.run(["exec", "--session", &fork, "-p", "third"]).success();
    let mut ours = zdx.records();
    assert_eq!((&ours[0]["id"], &ours[0]["parent"]), (&json!(fork), &json!(id)));
    ours.retain(|record| record["type"] == "message" && record["role"] == "user");
    let prompts: Vec<_> = ours.iter().map(|record| record["text"].as_str().unwrap()).collect();
    assert_eq!(prompts, ["first", "second", "third"]);
    zdx.run(["sessions", "revert", &fork, "--turn", "1"]).success();
    assert_eq!(zdx.read("a.txt"), "a0", "what files held came along");
}

#[test]
fn a_fork_of_a_reverted_session_counts_turns_as_they_stand() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for prompt in ["one", "wrong"] {
        turn(&server, &[], &format!("{prompt} done"));
        zdx.run(["exec", "-c", "-p", prompt].into_iter().filter(|arg| *arg != "-c" || prompt != "one"))
            .success();
    }
    let id = only_id(&zdx);
    zdx.run(["sessions", "revert", &id]).success();
    for prompt in ["two", "three"] {
        turn(&server, &[], &format!("{prompt} done"));
        zdx.run(["-c", "exec", "-p", prompt]).success();
    }
    let fork = zdx.run(["sessions", "fork", &id, "--turn", "3"]).success().stdout.trim().to_owned();
    turn(&server, &[], "done");
    zdx.run(["exec", "--session", &fork, "-p", "four"]).success();
    assert_eq!(said(&server), ["one", "one done", "two", "two done", "four"]);
}

#[test]
fn a_chat_goes_back_and_forth_and_on_in_a_fork() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "a0");
    turn(&server, &[write("a.txt", "a1")], "first done");
    turn(&server, &[write("a.txt", "a2")], "second done");
    turn(&server, &[], "forked");
    let lines = "/fork\nfirst\nsecond\n/files\n/revert\n/redo\n/redo\n/revert 2\n/revert x\n/fork\nthird\n";
    let out = zdx.command().stdin(lines).run().success();
    assert_eq!(out.stdout, "first done\nsecond done\nforked\n");
    for words in [
        "nothing was said yet",
        "changed a.txt (+1 -1)\n",
        "back to before turn 2\nrestored a.txt\n",
        "forth again to the end of turn 2",
        "no revert to take back",
        "x is no number of a turn",
    ] {
        assert!(out.stderr.contains(words), "{words} in {}", out.stderr);
    }
    assert_eq!(zdx.read("a.txt"), "a1");
    assert_eq!(said(&server), ["first", "first done", "third"]);
    let files = zdx.session_files();
    assert_eq!(files.len(), 2);
    assert_eq!(zdx.records()[0]["parent"], id_of(&files[0]));
    let short = &id_of(&files[0])[..8];
    let told =
        format!("this is a fork of session {short}, up to turn 1; /resume {short} goes back to that one\n");
    assert_eq!(out.stderr.matches(&told).count(), 1, "{}", out.stderr);
    turn(&server, &[], "on");
    let args = ["--format", "json", "--session", &id_of(&files[1]), "exec", "-p", "on"];
    assert_eq!(zdx.run(args).success().json_lines()[0]["parent"], id_of(&files[0]));
}

#[test]
fn what_a_subagent_changed_is_taken_back_with_its_task() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a.txt", "a0");
    server.push(Reply::chat().tool_call("t", "task", json!({"agent": "general", "prompt": "do it"})));
    turn(&server, &[write("a.txt", "by the child"), write("new/b.txt", "b")], "child done");
    server.push(Reply::chat().text("parent done"));
    zdx.run(["exec", "-p", "delegate"]).success();
    assert_eq!(zdx.read("a.txt"), "by the child");
    let sessions = zdx.run(["sessions", "list", "--all", "--format", "json"]).success().json_lines();
    let of =
        |prompt: &str| sessions.iter().find(|line| line["first_prompt"] == prompt).unwrap()["id"].clone();
    let (parent, child) = (of("delegate"), of("do it"));

    zdx.run(["sessions", "revert", parent.as_str().unwrap()]).success();
    assert_eq!(tree(zdx.root()).into_keys().collect::<Vec<_>>(), ["a.txt"]);
    assert_eq!(zdx.read("a.txt"), "a0");
    zdx.run(["sessions", "redo", parent.as_str().unwrap()]).success();
    zdx.run(["sessions", "revert", child.as_str().unwrap()]).success();
    assert_eq!(zdx.read("a.txt"), "a0");
}

#[test]
fn without_saving_there_is_nothing_to_go_back_to() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    turn(&server, &[write("a.txt", "a1")], "done");
    let out = zdx.command().args(["--no-save"]).stdin("go\n/revert\n/fork\n/summarize\n").run();
    assert!(out.stderr.contains("nothing was kept to go back to"), "{}", out.stderr);
    assert_eq!(out.stderr.matches("this session is not saved").count(), 3, "{}", out.stderr);
    assert_eq!(zdx.read("a.txt"), "a1");
}

#[test]
fn changes_are_events_and_records() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    turn(&server, &[write("new/a.txt", "a1"), write("new/a.txt", "a1")], "done");
    let out = zdx.run(["exec", "--format", "json", "-p", "go"]).success();
    let lines = out.json_lines();
    let changes: Vec<_> = lines.iter().filter(|line| line["type"] == "file_changed").collect();
    assert_eq!(changes.len(), 1, "what stays as it is has not changed: {changes:?}");
    let path = zdx.root().join("new/a.txt");
    let mode = path.metadata().unwrap().permissions().mode() & 0o7777;
    let sha256 = "f55ff16f66f43360266b95db6f8fec01d76031054306ae4a4b380598f6cfd114";
    assert_eq!(changes[0]["id"], "done-0");
    let records = zdx.records();
    let record = records.iter().find(|record| record["type"] == "change").unwrap();
    assert_eq!(
        record,
        &json!({"type": "change", "tool_use_id": "done-0", "path": path, "before": null,
                "after": {"sha256": sha256, "mode": mode}, "folders": 1, "ts": record["ts"]})
    );
}

#[test]
fn a_summary_comes_from_the_model_or_from_the_session() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    turn(&server, &[write("a.txt", "a1")], "All is built.");
    zdx.run(["exec", "-p", "build it"]).success();
    let id = only_id(&zdx);
    let before = fs::read(&zdx.session_files()[0]).unwrap();

    server.push(Reply::chat().text("It was built."));
    let out = zdx.run(["sessions", "summarize", &id]).success();
    assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("It was built.\n", ""));
    let asked = server.calls().pop().unwrap();
    assert!(asked.tool_names().is_empty() && asked.body.to_string().contains("All is built."), "{asked:?}");

    let calls = server.calls().len();
    for useless in [
        Reply::chat().text(" \n").into(),
        Reply::chat().tool_call("c", "read", json!({"path": "a.txt"})).into(),
        Reply::status(503),
    ] {
        server.push(useless);
        let out = zdx.run(["sessions", "summarize", &id]).success();
        assert_eq!(
            out.stdout, "First request: build it\nFiles changed: a.txt\nLast answer: All is built.\n",
            "{}",
            out.stderr
        );
        assert!(out.stderr.contains("made from the session itself"), "{}", out.stderr);
    }
    assert_eq!(server.calls().len(), calls + 3, "one request each");
    assert_eq!(fs::read(&zdx.session_files()[0]).unwrap(), before);

    server.push(Reply::chat().text("Summed up."));
    let out = zdx.command().args(["sessions", "resume"]).stdin("/summarize\n").run().success();
    assert!(out.stderr.contains("Summed up.") && out.stdout.is_empty(), "{}", out.stderr);
}

#[test]
fn sessions_of_other_places_are_not_confused() {
    let zdx = place();
    for command in ["revert", "redo", "fork", "summarize"] {
        let out = zdx.run(["sessions", command, "0000"]).expect_code(1);
        assert!(out.stderr.contains("sessions list"), "{}", out.stderr);
    }
}
