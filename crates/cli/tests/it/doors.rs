//! Ways around the guard that are no command lines: what changes while a question stands, which word of which layer
//! holds, what reaches a terminal inside JSON.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply};

use crate::approvals::{bash, begin, open, told, wait_for_keys, wait_for_question};
use crate::chat::{leave, wait_for_prompt};
use crate::turns::chat_results;
use crate::{SOON, place, with_model};

#[test]
fn a_target_that_appears_while_the_question_stands_is_asked_about_anew() {
    for (key, left) in [("n\r", "precious"), ("y\r", "new\n")] {
        let server = ModelServer::start();
        let zdx = with_model(&server);
        let pty = open(&zdx, 80, &[]);
        let call = begin(&server, &pty, bash("true; echo new > made.txt"));
        wait_for_question(&pty);
        assert!(!pty.contents().contains("dangerous"), "{}", pty.contents());
        zdx.write("made.txt", "precious");
        pty.send("y\r");
        pty.wait_for_text("dangerous: run this command?", SOON);
        wait_for_question(&pty);
        assert_eq!(zdx.read("made.txt"), "precious");
        pty.send(key);
        told(&server, call, &pty);
        assert_eq!(zdx.read("made.txt"), left);
        leave(pty);
    }
}

#[test]
fn a_yes_covers_only_what_was_dangerous_then() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("old.txt", "");
    let pty = open(&zdx, 80, &[]);
    let call = begin(&server, &pty, bash("rm old.txt; echo new > made.txt"));
    wait_for_question(&pty);
    zdx.write("made.txt", "precious");
    pty.send("y\r");
    let asked =
        |screen: &vt100::Screen| screen.contents().matches("dangerous: run this command?").count() == 2;
    pty.wait_for(asked, SOON);
    wait_for_question(&pty);
    pty.send("n\r");
    assert_eq!(told(&server, call, &pty)["error"]["code"], "rejected");
    assert_eq!((zdx.read("made.txt").as_str(), zdx.read("old.txt").as_str()), ("precious", ""));
    leave(pty);
}

