//! What was allowed for good: where it holds, how long, and for whom.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Zdx};

use crate::approvals::{bash, begin, open, told, wait_for_keys, wait_for_question};
use crate::chat::{leave, wait_for_prompt};
use crate::turns::chat_results;
use crate::{SOON, with_model};

/// A session that is taken to another folder does not take along what was allowed in the first one.
#[test]
fn a_sessions_grants_hold_in_its_own_folder() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    std::fs::create_dir(zdx.root().join("other")).unwrap();
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("touch made"));
    wait_for_question(&pty);
    pty.send("a\r");
    wait_for_keys(&pty, "[b] back");
    pty.send("s\r");
    assert_eq!(told(&server, call, &pty)["ok"], true);
    leave(pty);
    for (folder, asked) in [(".", false), ("other", true)] {
        let calls = server.calls().len();
        server.push(bash("touch made"));
        server.push(Reply::chat().text("done"));
        zdx.run([
            "exec",
            "-p",
            "again",
            "--approval",
            "balanced",
            "--session",
            &id_of(&zdx),
            "--root",
            folder,
        ])
        .success();
        let result = chat_results(&server.calls()[calls + 1]).pop().unwrap().1;
        assert_eq!(result["error"]["code"] == "approval_required", asked, "{folder} {result}");
    }
}

fn id_of(zdx: &zdx_testkit::Zdx) -> String {
    zdx.session_files()[0].file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn what_is_revoked_is_asked_about_in_a_chat_that_runs() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("touch made"));
    wait_for_question(&pty);
    pty.send("a\r");
    wait_for_keys(&pty, "[b] back");
    pty.send("p\r");
    assert_eq!(told(&server, call, &pty)["ok"], true);
    let call = begin(&server, &pty, bash("touch made"));
    assert_eq!(told(&server, call, &pty)["ok"], true);
    zdx.run(["policy", "grants", "--revoke", "touch made"]).success();
    let call = begin(&server, &pty, bash("touch made"));
    wait_for_question(&pty);
    pty.send("n\r");
    assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected");
    leave(pty);
}

#[test]
fn what_a_task_was_allowed_for_the_session_holds_in_the_session() {
    let server = ModelServer::start();
    let zdx = with_model(&server).config_more("[permission]\ntask = \"allow\"\n");
    let pty = open(&zdx, 80, &[]);
    let task = json!({"agent": "general", "prompt": "make it"});
    server.push(Reply::chat().tool_call("t1", "task", task));
    server.push(bash("touch made"));
    server.push(Reply::chat().text("the task is over"));
    server.push(Reply::chat().text("heard of the task"));
    pty.send("go\r");
    wait_for_question(&pty);
    assert!(pty.contents().contains("the agent general, which works on make it"), "{}", pty.contents());
    pty.send("a\r");
    wait_for_keys(&pty, "[b] back");
    pty.send("s\r");
    pty.wait_for_text("heard of the task", SOON);
    wait_for_prompt(&pty);
    let call = begin(&server, &pty, bash("touch made"));
    assert_eq!(told(&server, call, &pty)["ok"], true);
    leave(pty);
}

/// What is remembered is written down, where no secret belongs: so it can only be allowed once.
#[test]
fn a_command_with_a_secret_in_it_is_never_remembered() {
    let secret = "planted-grant-secret-77";
    let server = ModelServer::start();
    let zdx = with_model(&server).env("DEPLOY_TOKEN", secret);
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash(&format!("echo {secret} > made")));
    wait_for_question(&pty);
    assert!(!pty.contents().contains("[a] always"), "{}", pty.contents());
    pty.send("y\r");
    assert_eq!(told(&server, call, &pty)["ok"], true);
    leave(pty);
    for file in [zdx.session_files()[0].clone(), zdx.storage().join("grants.json")] {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        assert!(!text.contains(secret), "{text}");
    }
}

/// A place with a `cargo` that only says what it was given.
fn with_cargo(server: &ModelServer) -> Zdx {
    let zdx = with_model(server);
    zdx.write("bin/cargo", "#!/bin/sh\necho \"cargo $*\"\n");
    let programs = zdx.root().join("bin");
    std::fs::set_permissions(programs.join("cargo"), std::fs::Permissions::from_mode(0o755)).unwrap();
    zdx.env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
}

