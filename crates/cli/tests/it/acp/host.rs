//! What the agent may do here, by the three flags, and how it is told.

use serde_json::{Value, json};
use zdx_testkit::Signal;

use super::{acp, answers, playing, sent_of, with_agent};
use crate::SOON;

/// The seed's table, row by row: what is read and written in the workspace and out of it.
#[test]
fn files_are_served_by_the_table_of_flags() {
    for (flags, inside_write, outside_read) in
        [(&[][..], false, false), (&["--write"][..], true, false), (&["--yolo"][..], true, true)]
    {
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(outside.path(), "secret\n").unwrap();
        let target = outside.path().with_extension("new");
        let zdx = playing(json!([
            {"ask": "fs/read_text_file", "params": {"path": "$cwd/a.txt"}},
            {"ask": "fs/read_text_file", "params": {"path": outside.path()}},
            {"ask": "fs/write_text_file", "params": {"path": "$cwd/new/b.txt", "content": "new\n"}},
            {"ask": "fs/write_text_file", "params": {"path": target, "content": "x"}},
            {"ask": "session/request_permission", "params": {"toolCall": {"toolCallId": "c", "title": "Edit b", "kind": "edit", "locations": [{"path": "$cwd/b.txt"}]},
                "options": [{"optionId": "no", "name": "yes", "kind": "reject_once"}, {"optionId": "yes", "name": "no", "kind": "allow_once"}]}}
        ]));
        zdx.write("a.txt", "ours\n");
        let args = [flags, &["hi"]].concat();
        let output = acp(&zdx, &args).run().success();
        let told = answers(&zdx);
        let well: Vec<bool> = told.iter().map(|answer| answer.get("result").is_some()).collect();
        assert_eq!(well, [true, outside_read, inside_write, false, true], "{flags:?}: {told:?}");
        assert_eq!(told[0]["result"]["content"], "ours\n");
        assert_eq!(zdx.root().join("new/b.txt").exists(), inside_write);
        assert!(!target.exists());
        let (answer, word) = if inside_write { ("yes", "auto-allow") } else { ("no", "auto-deny") };
        assert_eq!(told[4]["result"]["outcome"], json!({"outcome": "selected", "optionId": answer}));
        assert!(output.stdout.contains(&format!("[permission] {word} edit Edit b")), "{}", output.stdout);
        let simple = acp(&zdx, &[&["-o", "simple"], args.as_slice()].concat()).run().success();
        assert_eq!(simple.stdout, "", "nothing of it is the answer");
    }
}

#[test]
fn a_terminal_is_really_run_and_told_line_by_line() {
    let zdx = playing(json!("terminal"));
    let output = acp(&zdx, &["hi"]).run().success();
    let lines: Vec<&str> = output.stdout.lines().filter(|line| line.starts_with("[term]")).collect();
    assert_eq!(lines[0], "[term] created term-1 sh -c 'printf out; printf err >&2; exit 3'");
    assert!(
        lines.contains(&"[term] output term-1 out") && lines.contains(&"[term] exited term-1 code=3"),
        "{lines:?}"
    );
    assert_eq!(lines.last(), Some(&"[term] released term-1"));
    assert!(output.stdout.ends_with("ran\n"));
    let advertised = &sent_of(&zdx, "initialize")[0]["clientCapabilities"];
    assert_eq!(*advertised, json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true}));
}

#[test]
fn a_terminal_that_was_left_running_ends_with_us() {
    let zdx = playing(
        json!([{"ask": "terminal/create", "params": {"command": "sleep", "args": ["31536002"]}}, {"say": "left it"}]),
    );
    acp(&zdx, &["hi"]).timeout(SOON).run().success();
    assert_eq!(crate::mcp::processes_with("31536002"), 0);
}

#[test]
fn once_a_turn_is_called_off_permissions_are_answered_as_cancelled() {
    let options = json!([{"optionId": "yes", "name": "y", "kind": "allow_once"}]);
    let zdx = playing(json!([
        {"deaf": true}, {"say": "working"}, {"wait": "cancel"},
        {"ask": "session/request_permission", "params": {"toolCall": {"toolCallId": "c", "kind": "read"}, "options": options}},
        {"stop": "cancelled"}
    ]));
    let mut running = acp(&zdx, &["hi"]).spawn();
    running.wait_for_stdout("working", SOON);
    running.signal(Signal::INT);
    running.finish(SOON).expect_code(130);
    assert_eq!(answers(&zdx)[0]["result"]["outcome"], json!({"outcome": "cancelled"}));
}

