//! Agents, tasks, mentions, slash commands and checks, seen from outside the binary.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use zdx_testkit::{Gate, ModelServer, Reply, Request, Step, Zdx};

use crate::{place, results};

const SOON: Duration = Duration::from_secs(60);

fn system(request: &Request) -> String {
    request.messages()[0]["content"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_planner_is_told_of_no_tool_it_may_not_use_and_is_held_to_it() {
    let server = ModelServer::start_with([
        Reply::chat()
            .tool_call("c1", "write", json!({"path": "a.txt", "content": "x"}))
            .tool_call("c2", "bash", json!({"command": "touch b.txt"}))
            .tool_call("c3", "bash", json!({"command": "ls"}))
            .done(),
        Reply::chat().text("a plan").done(),
    ]);
    let zdx = place().chat(&server);
    let out = zdx.run(["exec", "--agent", "plan", "-p", "think"]).success();
    assert!(system(&server.calls()[0]).contains("planning"), "{}", system(&server.calls()[0]));
    let codes: Vec<_> = results(&server.calls()[1]).iter().map(|r| r["error"]["code"].clone()).collect();
    assert_eq!(codes, [json!("denied"), json!("denied"), Value::Null]);
    let why = results(&server.calls()[1])[0]["error"]["message"].to_string();
    assert!(
        why.contains("a rule of the agent plan; another one may be allowed to (`/agent build`)"),
        "{why}"
    );
    assert!(!zdx.root().join("a.txt").exists() && !zdx.root().join("b.txt").exists());
    assert_eq!(out.records_of("agent")[0]["agent"], "plan");
    assert!(out.stderr.contains("denied"), "{}", out.stderr);
}

/// Where `ask` means `allow`: the option that makes git write a file does not pass, however it is spelled.
#[test]
fn a_planner_writes_through_no_option() {
    let commands = [
        "git diff --output=x",
        "git diff --output x",
        "git diff --ou x",
        "git diff --outp=x",
        "git log -1 --outpu x",
        "git show HEAD --out=x",
        "git diff \"--o\"utput=x",
        "O=--output=x; git diff $O",
        "git diff $(echo --output=x)",
    ];
    let calls = commands.iter().enumerate().fold(Reply::chat(), |reply, (index, command)| {
        reply.tool_call(&format!("c{index}"), "bash", json!({"command": command}))
    });
    let server = ModelServer::start_with([calls.done(), Reply::chat().text("a plan").done()]);
    let zdx = place().chat(&server);
    zdx.run(["exec", "--agent", "plan", "--approval", "yolo", "-p", "think"]).success();
    let codes: Vec<_> = results(&server.calls()[1]).iter().map(|r| r["error"]["code"].clone()).collect();
    assert_eq!(codes, vec![json!("denied"); commands.len()]);
    assert!(!zdx.root().join("x").exists());
}

#[test]
fn an_agent_of_ones_own_changes_prompt_model_and_tools_and_survives_resume() {
    let server =
        ModelServer::start_with([Reply::chat().text("arr").done(), Reply::chat().text("arr again").done()]);
    let zdx = place().chat(&server);
    fs::create_dir_all(zdx.storage().join("agents")).unwrap();
    let profile = "---\ndescription: speaks like a sailor\ntools: [read, grep]\ntemperature: 0.5\n---\nTalk like a sailor.\n";
    fs::write(zdx.storage().join("agents/sailor.md"), profile).unwrap();
    zdx.run(["exec", "-p", "@agent:sailor hello"]).success();
    zdx.run(["exec", "-c", "-p", "hello again"]).success();
    for request in server.calls() {
        assert!(system(&request).contains("Talk like a sailor."), "{}", system(&request));
        assert_eq!(request.tool_names(), ["read", "grep"]);
        assert_eq!(request.body["temperature"], 0.5);
    }
    let out = zdx.run(["exec", "--agent", "nobody", "-p", "x"]).expect_code(1);
    assert!(out.stderr.contains("no agent named nobody") && out.stderr.contains("sailor"), "{}", out.stderr);
}

/// Subagents ask the same server: whose request it is shows in its first user message.
fn task_server() -> ModelServer {
    let server = ModelServer::start();
    server.always(|request| {
        let messages = request.messages();
        let first = messages.iter().find(|m| m["role"] == "user").unwrap()["content"].to_string();
        let answered = messages.iter().any(|m| m["role"] == "tool");
        match (first.contains("delegate"), first.contains("write it"), answered) {
            (true, _, false) => Reply::chat()
                .tool_call("t1", "task", json!({"agent": "explore", "prompt": "find it"}))
                .tool_call("t2", "task", json!({"agent": "general", "prompt": "write it"}))
                .done(),
            (true, _, true) => Reply::chat().text("both reported").done(),
            (false, true, false) => {
                Reply::chat().tool_call("w", "bash", json!({"command": "rm old.txt"})).done()
            }
            (false, true, true) => Reply::chat().text("written").done(),
            (false, false, false) => {
                Reply::chat().tool_call("g", "write", json!({"path": "no.txt", "content": "x"})).done()
            }
            (false, false, true) => Reply::chat().text("found in a.rs").done(),
        }
    });
    server
}

#[test]
fn tasks_run_in_sessions_of_their_own_under_their_parents_rules() {
    let server = task_server();
    let zdx = place().chat(&server);
    zdx.write("old.txt", "x");
    let out = zdx.run(["exec", "--allow-dangerous", "-p", "delegate", "--format", "json"]).success();
    let result = out.json_lines().pop().unwrap();
    assert_eq!((&result["outcome"], &result["text"]), (&json!("completed"), &json!("both reported")));
    // Two requests of its own and two of each task.
    assert_eq!(
        (&result["usage"]["input_tokens"], &result["usage"]["output_tokens"]),
        (&json!(60), &json!(30))
    );
    assert!(!zdx.root().join("no.txt").exists(), "explore only reads");
    assert!(!zdx.root().join("old.txt").exists(), "general was allowed");

    let parent = result["session"].as_str().unwrap();
    let files = zdx.session_files();
    assert_eq!(files.len(), 3);
    let metas: Vec<Value> = files
        .iter()
        .map(|file| serde_json::from_str(fs::read_to_string(file).unwrap().lines().next().unwrap()).unwrap())
        .collect();
    assert_eq!(metas.iter().filter(|meta| meta["parent"] == parent).count(), 2);

    let last = server.calls().into_iter().rev().find(|r| r.body.to_string().contains("delegate")).unwrap();
    let reports: Vec<_> = results(&last).iter().map(|r| r["data"]["report"].clone()).collect();
    assert_eq!(reports, [json!("found in a.rs"), json!("written")]);
}

#[test]
fn a_subagents_question_comes_up_in_the_same_chat() {
    let server = task_server();
    let zdx = place().chat(&server).config_more("permission = { task = \"allow\" }");
    zdx.write("old.txt", "x");
    let mut pty = zdx.command().line_mode(40, 100);
    pty.wait_for_text("> ", SOON);
    pty.send("delegate\r");
    pty.wait_for_text("rm old.txt", SOON);
    pty.wait_for_text("the agent general", SOON);
    crate::approvals::wait_for_question(&pty);
    pty.send("y\r");
    pty.wait_for_text("Task general: ", SOON);
    pty.wait_for_text("    written", SOON);
    pty.wait_for_text("both reported", SOON);
    assert!(!zdx.root().join("old.txt").exists());
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
}

#[test]
fn what_a_subagent_was_denied_is_counted() {
    let server = task_server();
    let zdx = place().chat(&server);
    zdx.write("old.txt", "x");
    let out = zdx.run(["exec", "-p", "delegate"]).success();
    assert_eq!(out.stderr.lines().last().unwrap(), "1 tool call denied", "{}", out.stderr);
    let denied = |args: &[&str]| {
        let out =
            zdx.command().args(["exec", "--format", "json", "-p", "delegate"]).args(args).run().success();
        out.json_lines().pop().unwrap()["denied"].clone()
    };
    assert_eq!(denied(&[]), 1);
    // Each turn of a chat counts its own.
    let out = zdx.command().args(["--yolo"]).stdin("delegate\ndelegate\n").run().success();
    let told: Vec<_> = out.stderr.lines().filter(|line| line.ends_with(" denied")).collect();
    assert_eq!(told, ["1 tool call denied"], "{}", out.stderr);
    assert_eq!(denied(&["--allow-dangerous"]), 0);
}

#[test]
fn mentioned_files_go_before_the_prompt() {
    let server = ModelServer::start_with([Reply::chat().text("ok").done()]);
    let zdx = place().chat(&server);
    zdx.write("src/a.rs", "fn main() {}\n");
    let out = zdx.run(["exec", "-p", "explain @src/a.rs and mail me@example.org"]).success();
    let request = &server.calls()[0];
    let attached = request.messages().iter().find(|m| m["content"].to_string().contains("fn main")).unwrap();
    // Recorded as what it is, said as the user's: servers take no system message in the middle of a conversation.
    assert_eq!(attached["role"], "user");
    let content = attached["content"].as_str().unwrap();
    assert!(content.starts_with("@file:src/a.rs\nfn main() {}\n\n\nexplain @src/a.rs"), "{content}");
    let kinds: Vec<_> = out.records.iter().map(|r| (r["type"].clone(), r["role"].clone())).collect();
    assert_eq!(kinds[1], (json!("message"), json!("system")));
    assert_eq!(kinds[2], (json!("message"), json!("user")));
}

fn with_command(zdx: &Zdx, place: &std::path::Path) {
    fs::create_dir_all(place.join("commands")).unwrap();
    let text = "---\ndescription: greets\n---\nSay hello to $1. The branch is !`echo main`.";
    fs::write(place.join("commands/greet.md"), text).unwrap();
    assert!(zdx.root().exists());
}

#[test]
fn slash_commands_expand_and_their_own_commands_need_trust() {
    let server = ModelServer::start_with([Reply::chat().text("hi").done(), Reply::chat().text("hi").done()]);
    let zdx = place().chat(&server);
    with_command(&zdx, zdx.storage());
    let out = zdx.run(["exec", "-p", "/greet Ada"]).success();
    // What the command ran, and not what everybody has just typed himself.
    assert_eq!(out.stderr, "main\n");
    let said = server.calls()[0].messages().last().unwrap()["content"].to_string();
    assert!(said.contains("Say hello to Ada. The branch is main"), "{said}");

    let theirs = place().chat(&server);
    with_command(&theirs, &theirs.root().join(".zdx"));
    let out = theirs.run(["exec", "-p", "/greet Ada"]).success();
    let said = server.calls()[1].messages().last().unwrap()["content"].to_string();
    assert!(said.contains("echo main") && out.stderr.contains("trust"), "{said}\n{}", out.stderr);
}

#[test]
fn a_command_that_wants_to_run_something_is_told_of_in_good_english() {
    for (text, end) in [
        ("!`echo a`", "1 command of this project, which is not trusted: it stays text (`zdx trust`)"),
        (
            "!`echo a` !`echo b`",
            "2 commands of this project, which is not trusted: they stay text (`zdx trust`)",
        ),
    ] {
        let server = ModelServer::start_with([Reply::chat().text("hi").done()]);
        let zdx = place().chat(&server);
        zdx.write(".zdx/commands/hi.md", text);
        let out = zdx.run(["exec", "-p", "/hi there"]).success();
        let line = format!("warning: /hi wants to run {end}");
        assert!(out.stderr.lines().any(|said| said == line), "{line} in {}", out.stderr);
    }
}

#[test]
fn a_failed_check_goes_back_to_the_model_until_it_passes() {
    let broken = json!({"path": "src/lib.rs", "content": "pub fn f() -> u32 { \"x\" }\n"});
    let mended = json!({"path": "src/lib.rs", "content": "pub fn f() -> u32 { 1 }\n"});
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "write", broken).done(),
        Reply::chat().text("Done, I think.").done(),
        Reply::chat().tool_call("c2", "write", mended).done(),
        Reply::chat().text("Now it is right.").done(),
    ]);
    let zdx = place().chat(&server).config_more("[validation]\ncommand = \"cargo check --offline --quiet\"");
    let zdx = zdx.env("CARGO_TARGET_DIR", "target").env("CARGO_HOME", home_of("CARGO_HOME", ".cargo"));
    let zdx = zdx.env("RUSTUP_HOME", home_of("RUSTUP_HOME", ".rustup"));
    zdx.write("Cargo.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let out = zdx.run(["exec", "-p", "write f"]).success();
    assert_eq!(server.calls().len(), 4);
    let told = server.calls()[2].messages().last().unwrap()["content"].to_string();
    assert!(told.contains("mismatched types"), "{told}");
    for line in ["check failed: cargo check", "check passed: cargo check"] {
        assert!(out.stderr.contains(line), "{line} in {}", out.stderr);
    }
}

