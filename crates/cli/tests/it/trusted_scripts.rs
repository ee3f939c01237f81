//! The files that trusted commands name are part of what was trusted: other content asks again.

use std::fs;

use serde_json::json;
use zdx_testkit::{ModelServer, Reply, Zdx, mcp_fake};

use crate::guard::{code, told};
use crate::mcp::PATIENT;
use crate::{SOON, place, with_model};

const SCRIPT: &str = "scripts/server.sh";

fn script(mark: &str) -> String {
    format!("touch {mark}\nexec {:?}\n", mcp_fake())
}

/// A project whose own MCP server is a script, trusted as it is.
fn trusted(model: &ModelServer) -> Zdx {
    let zdx = with_model(model).config_more(PATIENT);
    zdx.write(SCRIPT, script("first"));
    let server = json!({"mcpServers": {"fake": {"command": "sh", "args": [SCRIPT]}}});
    zdx.write(".mcp.json", server.to_string());
    zdx.run(["trust", "--yes"]).success();
    zdx
}

#[test]
fn a_changed_script_of_a_server_is_asked_about_by_name() {
    let model = ModelServer::start();
    let zdx = trusted(&model);
    let echo = [("mcp__fake__echo", json!({"text": "up"}))];
    let holds = || {
        let listed = zdx.run(["trust", "--list", "--format", "json"]).success().json_lines();
        assert!(listed[0]["files"][SCRIPT].as_str().unwrap().starts_with("sha256:"), "{listed:?}");
        listed[0]["holds"].as_bool().unwrap()
    };
    told(&zdx, &model, &echo, &[]);
    assert!(zdx.root().join("first").exists() && holds());
    let listed = zdx.run(["trust", "--list"]).success().stdout;
    assert!(listed.lines().any(|line| line == format!("  {SCRIPT}")), "{listed}");

    zdx.write(SCRIPT, script("second"));
    let (out, _) = told(&zdx, &model, &echo, &[]);
    assert!(
        out.stderr.contains("changed since you trusted") && out.stderr.contains("mcp.fake"),
        "{}",
        out.stderr
    );
    assert!(!zdx.root().join("second").exists() && !holds());
    let asked = zdx.run(["trust"]).expect_code(2).stderr;
    assert!(asked.contains(&format!("changed since you trusted it: {SCRIPT}")), "{asked}");
    let mut pty = zdx.command().line_mode(40, 110);
    pty.wait_for_text("[q] leave\nanswer:", SOON);
    let question = pty.contents();
    assert!(question.contains(&format!("changed since you trusted it: {SCRIPT}")), "{question}");
    pty.send("q\r");
    assert_eq!(pty.wait_exit(SOON), 0);

    zdx.run(["trust", "--yes"]).success();
    told(&zdx, &model, &echo, &[]);
    assert!(zdx.root().join("second").exists() && holds());
}

/// The session was begun with the trusted script: what takes its place meanwhile is not started when the server is.
#[test]
fn a_server_is_not_started_again_from_a_script_that_was_changed() {
    let model = ModelServer::start();
    let zdx = trusted(&model);
    let calls = [
        ("mcp__fake__echo", json!({"text": "up"})),
        ("bash", json!({"command": "printf 'touch second\\n' > scripts/server.sh"})),
        ("mcp__fake__crash", json!({})),
        ("mcp__fake__echo", json!({"text": "back"})),
    ];
    let (_, results) = told(&zdx, &model, &calls, &["--allow-dangerous"]);
    assert_eq!(results[0]["data"]["content"], "echo: up");
    assert_eq!(code(&results[3]), "mcp_unavailable");
    let why = results[3]["error"]["message"].as_str().unwrap();
    assert!(why.contains("scripts/server.sh changed since you trusted"), "{why}");
    assert!(!zdx.root().join("second").exists());
}