#[test]
fn a_project_may_ask_about_what_the_user_lists_as_harmless() {
    let zdx =
        place().config("whitelist = [\"git push\"]\n[permission.bash]\n\"git push --force *\" = \"deny\"\n");
    let verdict = |args: &[&str], command: &str| {
        let output = zdx.command().args(["policy", "explain", "--format", "json", command]).args(args).run();
        let told: Value = serde_json::from_str(&output.success().stdout).unwrap();
        (told["verdict"].as_str().unwrap().to_owned(), told["rule"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(verdict(&[], "git push origin").0, "allow");
    assert_eq!(verdict(&[], "git push --force x").0, "deny");
    zdx.write(".zdx/config.toml", "[permission.bash]\n\"git push *\" = \"ask\"\n");
    for args in [&[][..], &["--trust"]] {
        let (level, rule) = verdict(args, "git push origin");
        assert_eq!(level, "ask");
        assert!(rule.contains(".zdx/config.toml"), "{rule}");
    }
}

#[test]
fn a_pattern_that_cannot_be_read_is_named_with_file_and_line() {
    for key in ["blacklist_patterns", "dangerous_patterns"] {
        let zdx = place().config(&format!("# mine\n{key} = [\"(\"]\n"));
        let output = zdx.run(["policy", "explain", "ls"]).expect_code(1);
        assert!(output.stderr.contains("config.toml:2: `"), "{}", output.stderr);
        let zdx = place().config(&format!("# mine\n{key} = [\"ls\"]\n"));
        let text = zdx.run(["policy", "explain", "ls"]).success().stdout;
        assert!(text.contains("config.toml:2)"), "{text}");
    }
}

#[test]
fn check_knows_tools_by_the_names_a_session_takes() {
    let zdx = place();
    let calls = ["Bash", "sh", "run_command", "BASH"]
        .map(|tool| json!({"tool": tool, "input": {"command": "sudo x"}}));
    let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let output = zdx.command().args(["policy", "check"]).stdin(lines).run().success();
    let codes: Vec<_> = output.json_lines().iter().map(|line| line["code"].clone()).collect();
    assert_eq!(codes, ["forbidden"; 4]);
    zdx.run(["policy", "explain", "--approval", "god_mode", "touch x"]).success();
}

/// C1 controls are no JSON escapes, but a terminal obeys them.
#[test]
fn json_holds_nothing_that_a_terminal_obeys() {
    let hostile = "a\u{9b}2J\u{9d}0;x\u{9c}\u{7f}\u{202e}\u{feff}\x1b]0;x\x07z";
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write(
        ".zdx/config.toml",
        format!("[agent.x]\nprompt = {}\n", json!(hostile).to_string().replace('\u{7f}', "")),
    );
    zdx.write("AGENTS.md", hostile);
    server.push(Reply::chat().text(hostile).tool_call("c1", "read", json!({"path": hostile})));
    server.push(Reply::chat().text(hostile));
    let is_safe = |text: &str| {
        let bad = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{feff}');
        assert!(!text.contains(bad), "{text:?}");
    };
    let output = zdx.run(["exec", "--format", "json", "-p", hostile]).success();
    is_safe(&output.stdout);
    assert_eq!(output.json_lines().last().unwrap()["text"], hostile);
    let id = output.json_lines().last().unwrap()["session"].as_str().unwrap().to_owned();
    for args in [
        &["sessions", "show", &id][..],
        &["sessions", "list"],
        &["policy", "explain", hostile],
        &["config", "show"],
        &["trust", "--list"],
    ] {
        is_safe(&zdx.command().args(args).args(["--format", "json"]).run().success().stdout);
    }
    let calls = format!("{}\n", json!({"tool": "bash", "input": {"command": hostile}}));
    is_safe(&zdx.command().args(["policy", "check"]).stdin(calls).run().stdout);
    let mut pty = zdx.command().args(["config", "show", "--system-prompt"]).line_mode(24, 80);
    pty.wait_exit(SOON);
    let drawn = pty.raw();
    for bytes in [&b"\xc2\x9b"[..], b"\x1b]", b"\xc2\x9d"] {
        assert!(
            !drawn.windows(bytes.len()).any(|window| window == bytes),
            "{:?}",
            String::from_utf8_lossy(&drawn)
        );
    }
}

/// A link that is swapped while the question stands must not turn an ordinary file into a hook of git's.
#[test]
fn a_patch_goes_where_it_was_judged_to_go() {
    use std::os::unix::fs::symlink;
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("plain/kept", "");
    zdx.write(".git/hooks/kept", "");
    let link = zdx.root().join("link");
    symlink("plain", &link).unwrap();
    let pty = open(&zdx, 80, &[]);
    let patch = "*** Begin Patch\n*** Add File: link/pre-commit\n+echo owned\n*** End Patch";
    let call = begin(&server, &pty, Reply::chat().tool_call("c1", "patch", json!({"patch": patch})));
    wait_for_question(&pty);
    assert!(pty.contents().contains("create plain/pre-commit?"), "{}", pty.contents());
    std::fs::remove_file(&link).unwrap();
    symlink(".git/hooks", &link).unwrap();
    pty.send("y\r");
    told(&server, call, &pty);
    assert!(!zdx.root().join(".git/hooks/pre-commit").exists());
    assert_eq!(zdx.read("plain/pre-commit"), "echo owned\n");
    leave(pty);
}

#[test]
fn a_patch_that_makes_a_file_executable_says_so() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("run.sh", "true\n");
    let pty = open(&zdx, 80, &[]);
    let patch = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n";
    let call = begin(&server, &pty, Reply::chat().tool_call("c1", "patch", json!({"patch": patch})));
    wait_for_question(&pty);
    assert!(pty.contents().contains("(it becomes executable)"), "{}", pty.contents());
    pty.send("n\r");
    told(&server, call, &pty);
    leave(pty);
}

/// Code that names a key is shown as it is and can be edited; a literal key is not shown.
#[test]
fn code_about_keys_is_no_secret() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let code = "client = Client(API_KEY=settings_value, TOKEN=load_token(1))\nSORT_KEY=created_at\nPASSWORD=changeme123\n";
    zdx.write("app.py", format!("{code}DEPLOY_TOKEN=a1b2c3d4e5f6a7b8\n"));
    server.push(Reply::chat().tool_call("c1", "read", json!({"path": "app.py"})));
    let edit = json!({"path": "app.py", "old": "API_KEY=settings_value", "new": "API_KEY=other_value"});
    server.push(Reply::chat().tool_call("c2", "edit", edit));
    server.push(Reply::chat().text("done"));
    zdx.run(["exec", "-p", "go"]).success();
    let results = chat_results(&server.calls()[2]);
    assert_eq!(results[0].1["data"]["content"], format!("{code}DEPLOY_TOKEN=[redacted]\n"));
    assert_eq!(results[1].1["data"]["replacements"], 1);
    assert!(
        zdx.read("app.py").contains("API_KEY=other_value") && zdx.read("app.py").contains("a1b2c3d4e5f6a7b8")
    );
}

#[test]
fn a_mask_never_gets_into_a_file_in_place_of_a_secret() {
    let secret = "DEPLOY_TOKEN=a1b2c3d4e5f6a7b8\nMODE=fast\n";
    let masked = "DEPLOY_TOKEN=[redacted]";
    let calls = [
        (
            "edit",
            json!({"path": "f", "old": format!("{masked}\nMODE=fast"), "new": format!("{masked}\nMODE=slow")}),
        ),
        ("edit", json!({"path": "f", "old": "MODE=fast", "new": format!("MODE=slow\n{masked}")})),
        ("write", json!({"path": "f", "content": format!("{masked}\nMODE=slow\n")})),
        ("write", json!({"path": "copy", "content": format!("{masked}\n")})),
        (
            "patch",
            json!({"patch": format!("*** Begin Patch\n*** Update File: f\n {masked}\n-MODE=fast\n+MODE=slow\n*** End Patch")}),
        ),
    ];
    for mention in [false, true] {
        for (tool, input) in &calls {
            let server = ModelServer::start();
            let zdx = with_model(&server);
            zdx.write("f", secret);
            if !mention {
                server.push(Reply::chat().tool_call("c1", "read", json!({"path": "f"})));
            }
            server.push(Reply::chat().tool_call("c2", tool, input.clone()));
            server.push(Reply::chat().text("done"));
            zdx.run(["exec", "-p", if mention { "look at @f" } else { "go" }]).success();
            let result = chat_results(server.calls().last().unwrap()).pop().unwrap().1;
            assert_eq!(result["error"]["code"], "invalid_input", "{tool} {input} {result}");
            let message = result["error"]["message"].as_str().unwrap();
            assert!(message.contains("stands for a secret"), "{message}");
            assert_eq!(zdx.read("f"), secret);
            assert!(!zdx.root().join("copy").exists());
        }
    }
}

#[test]
fn a_file_that_is_about_masks_can_be_edited() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("mask.rs", "const MASK: &str = \"[redacted]\";\n");
    server.push(Reply::chat().tool_call("c1", "read", json!({"path": "mask.rs"})));
    let edit = json!({"path": "mask.rs", "old": "const MASK: &str = \"[redacted]\"", "new": "pub const MASK: &str = \"[redacted]\""});
    server.push(Reply::chat().tool_call("c2", "edit", edit));
    server.push(Reply::chat().text("done"));
    zdx.run(["exec", "-p", "go"]).success();
    assert_eq!(zdx.read("mask.rs"), "pub const MASK: &str = \"[redacted]\";\n");
}