fn home_of(variable: &str, folder: &str) -> std::ffi::OsString {
    let home = || std::path::PathBuf::from(std::env::var_os("HOME").unwrap()).join(folder).into_os_string();
    std::env::var_os(variable).unwrap_or_else(home)
}

#[test]
fn checks_are_off_without_a_command_when_nobody_is_there() {
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "write", json!({"path": "a.rs", "content": "x"})).done(),
        Reply::chat().text("done").done(),
    ]);
    let zdx = place().chat(&server);
    zdx.write("Cargo.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\n");
    let out = zdx.run(["exec", "-p", "go"]).success();
    assert!(!out.stderr.contains("check"), "{}", out.stderr);
}

#[test]
fn a_command_of_the_users_own_is_two_messages() {
    let server = ModelServer::start_with([Reply::chat().text("I saw it").done()]);
    let zdx = place().chat(&server);
    let mut pty = zdx.command().line_mode(30, 90);
    pty.wait_for_text("> ", SOON);
    pty.send("!echo out; echo err >&2; exit 3\r");
    pty.wait_for_text("exit code 3", SOON);
    pty.send("what was that?\r");
    pty.wait_for_text("I saw it", SOON);
    pty.send("\x04");
    pty.wait_exit(SOON);
    let records = zdx.records();
    let messages: Vec<_> = records.iter().filter(|r| r["type"] == "message").collect();
    assert_eq!(messages[0]["text"], "!echo out; echo err >&2; exit 3");
    let report = messages[1]["text"].as_str().unwrap();
    assert_eq!(messages[1]["role"], "assistant");
    for part in ["exit code 3", "stdout:\nout", "stderr:\nerr"] {
        assert!(report.contains(part), "{part} in {report}");
    }
    assert!(server.calls()[0].body.to_string().contains("exit code 3"));
}