fn stdout(result: &Value) -> &str {
    result["data"]["stdout"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn every_cargo_test_is_granted_used_with_other_words_and_revoked() {
    let server = ModelServer::start();
    let zdx = with_cargo(&server);
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("cargo test --lib"));
    wait_for_question(&pty);
    let shown = pty.contents();
    let every =
        "every   allows commands that begin with cargo test here, until Cargo.toml\n          changes";
    assert!(shown.contains(every), "{shown}");
    pty.send("w\r");
    wait_for_keys(&pty, "[b] back");
    let shown = pty.contents();
    let every = "\n  commands that begin with cargo test here, until Cargo.toml changes\n";
    assert!(shown.contains(every), "{shown}");
    pty.send("p\r");
    assert_eq!(stdout(&told(&server, call, &pty)), "cargo test --lib\n");
    for words in ["cargo test parser -- --nocapture", "cargo test -p a 2>&1 && cargo test -p b | cat"] {
        let call = begin(&server, &pty, bash(words));
        assert!(stdout(&told(&server, call, &pty)).starts_with("cargo test"), "{words}");
    }
    // What was not shown was not granted.
    for words in ["cargo build", "cargo test > made", "X=1 cargo test", "cargo test --target-dir made"] {
        let call = begin(&server, &pty, bash(words));
        wait_for_question(&pty);
        pty.send("n\r");
        assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected", "{words}");
    }
    let list = "commands that begin with cargo test here, until Cargo.toml changes\n";
    assert_eq!(zdx.run(["policy", "grants"]).success().stdout, list);
    pty.send("/policy\r");
    pty.wait_for_text("allowed for this project: commands that begin with cargo test here", SOON);
    wait_for_prompt(&pty);
    let revoked = zdx.run(["policy", "grants", "--revoke", "cargo test"]).success();
    assert_eq!(revoked.stdout, format!("revoked {list}"));
    let call = begin(&server, &pty, bash("cargo test"));
    wait_for_question(&pty);
    pty.send("n\r");
    assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected");
    leave(pty);
    let session = std::fs::read_to_string(&zdx.session_files()[0]).unwrap();
    let given = session.lines().find(|line| line.contains("allow_always")).unwrap();
    let given: Value = serde_json::from_str(given).unwrap();
    let told = (&given["scope"], &given["wider"], &given["grant"]);
    assert_eq!((told.0, told.1), (&json!("project"), &json!(true)));
    let grant = told.2.as_str().unwrap();
    assert!(grant.starts_with("every cargo test #") && grant.ends_with(" Cargo.toml ."), "{grant}");
}

/// A grant for a family holds in its folder and for the project file as it was, whoever changed that; one that an earlier
/// version stored without these holds nowhere.
#[test]
fn a_family_is_asked_about_again_in_another_folder_and_after_its_project_file_changed() {
    let server = ModelServer::start();
    let zdx =
        with_cargo(&server).config_more("[permission]\nedit = \"allow\"\n[validation]\nenabled = false\n");
    zdx.write("Cargo.toml", "[workspace]\n");
    zdx.write("sub/x", "");
    let pty = open(&zdx, 80, &[]);
    let refused = |command: &str| {
        let call = begin(&server, &pty, bash(command));
        wait_for_question(&pty);
        pty.send("n\r");
        assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected", "{command}");
    };
    let granted = |command: &str| {
        let call = begin(&server, &pty, bash(command));
        wait_for_question(&pty);
        pty.send("w\r");
        wait_for_keys(&pty, "[b] back");
        pty.send("p\r");
        assert!(stdout(&told(&server, call, &pty)).starts_with("cargo test"));
    };
    let runs = |command: &str| {
        let call = begin(&server, &pty, bash(command));
        assert!(stdout(&told(&server, call, &pty)).starts_with("cargo test"), "{command}");
    };
    granted("cargo test");
    runs("cargo test --lib");
    refused("cd sub && cargo test");
    let write = json!({"path": "Cargo.toml", "content": "[workspace]\nmembers = [\"x\"]\n"});
    let call = begin(&server, &pty, Reply::chat().tool_call("c1", "write", write));
    assert_eq!(told(&server, call, &pty)["ok"], true);
    refused("cargo test");
    granted("cargo test");
    runs("cargo test --lib");
    leave(pty);
    // Granted anew, the family stands there once; and one of an earlier version is only told of.
    let list = "commands that begin with cargo test here, until Cargo.toml changes\n";
    assert_eq!(zdx.run(["policy", "grants"]).success().stdout, list);
    let file = zdx.storage().join("grants.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let start = text.find("every cargo test").unwrap();
    let end = start + text[start..].find('"').unwrap();
    std::fs::write(&file, text.replace(&text[start..end], "every cargo test")).unwrap();
    let calls = server.calls().len();
    server.push(bash("cargo test"));
    server.push(Reply::chat().text("done"));
    zdx.run(["exec", "-p", "again", "--approval", "balanced"]).success();
    let result = chat_results(&server.calls()[calls + 1]).pop().unwrap().1;
    assert_eq!(result["error"]["code"], "approval_required", "{result}");
    let listed = zdx.run(["policy", "grants"]).success().stdout;
    assert!(listed.contains("granted by an earlier version; asked about again"), "{listed}");
}

/// The words of what begins so, but is dangerous or goes elsewhere, are not even offered.
#[test]
fn nothing_wider_is_offered_where_it_is_not_safe_to_say() {
    let server = ModelServer::start();
    let zdx = with_cargo(&server);
    let pty = open(&zdx, 80, &[]);
    for (command, exact) in [
        ("python3 x.py", true),
        ("npx jest", true),
        ("curl localhost", true),
        ("timeout 5 cargo test", true),
        ("cargo test $X", true),
        ("cargo test; rm x", false),
    ] {
        let call = begin(&server, &pty, bash(command));
        wait_for_question(&pty);
        let contents = pty.contents();
        let shown = &contents[contents.rfind("run this command?").unwrap()..];
        assert_eq!(
            (shown.contains("[a] always"), shown.contains("[w]")),
            (exact, false),
            "{command}\n{shown}"
        );
        pty.send("n\r");
        told(&server, call, &pty);
    }
    leave(pty);
}

#[test]
fn all_edits_of_a_session_are_granted_but_those_that_steer_something() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let write = |path: &str| {
        Reply::chat().tool_call("c1", "write", json!({"path": path, "content": format!("{path}\n")}))
    };
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, write("a.txt"));
    wait_for_question(&pty);
    assert!(pty.contents().contains("[e] every edit"), "{}", pty.contents());
    pty.send("e\r");
    assert_eq!(told(&server, call, &pty)["ok"], true);
    for path in ["b.txt", "new/c.txt"] {
        let call = begin(&server, &pty, write(path));
        assert_eq!(told(&server, call, &pty)["ok"], true, "{path}");
    }
    for path in ["AGENTS.md", "sub/CLAUDE.md", ".mcp.json"] {
        let call = begin(&server, &pty, write(path));
        wait_for_question(&pty);
        pty.send("n\r");
        assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected", "{path}");
    }
    leave(pty);
    // It went with the session: the project knows nothing of it.
    assert_eq!(zdx.run(["policy", "grants"]).success().stdout, "");
    for (session, expected) in [(Some(id_of(&zdx)), true), (None, false)] {
        let calls = server.calls().len();
        server.push(write("d.txt"));
        server.push(Reply::chat().text("done"));
        let mut args = vec!["exec", "-p", "again", "--approval", "balanced"];
        args.extend(session.iter().flat_map(|id| ["--session", id.as_str()]));
        zdx.run(args).success();
        let result = chat_results(&server.calls()[calls + 1]).pop().unwrap().1;
        assert_eq!(result["ok"] == true, expected, "{session:?} {result}");
    }
}