/// A name that is no UTF-8 is a name: nothing breaks down over it, in the root or behind a link.
#[test]
fn names_that_are_no_text_are_no_trouble() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let root = zdx.root().join(std::ffi::OsStr::from_bytes(b"r\xff"));
    std::fs::create_dir(&root).unwrap();
    symlink(std::ffi::OsStr::from_bytes(b"f\xfe"), root.join("link")).unwrap();
    server.push(Reply::chat().tool_call("c1", "write", json!({"path": "link", "content": "one"})));
    server.push(Reply::chat().tool_call("c2", "edit", json!({"path": "link", "old": "one", "new": "two"})));
    server.push(Reply::chat().text("done"));
    let output =
        zdx.command().args(["exec", "--format", "json", "-p", "go", "--root"]).arg(&root).run().success();
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    let types: Vec<_> = output.json_lines().iter().map(|line| line["type"].clone()).collect();
    assert_eq!(types[0], "session_started");
    let results = chat_results(&server.calls()[2]);
    assert!(results.iter().all(|(_, result)| result["ok"] == true), "{results:?}");
    assert_eq!(std::fs::read(root.join(std::ffi::OsStr::from_bytes(b"f\xfe"))).unwrap(), b"two");
}

/// A long line of harmless words, and many harmless wishes, hide nothing.
#[test]
fn what_a_project_wants_to_run_is_shown_to_its_end() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let agents: String = (0..30).map(|n| format!("[agent.a{n}]\nprompt = \"p\"\n")).collect();
    let command = format!("true {} ; touch END-OF-COMMAND", "x ".repeat(1_500));
    zdx.write(".zdx/config.toml", format!("{agents}[validation]\ncommand = \"{command}\"\n"));
    let listed = zdx.command().args(["trust", "--yes"]).run().success().stdout;
    assert!(listed.contains(&command), "{listed}");
    zdx.run(["trust", "--revoke"]).success();
    let pty = zdx.command().line_mode(60, 100);
    pty.wait_for_text("[q] leave\nanswer:", SOON);
    let shown = pty.contents();
    let joined = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains("; touch END-OF-COMMAND") && joined.contains("all shown"), "{shown}");
    pty.send("q\r");
    zdx.write(
        ".zdx/config.toml",
        format!("[validation]\ncommand = \"true {} ; touch END\"\n", "x ".repeat(9_000)),
    );
    let listed = zdx.command().args(["trust", "--yes"]).run().success().stdout;
    assert!(
        listed.contains("characters, see `zdx trust --format json`") && listed.contains("touch END\n"),
        "{listed}"
    );
}