#[test]
fn a_loaded_skill_gives_its_text_and_its_folder_and_nothing_else() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    let folder = zdx.home().join(".agents/skills/pdf");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("SKILL.md"),
        "---\nname: pdf\ndescription: works with PDF\n---\nRead forms.md first.\n",
    )
    .unwrap();
    fs::write(folder.join("forms.md"), "fill them in\n").unwrap();
    fs::write(zdx.home().join("private.txt"), "private\n").unwrap();
    let read = |path: std::path::PathBuf| json!({"path": path});
    server.push(Reply::chat().tool_call("c0", "read", read(folder.join("forms.md"))).done());
    server.push(Reply::chat().tool_call("c1", "skill", json!({"name": "pdf"})).done());
    server.push(
        Reply::chat()
            .tool_call("c2", "read", read(folder.join("forms.md")))
            .tool_call("c3", "read", read(zdx.home().join("private.txt")))
            .done(),
    );
    server.push(Reply::chat().text("done").done());
    let allow = "permission = { skill = \"allow\" }";
    let zdx = zdx.config_more(allow);
    let out = zdx.run(["exec", "--approval", "balanced", "-p", "go"]).success();
    assert!(server.calls()[0].body["tools"].to_string().contains("works with PDF"));
    let results = out.records_of("tool_result");
    let outputs: Vec<_> = results.iter().map(|r| &r["output"]).collect();
    assert_eq!(outputs[0]["ok"], false, "{}", outputs[0]);
    assert!(outputs[1]["data"]["content"].as_str().unwrap().contains("Read forms.md first."));
    assert_eq!(outputs[2]["data"]["content"], "fill them in\n");
    assert_eq!(outputs[3]["ok"], false, "{}", outputs[3]);
}