#[test]
fn a_whole_turn_changes_a_file() {
    let zdx = playing(json!("turn"));
    zdx.write("a.txt", "hello\n");
    let output = acp(&zdx, &["--write", "hi"]).run().success();
    assert_eq!(zdx.read("b.txt"), "new\n");
    assert!(output.stdout.contains("[tool.out] {\"content\":\"hello\\n\"}\n"), "{}", output.stdout);
    assert!(output.stdout.ends_with("all done\n"), "{}", output.stdout);
}

#[test]
fn the_checklist_is_printed_and_a_failure_is_one() {
    let zdx = with_agent(json!({}));
    let output = acp(&zdx, &["--conform"]).run().success();
    assert!(
        output.stdout.contains("pass     initialize\n") && output.stdout.contains(" 0 failed"),
        "{}",
        output.stdout
    );
    let zdx = with_agent(json!({"on": {"session/prompt": [{"raw": "noise"}, {"result": {}}]}}));
    let output = acp(&zdx, &["--conform", "-o", "jsonl"]).run().expect_code(1);
    let failed: Vec<Value> =
        output.json_lines().into_iter().filter(|item| item["outcome"] == "fail").collect();
    let names: Vec<&str> = failed.iter().filter_map(|item| item["item"].as_str()).collect();
    assert!(names.contains(&"nothing but frames on stdout"), "{names:?}");
    assert!(names.contains(&"session/prompt ends with a stop reason"), "{names:?}");
}

/// Some say what a call is when they announce it and name it by its id from then on; others announce it by asking.
#[test]
fn a_permission_is_about_all_that_was_said_of_its_call() {
    let options = json!([{"optionId": "yes", "name": "y", "kind": "allow_once"}, {"optionId": "no", "name": "n", "kind": "reject_once"}]);
    let zdx = playing(json!([
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Write b", "kind": "edit", "status": "pending", "locations": [{"path": "$cwd/b"}]}},
        {"ask": "session/request_permission", "params": {"toolCall": {"toolCallId": "c"}, "options": options}},
        {"ask": "session/request_permission", "params": {"toolCall": {"toolCallId": "d", "title": "Read a", "kind": "read", "rawInput": {"path": "a"}}, "options": options}},
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "d", "status": "completed"}}
    ]));
    let output = acp(&zdx, &["hi"]).run().success();
    let outcomes: Vec<Value> =
        answers(&zdx).iter().map(|answer| answer["result"]["outcome"]["optionId"].clone()).collect();
    assert_eq!(outcomes, ["no", "yes"], "an edit is one, though only its id was named");
    let root = zdx.root().display();
    let expected = format!(
        "[tool] edit Write b @ {root}/b\n[permission] auto-deny edit Write b: {root}/b: writing needs --write\n\
         [tool] read Read a\n[tool.in] {{\"path\":\"a\"}}\n[permission] auto-allow read Read a\n"
    );
    assert_eq!(output.stdout, expected);
}

#[test]
fn more_than_enough_requests_at_once_are_refused() {
    let mut play = vec![
        json!({"ask": "terminal/create", "as": "made", "params": {"command": "sleep", "args": ["600"]}}),
    ];
    let wait =
        json!({"ask": "terminal/wait_for_exit", "params": {"terminalId": "$made/terminalId"}, "wait": false});
    play.extend(std::iter::repeat_n(wait, 300));
    play.push(json!({"ask": "terminal/nonsense", "params": {}}));
    play.push(json!({"say": "went on"}));
    let zdx = playing(json!(play));
    assert_eq!(acp(&zdx, &["-o", "simple", "hi"]).run().success().stdout, "went on\n");
    let refused = |answer: &&Value| answer["error"]["message"] == "too many requests at once";
    assert_eq!(answers(&zdx).iter().filter(refused).count(), 45, "300 and one behind them, 256 at once");
}

#[test]
fn what_a_person_would_have_to_confirm_is_refused_without_a_way_out_that_is_none() {
    let zdx = playing(json!("files"));
    zdx.write("a.txt", "1\n2\n");
    let output = acp(&zdx, &["--write", "hi"]).run().success();
    let refused = output.stdout.lines().find(|line| line.contains(".git/config")).expect("a refusal");
    assert!(refused.starts_with("[permission] auto-deny write "), "{refused}");
    assert!(refused.ends_with("; a person would have to confirm it, and nobody is asked here"), "{refused}");
    assert_eq!(answers(&zdx)[0]["result"]["content"], "2\n");
    assert_eq!(zdx.read("new/deep.txt"), "deep\n");
}
