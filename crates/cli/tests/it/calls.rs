//! One life of a call, whoever asked for it: the same events under one id, told when they happen.

use serde_json::{Value, json};
use zdx_testkit::{Gate, ModelServer, Reply, Step};

use crate::{place, results, with_model};

/// What became of each call, in order: `requested shell-1 user`.
fn lives(events: &[Value]) -> Vec<String> {
    let word = |event: &Value| {
        let what = event["type"].as_str()?.strip_prefix("tool_")?;
        let origin = event["origin"].as_str().unwrap_or_default();
        Some(format!("{what} {} {origin}", event["id"].as_str()?).trim_end().to_owned())
    };
    events.iter().filter_map(word).collect()
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn life(id: &str, origin: &str) -> Vec<String> {
    ["requested", "started", "progress", "finished"]
        .map(|what| {
            format!("{what} {id} {}", if what == "progress" { "" } else { origin }).trim_end().to_owned()
        })
        .to_vec()
}

#[test]
fn a_command_that_the_user_types_lives_like_any_call_and_is_kept_as_two_messages() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let out = zdx.run(["exec", "--format", "json", "-p", "!echo hi; exit 3"]).success();
    let events = out.json_lines();
    assert_eq!(lives(&events), life("shell-1", "user"));
    let requested = of_type(&events, "tool_requested")[0];
    assert_eq!(
        (&requested["name"], &requested["input"]),
        (&json!("bash"), &json!({"command": "echo hi; exit 3"}))
    );
    assert_eq!(of_type(&events, "tool_started")[0]["kind"], "execute");
    let result = &of_type(&events, "tool_finished")[0]["result"];
    assert_eq!((&result["data"]["exit_code"], &result["data"]["stdout"]), (&json!(3), &json!("hi\n")));
    let kinds: Vec<&Value> = out.records.iter().map(|record| &record["type"]).collect();
    assert_eq!(kinds, ["meta", "message", "message"]);
    // Refused, it is requested and finished all the same.
    let events = zdx.run(["exec", "--format", "json", "-p", "!rm -rf /"]).success().json_lines();
    assert_eq!(lives(&events), ["requested shell-1 user", "finished shell-1 user"]);
    assert_eq!(of_type(&events, "tool_finished")[0]["result"]["error"]["code"], "approval_required");
    assert_eq!(events.last().unwrap()["denied"], 1);
}

#[test]
fn commands_of_slash_commands_and_checks_live_like_any_call() {
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "write", json!({"path": "a.rs", "content": "x"})).done(),
        Reply::chat().text("done").done(),
    ]);
    let zdx = with_model(&server).config_more("[validation]\ncommand = \"echo checked\"");
    std::fs::create_dir_all(zdx.storage().join("commands")).unwrap();
    std::fs::write(zdx.storage().join("commands/look.md"), "---\ndescription: x\n---\nSee !`echo there`")
        .unwrap();
    let out = zdx.run(["exec", "--format", "json", "-p", "/look"]).success();
    let lives = lives(&out.json_lines());
    let model = ["announced c1", "grew c1", "requested c1 model", "started c1 model", "finished c1 model"];
    let model = model.map(str::to_owned);
    assert_eq!(lives, [life("slash-0-0", "command"), model.to_vec(), life("check-1-1", "check")].concat());
    assert_eq!(of_type(&out.json_lines(), "tool_grew")[0]["path"], "a.rs");
    let checked = of_type(&out.json_lines(), "checked")[0].clone();
    assert_eq!((&checked["result"], &checked["id"]), (&json!("passed"), &json!("check-1-1")));
    // Only what a model called for is part of what models read.
    let uses: Vec<&Value> = out.records_of("tool_use").into_iter().map(|record| &record["id"]).collect();
    assert_eq!(uses, ["c1"]);
    assert_eq!(out.records_of("tool_result").len(), 1);
}