#[test]
fn so_many_tasks_work_at_a_time_as_the_settings_say() {
    let server = ModelServer::start();
    let gate = Gate::new();
    let held = gate.clone();
    server.always(move |request| {
        let is_task = request.messages().iter().any(|message| message.to_string().contains("find number"));
        let is_parents = request.body.to_string().contains("go, please");
        let results = request.messages().iter().filter(|message| message["role"] == "tool").count();
        match (is_parents, is_task, results) {
            (true, _, 0) => {
                let calls = (0..5).fold(Reply::chat(), |reply, n| {
                    let prompt = format!("find number {n}");
                    reply.tool_call(&format!("t{n}"), "task", json!({"agent": "explore", "prompt": prompt}))
                });
                calls.done()
            }
            (true, ..) => Reply::chat().text("all found").done(),
            (false, ..) => Reply::chat().text("found").done().insert_at(0, Step::WaitFor(held.clone())),
        }
    });
    let zdx = place()
        .chat(&server)
        .config_more("permission = { task = \"allow\" }")
        .config_more("[tasks]\nmax_parallel = 2");
    let running = zdx.command().args(["exec", "-p", "go, please"]).spawn();
    server.wait_for_call(3, SOON);
    // A third task would have asked by the time a whole run of another zdx is over.
    place().run(["exec", "--model", "demo", "-p", "hi"]).success();
    assert_eq!(server.calls().len(), 3, "two tasks and their parent");
    gate.open();
    let out = running.finish(SOON).expect_code(0);
    assert_eq!(out.stdout, "all found\n");
    assert_eq!(server.calls().len(), 7);
}