#[test]
fn the_preset_is_changed_at_a_question_which_is_judged_anew() {
    let server = ModelServer::start();
    let zdx = with_cargo(&server);
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("cargo test --lib"));
    wait_for_question(&pty);
    pty.send("p\r");
    wait_for_keys(&pty, "[1] yolo  [3] paranoid  [b] back");
    pty.send("b\r");
    wait_for_question(&pty);
    pty.send("p\r");
    wait_for_keys(&pty, "[1] yolo  [3] paranoid  [b] back");
    pty.send("1\r");
    assert_eq!(stdout(&told(&server, call, &pty)), "cargo test --lib\n");
    // It holds from then on; what is dangerous is asked about as ever, and offers no preset.
    let call = begin(&server, &pty, bash("cargo build"));
    assert_eq!(stdout(&told(&server, call, &pty)), "cargo build\n");
    let call = begin(&server, &pty, bash("rm bin/cargo"));
    wait_for_question(&pty);
    let shown = pty.contents();
    assert!(shown.trim_end().ends_with("[y] yes, once  [n] no (Enter)  [m] no, and why\nanswer:"), "{shown}");
    pty.send("n\r");
    assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected");
    leave(pty);
}

#[test]
fn exploring_is_not_asked_about() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let task = json!({"agent": "explore", "prompt": "look"});
    server.push(Reply::chat().tool_call("t1", "task", task));
    server.push(Reply::chat().text("nothing there"));
    server.push(Reply::chat().text("done"));
    zdx.run(["exec", "-p", "go", "--approval", "balanced"]).success();
    let result = chat_results(&server.calls()[2]).pop().unwrap().1;
    assert_eq!(result["ok"], true, "{result}");
}

/// What was allowed for the session alone is taken back where it holds, and stays taken back.
#[test]
fn a_sessions_grant_is_revoked_in_the_chat_and_stays_so() {
    let server = ModelServer::start();
    let zdx = with_cargo(&server);
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("cargo test"));
    wait_for_question(&pty);
    pty.send("w\r");
    wait_for_keys(&pty, "[b] back");
    pty.send("s\r");
    assert_eq!(stdout(&told(&server, call, &pty)), "cargo test\n");
    let call = begin(&server, &pty, bash("cargo test --lib"));
    assert_eq!(stdout(&told(&server, call, &pty)), "cargo test --lib\n");
    pty.send("/revoke cargo build\r");
    pty.wait_for_text("nothing like \"cargo build\" was allowed", SOON);
    wait_for_prompt(&pty);
    pty.send("/revoke cargo test\r");
    pty.wait_for_text("no longer allowed: commands that begin with cargo test here", SOON);
    wait_for_prompt(&pty);
    let call = begin(&server, &pty, bash("cargo test --lib"));
    wait_for_question(&pty);
    pty.send("n\r");
    assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected");
    leave(pty);
    let calls = server.calls().len();
    server.push(bash("cargo test"));
    server.push(Reply::chat().text("done"));
    zdx.run(["exec", "-p", "again", "--approval", "balanced", "--session", &id_of(&zdx)]).success();
    let result = chat_results(&server.calls()[calls + 1]).pop().unwrap().1;
    assert_eq!(result["error"]["code"], "approval_required", "{result}");
}