/// A question names the folder a command begins in; another one in its place is not the one that was named.
#[test]
fn a_command_does_not_run_in_a_folder_that_was_swapped() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("work/kept", "");
    let (work, away) = (zdx.root().join("work"), zdx.root().join("away"));
    let pty = open(&zdx, 80, &["--root", "work"]);
    let swap = |typed: bool| {
        let call = match typed {
            true => {
                pty.send("!rm -f made\r");
                0
            }
            false => begin(&server, &pty, bash("touch made")),
        };
        wait_for_keys(&pty, if typed { "[n] no" } else { "[m] no, and why" });
        std::fs::rename(&work, &away).unwrap();
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join("made"), "precious").unwrap();
        pty.send("y\r");
        if typed {
            pty.wait_for_text("not run: the working folder", SOON);
        } else {
            assert_eq!(told(&server, call, &pty)["error"]["code"], "exec_error");
        }
        assert_eq!(std::fs::read_to_string(work.join("made")).unwrap(), "precious");
        assert!(!away.join("made").exists());
        std::fs::remove_dir_all(&work).unwrap();
        std::fs::rename(&away, &work).unwrap();
    };
    swap(false);
    swap(true);
    wait_for_prompt(&pty);
    leave(pty);
}

/// Servers quote the key that they refuse.
#[test]
fn a_key_is_not_repeated_by_what_lists_models() {
    let server = ModelServer::start();
    let zdx = with_model(&server).env("LAB_TOKEN", "planted-Key-Value-77");
    let refusal = json!({"error": {"message": "bad key planted-Key-Value-77"}});
    server.models(Reply::status(401).json(refusal));
    let output = zdx.run(["models", "--provider", "test"]);
    assert!(!output.stderr.contains("planted-Key"), "{}", output.stderr);
    assert!(output.stderr.contains("bad key [redacted]"), "{}", output.stderr);
}