#[test]
fn a_call_says_what_it_is_about() {
    let patch = "*** Begin Patch\n*** Delete File: gone.txt\n*** End Patch";
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "read", json!({"path": "a.rs", "offset": 2})).done(),
        Reply::chat().tool_call("c2", "edit", json!({"path": "a.rs", "old": "three", "new": "3"})).done(),
        Reply::chat().tool_call("c3", "patch", json!({ "patch": patch })).done(),
        Reply::chat().tool_call("c4", "grep", json!({"pattern": "one"})).done(),
        Reply::chat().tool_call("c5", "todowrite", json!({"items": []})).done(),
        Reply::chat().text("done").done(),
    ]);
    let zdx = with_model(&server);
    zdx.write("a.rs", "one\ntwo\nthree\n");
    zdx.write("gone.txt", "x\n");
    let out = zdx.run(["exec", "--format", "json", "-p", "go"]).success();
    let events = out.json_lines();
    let started = of_type(&events, "tool_started");
    let kinds: Vec<&Value> = started.iter().map(|event| &event["kind"]).collect();
    assert_eq!(kinds, ["read", "edit", "delete", "search", "think"]);
    let at = |n: usize| (&started[n]["locations"][0]["path"], &started[n]["locations"][0]["line"]);
    let path = json!(zdx.root().join("a.rs"));
    assert_eq!((at(0), at(1)), ((&path, &json!(2)), (&path, &json!(3))));
    assert!(started[1]["preview"]["diff"].as_str().unwrap().contains("-three\n+3"), "{}", started[1]);
    // What changed lies beside the result, for people; models are sent what they always were.
    let finished = of_type(&events, "tool_finished");
    assert!(finished[1]["diff"].as_str().unwrap().contains("-three\n+3"), "{}", finished[1]);
    assert_eq!(finished[0].get("diff"), None);
    let saved = out.records_of("tool_result");
    assert_eq!(saved[1]["diff"], finished[1]["diff"]);
    let sent = json!(server.calls().pop().unwrap().messages()).to_string();
    assert!(!sent.contains("-three"), "{sent}");
}

/// Two agents work side by side; the first one to be launched is the last to be done.
#[test]
fn what_runs_side_by_side_is_told_when_it_happens_and_by_its_own_id() {
    let held = Gate::new();
    let gate = held.clone();
    let server = ModelServer::start();
    server.always(move |request| {
        let messages = request.messages();
        let first = messages.iter().find(|m| m["role"] == "user").unwrap()["content"].to_string();
        let answered = messages.iter().filter(|m| m["role"] == "tool").count();
        let write =
            |name: &str| Reply::chat().tool_call("w", "write", json!({"path": name, "content": name})).done();
        match (first.contains("delegate"), first.contains("slow"), answered) {
            (true, _, 0) => Reply::chat()
                .tool_call("t1", "task", json!({"agent": "general", "prompt": "slow"}))
                .tool_call("t2", "task", json!({"agent": "general", "prompt": "quick"}))
                .done(),
            (true, ..) => Reply::chat().text("both").done(),
            (false, true, 0) => write("slow.txt").insert_at(0, Step::WaitFor(gate.clone())),
            (false, true, _) => Reply::chat().text("slow is done").done(),
            (false, false, 0) => write("quick.txt"),
            (false, false, _) => Reply::chat().text("quick is done").done(),
        }
    });
    let zdx = place().chat(&server);
    let running = zdx.command().args(["exec", "--format", "json", "-p", "delegate"]).spawn();
    // The second one's end is told while the first one is still at work: its report stands in its result
    // alone, while its words come earlier, as they are said.
    running.wait_for_stdout(r#""report":"quick is done""#, crate::SOON);
    held.open();
    let out = running.finish(crate::SOON).success();
    let events = out.json_lines();

    let ends: Vec<&Value> = of_type(&events, "tool_finished").into_iter().map(|event| &event["id"]).collect();
    assert_eq!(ends, ["t2/w", "t2", "t1/w", "t1"]);
    let changed: Vec<(String, &Value)> = of_type(&events, "file_changed")
        .into_iter()
        .map(|event| (event["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(), &event["id"]))
        .collect();
    assert_eq!(changed, [("quick.txt".to_owned(), &json!("t2")), ("slow.txt".to_owned(), &json!("t1"))]);
    let progress: Vec<&Value> =
        of_type(&events, "tool_progress").into_iter().map(|event| &event["id"]).collect();
    assert!(progress.contains(&&json!("t1")) && progress.contains(&&json!("t2")), "{progress:?}");
    let theirs = of_type(&events, "tool_requested").into_iter().filter(|event| event["origin"] == "subagent");
    let parents: Vec<(&Value, &Value)> = theirs.map(|event| (&event["id"], &event["parent"])).collect();
    assert_eq!(parents, [(&json!("t2/w"), &json!("t2")), (&json!("t1/w"), &json!("t1"))]);

    // The model reads its results in the order of its calls.
    let last = server.calls().into_iter().rev().find(|r| r.body.to_string().contains("delegate")).unwrap();
    let reports: Vec<Value> = results(&last).iter().map(|result| result["data"]["report"].clone()).collect();
    assert_eq!(reports, ["slow is done", "quick is done"]);
    let own: Vec<&Value> =
        out.records_of("change").into_iter().map(|record| &record["tool_use_id"]).collect();
    assert_eq!(own, ["t2", "t1"]);
}