/// The spelling of a path hides no script from what was trusted.
#[test]
fn a_changed_script_does_not_run_however_it_is_spelled() {
    for (command, file) in [
        ("sh 'scripts/my check.sh'", "scripts/my check.sh"),
        ("sh \"$PWD\"/scripts/c.sh", "scripts/c.sh"),
        ("sh \"scripts\"/c.sh", "scripts/c.sh"),
        ("for f in scripts/*.sh; do sh $f; done", "scripts/c.sh"),
        ("sh $(git rev-parse --show-toplevel)/scripts/c.sh", "scripts/c.sh"),
    ] {
        let edit = Reply::chat().tool_call("w", "write", json!({"path": "a.rs", "content": "x"})).done();
        let server = ModelServer::start_with(vec![edit, Reply::chat().text("done").done()]);
        let zdx = place().chat(&server);
        zdx.write(file, "true\n");
        zdx.write(".zdx/config.toml", format!("validation.command = {}\n", json!(command)));
        zdx.run(["trust", "--yes"]).success();
        zdx.write(file, "touch evil\n");
        zdx.run(["exec", "--allow-dangerous", "-p", "go"]).success();
        assert!(!zdx.root().join("evil").exists(), "{command}");
    }
}

/// A command that only running it tells about is asked about each time; a yes counts for that run.
#[test]
fn a_command_that_cannot_be_told_beforehand_is_trusted_for_one_run() {
    let edit = || Reply::chat().tool_call("w", "write", json!({"path": "a.rs", "content": "x"})).done();
    let done = || Reply::chat().text("done").done();
    let server = ModelServer::start_with(vec![edit(), done(), edit(), done()]);
    let zdx = place().chat(&server);
    zdx.write("check.sh", "touch checked\n");
    zdx.write(".zdx/config.toml", "validation.command = 'sh \"$(pwd)\"/check.sh'\n");
    let said = zdx.run(["trust", "--yes"]).success().stderr;
    assert!(said.contains("cannot be trusted for good") && said.contains("check.sh"), "{said}");
    zdx.run(["exec", "--allow-dangerous", "-p", "go"]).success();
    assert!(!zdx.root().join("checked").exists());
    fs::remove_file(zdx.root().join("a.rs")).unwrap();
    let out = zdx.run(["exec", "--trust", "--allow-dangerous", "-p", "go"]).success();
    assert!(zdx.root().join("checked").exists(), "{}", out.stderr);
}

#[test]
fn a_check_that_the_model_rewrote_is_not_run() {
    let write = |path: &str, content: &str| {
        Reply::chat().tool_call("w", "write", json!({"path": path, "content": content})).done()
    };
    let done = || Reply::chat().text("done").done();
    let zdx = |server: &ModelServer| {
        let zdx = place().chat(server);
        zdx.write("check.sh", "touch checked\n");
        zdx.write(".zdx/config.toml", "validation.command = \"sh check.sh\"\n");
        zdx.run(["trust", "--yes"]).success();
        zdx
    };
    let server = ModelServer::start_with(vec![write("a.rs", "x"), done()]);
    let honest = zdx(&server);
    let out = honest.run(["exec", "-p", "go"]).success();
    assert!(honest.root().join("checked").exists(), "{}", out.stderr);

    // Nor does it count that the model ran it itself.
    for runs in [false, true] {
        let run = Reply::chat().tool_call("r", "bash", json!({"command": "sh check.sh"})).done();
        let replies = [Some(write("check.sh", "true\n")), runs.then_some(run), Some(done())];
        let server = ModelServer::start_with(replies.into_iter().flatten().collect::<Vec<_>>());
        let out = zdx(&server).run(["exec", "--allow-dangerous", "-p", "go"]).success();
        assert!(out.stderr.contains("check.sh changed since you trusted"), "{}", out.stderr);
    }
    let server = ModelServer::start_with(vec![write("check.sh", "touch evil\n"), done()]);
    let rewritten = zdx(&server);
    rewritten.run(["exec", "-p", "go"]).success();
    assert_eq!(fs::read_to_string(rewritten.root().join("check.sh")).unwrap(), "touch evil\n");
    assert!(!rewritten.root().join("evil").exists());
}