#[test]
fn a_wrong_argument_is_quoted_harmlessly() {
    let output = place().run(["exec", "--b\x1b]0;x\x07ad", "\u{9b}2J"]).expect_code(2);
    assert!(
        output.stderr.contains("unexpected argument") && output.stderr.contains("Usage:"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains(['\x1b', '\x07', '\u{9b}']), "{:?}", output.stderr);
}

/// What a page put on the clipboard is drawn without effect, and sent as it came.
#[test]
fn a_paste_does_not_drive_the_terminal() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 80, &[]);
    let pasted = "look \u{9b}2J\u{9d}0;x\u{9c}\x07\u{202e} here";
    let before = pty.raw().len();
    pty.send(format!("\x1b[200~{pasted}\x1b[201~"));
    pty.wait_for_text(" here", SOON);
    pty.send("!");
    pty.wait_for_text(" here!", SOON);
    let drawn = String::from_utf8_lossy(&pty.raw()[before..]).into_owned();
    assert!(!drawn.contains(['\u{9b}', '\u{9d}', '\u{9c}', '\x07', '\u{202e}']), "{drawn:?}");
    server.push(Reply::chat().text("heard"));
    pty.send("\r");
    pty.wait_for_text("heard", SOON);
    assert_eq!(crate::prompt_of(&server.calls()[0]), format!("{pasted}!"));
    wait_for_prompt(&pty);
    leave(pty);
}

/// A model is told where the whole of a long output lies: it may read that, and nothing else there.
#[test]
fn a_long_output_can_be_read_where_it_was_kept() {
    let server = ModelServer::start();
    let zdx =
        with_model(&server).config_more("[permission.bash]\n\"seq *\" = \"allow\"\n\"tail *\" = \"allow\"\n");
    server.always(|request| {
        let results = chat_results(request);
        let told = results.iter().find_map(|(_, result)| result["data"]["stdout_file"].as_str());
        let Some(file) = told else {
            return Reply::chat().tool_call("c1", "bash", json!({"command": "seq 1 60000"}));
        };
        if results.len() > 1 {
            return Reply::chat().text("done");
        }
        let log = file.replace("c1.stdout", "log");
        Reply::chat()
            .tool_call("c2", "grep", json!({"pattern": "^59999$", "path": file}))
            .tool_call("c3", "bash", json!({"command": format!("tail -n 1 {file}")}))
            .tool_call("c4", "read", json!({"path": log}))
            .tool_call("c5", "write", json!({"path": file, "content": ""}))
    });
    zdx.run(["exec", "--approval", "balanced", "-p", "go"]).success();
    let results = chat_results(server.calls().last().unwrap());
    assert_eq!(results[1].1["data"]["matches"], 1, "{results:?}");
    assert_eq!(results[2].1["data"]["stdout"], "60000\n", "{results:?}");
    assert_eq!(results[3].1["error"]["code"], "approval_required", "{results:?}");
    assert_eq!(results[4].1["error"]["code"], "approval_required", "{results:?}");
}

/// What is explained is what holds for whoever works as that agent.
#[test]
fn the_policy_of_an_agent_is_the_one_explained() {
    let zdx = place().config("[agent.careful]\nmode = \"primary\"\npermission = { bash = \"deny\" }\n");
    let check = |agent: &str, call: Value| {
        let run = zdx.command().args(["policy", "check", "--agent", agent]).stdin(format!("{call}\n")).run();
        run.success().json_lines()[0]["verdict"].clone()
    };
    assert_eq!(check("build", json!({"tool": "write", "input": {"path": "a", "content": ""}})), "ask");
    assert_eq!(check("plan", json!({"tool": "write", "input": {"path": "a", "content": ""}})), "deny");
    assert_eq!(check("careful", json!({"tool": "bash", "input": {"command": "ls"}})), "deny");
    zdx.run(["policy", "explain", "--agent", "nobody", "ls"]).expect_code(1);
}
