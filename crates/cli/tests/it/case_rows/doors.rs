//! Ways by which a command or a path reaches the guard.

use std::fs;

use serde_json::json;
use zdx_testkit::{ModelServer, Reply};

use crate::guard::{code, told};
use crate::poisoned::CANARY;
use crate::with_model;

#[test]
pub fn a_check_of_the_projects_passes_the_guard() {
    let check = |command: &str, args: &[&str]| {
        let server = ModelServer::start();
        let zdx = with_model(&server);
        zdx.write("kept/file", "");
        zdx.write(".zdx/config.toml", format!("validation.command = \"{command}\""));
        let write = ("write", json!({"path": "a.rs", "content": "x"}));
        let (output, _) = told(&zdx, &server, &[write], args);
        (zdx.root().join("kept").exists(), output.stderr)
    };
    let (kept, stderr) = check("rm -rf .", &["--trust", "--yolo"]);
    assert!(kept && stderr.contains("not checked: "), "{stderr}");
    let (kept, stderr) = check("rm -rf kept", &["--trust", "--yolo"]);
    assert!(kept && stderr.contains("--allow-dangerous"), "{stderr}");
    // Not even asked about while the project is not trusted; and the guard is all that holds it back afterwards.
    let (kept, stderr) = check("rm -rf kept", &["--allow-dangerous"]);
    assert!(kept && !stderr.contains("checking"), "{stderr}");
    let (kept, stderr) = check("rm -rf kept", &["--trust", "--allow-dangerous"]);
    assert!(!kept && stderr.contains("check passed"), "{stderr}");
}

#[test]
pub fn a_command_in_a_slash_command_passes_the_guard() {
    let called = |args: &[&str]| {
        let server = ModelServer::start();
        server.always(|_| Reply::chat().text("fine"));
        let zdx = with_model(&server);
        zdx.write("x", "");
        zdx.write(".eidolon/commands/x.md", "Now !`rm x`.");
        let output = zdx.command().args(["exec", "-p", "/x"]).args(args).run().success();
        let said = crate::prompt_of(&server.calls()[0]);
        (zdx.root().join("x").exists(), said, output.stderr)
    };
    let (kept, said, stderr) = called(&["--yolo", "--allow-dangerous"]);
    assert!(kept && said.contains("!`rm x`") && stderr.contains("zdx trust"), "{said}\n{stderr}");
    let (kept, said, stderr) = called(&["--yolo", "--trust"]);
    assert!(kept && stderr.contains("--allow-dangerous"), "{said}\n{stderr}");
    assert!(stderr.contains("1 tool call denied"), "{stderr}");
    let (kept, said, stderr) = called(&["--trust", "--allow-dangerous"]);
    assert!(!kept, "{said}\n{stderr}");
}

#[test]
pub fn a_patch_stays_inside_and_means_what_it_says() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("a", "one\n");
    zdx.write("x", "one\n");
    let renamed = "diff --git a/a b/../b\nsimilarity index 100%\nrename from a\nrename to ../b\n";
    let disagreeing = "diff --git a/x b/x\n--- a/x\n+++ b/../../y\n@@ -1 +1 @@\n-one\n+two\n";
    let inside = "diff --git a/x b/x\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-one\n+two\n";
    let call = |patch: &str| ("patch", json!({ "patch": patch }));
    let (_, results) =
        told(&zdx, &server, &[renamed, disagreeing, inside].map(call), &["--approval", "balanced"]);
    let codes: Vec<_> = results.iter().map(code).collect();
    assert_eq!(codes, ["approval_required", "invalid_input", "invalid_input"]);
    // Outside paths pass in yolo; what contradicts itself never does.
    let (_, results) = told(&zdx, &server, &[disagreeing, inside].map(call), &["--yolo"]);
    let codes: Vec<_> = results.iter().map(code).collect();
    assert_eq!(codes, ["invalid_input", "invalid_input"]);
    assert_eq!((zdx.read("a"), zdx.read("x")), ("one\n".into(), "one\n".into()));
    let above = zdx.root().parent().unwrap();
    assert!(!above.join("b").exists() && !above.join("y").exists() && !zdx.root().join("y").exists());
}

#[test]
pub fn only_the_user_mentions_files_outside() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let outside = zdx.home().join("outside.txt");
    fs::write(&outside, CANARY).unwrap();
    let mention = format!("see @file:{0} and @{0}", outside.display());
    zdx.write("AGENTS.md", &mention);
    zdx.write(".claude/commands/look.md", &mention);
    zdx.write("notes.txt", &mention);
    server.push(Reply::chat().text(&mention).tool_call("c1", "read", json!({"path": "notes.txt"})));
    server.always({
        let mention = mention.clone();
        move |_| Reply::chat().text(&mention)
    });
    for prompt in ["go", "/look"] {
        zdx.run(["exec", "-p", prompt]).success();
    }
    zdx.run(["exec", "-c", "-p", "go on"]).success();
    for call in server.calls() {
        assert!(!call.body.to_string().contains(CANARY), "{}", call.body);
    }
    let output = zdx.run(["exec", "-p", &mention]).success();
    assert!(server.calls().pop().unwrap().body.to_string().contains(CANARY));
    assert!(output.stderr.contains("outside.txt"), "{}", output.stderr);
}
