//! What an agent behind our face brings of its own: terminals that are our commands, modes where ours are agents, models and
//! slash commands, all there before the first prompt.

use std::time::Duration;

use serde_json::{Value, json};
use zdx_testkit::{Signal, Zdx};

use super::backend::{exec, of_type, playing, with_backend};
use super::{answers, log_of, methods, sent_of};
use crate::SOON;
use crate::approvals::wait_for_question;
use crate::chat::{leave, wait_for_prompt};
use crate::mcp::{processes_with, wait_until};

const A_MOMENT: Duration = Duration::from_millis(300);

/// What the agent was answered, in order.
fn results(zdx: &Zdx) -> Vec<Value> {
    answers(zdx).into_iter().map(|mut answer| answer["result"].take()).collect()
}

#[test]
fn its_terminals_are_commands_of_ours() {
    let zdx = playing(json!("terminal"));
    let output = exec(&zdx, &["--format", "json", "-p", "go"]).run().success();
    let made = &results(&zdx);
    assert!(made[0]["terminalId"].is_string(), "{made:?}");
    assert_eq!(made[1], json!({"exitCode": 3, "signal": null}));
    let shown = made[2]["output"].as_str().unwrap();
    assert!(shown.contains("out") && shown.contains("err"), "{shown:?}");
    assert_eq!((&made[2]["truncated"], &made[2]["exitStatus"]["exitCode"]), (&json!(false), &json!(3)));
    assert_eq!(made[3], json!({}));
    let after = answers(&zdx).pop().unwrap();
    assert!(after["error"]["message"].as_str().unwrap().contains("Resource not found"), "{after}");
    // Run here, and told and kept as that.
    let lines = output.json_lines();
    let ran = of_type(&lines, "tool_finished");
    let ran: Vec<&&Value> =
        ran.iter().filter(|call| call["name"] == "bash" && call["origin"] == "model").collect();
    assert_eq!((ran.len(), &ran[0]["result"]["data"]["exit_code"]), (1, &json!(3)), "{lines:#?}");
    assert_eq!(of_type(&zdx.records(), "tool_use").len(), 1);
}

#[test]
fn a_terminal_is_judged_and_asked_about_like_any_command() {
    let dangerous = json!([
        {"ask": "terminal/create", "as": "made", "params": {"command": "rm", "args": ["-rf", "kept"]}},
        // Its turn would take it along otherwise.
        {"ask": "terminal/wait_for_exit", "params": {"terminalId": "$made/terminalId"}},
        {"say": "tried"}
    ]);
    let zdx = playing(dangerous);
    zdx.write("kept/a.txt", "here\n");
    exec(&zdx, &["--approval", "balanced", "-p", "go"]).run().success();
    let refused = &answers(&zdx)[0];
    assert_eq!(refused["error"]["data"]["code"], "approval_required", "{refused}");
    assert!(zdx.root().join("kept/a.txt").exists());
    // A person may.
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("go\r");
    pty.wait_for_text("$ rm -rf kept", SOON);
    wait_for_question(&pty);
    pty.send("y\r");
    pty.wait_for_text("tried", SOON);
    leave(pty);
    assert!(!zdx.root().join("kept").exists());
}

#[test]
fn a_terminal_begins_in_its_folder_with_its_variables() {
    let create = |params: Value| json!({"ask": "terminal/create", "as": "made", "params": params});
    let wait = json!({"ask": "terminal/wait_for_exit", "params": {"terminalId": "$made/terminalId"}});
    let play = json!([
        create(json!({"command": "sh", "args": ["-c", "pwd > where; echo \"$WORD\" >> where"], "cwd": "$cwd/sub",
            "env": [{"name": "WORD", "value": "a b"}]})), wait,
        create(json!({"command": "pwd > line; echo two >> line", "cwd": "$cwd/sub"})), wait,
        create(json!({"command": "true", "cwd": "$cwd/nowhere"})),
        create(json!({"command": "true", "env": [{"name": "--help", "value": ""}]})),
        create(json!({"command": " "})),
        {"say": "ran"}
    ]);
    let zdx = playing(play);
    zdx.write("sub/x", "");
    exec(&zdx, &["-p", "go"]).run().success();
    let sub = zdx.root().canonicalize().unwrap().join("sub");
    assert_eq!(zdx.read("sub/where"), format!("{}\na b\n", sub.display()));
    assert_eq!(zdx.read("sub/line"), format!("{}\ntwo\n", sub.display()));
    let refused: Vec<Value> =
        answers(&zdx).into_iter().filter(|answer| answer["error"].is_object()).collect();
    assert_eq!(
        refused.iter().map(|answer| &answer["error"]["code"]).collect::<Vec<_>>(),
        vec![&json!(-32602); 3]
    );
}

#[test]
fn a_terminal_is_killed_and_none_outlives_the_turn() {
    let zdx = playing(json!("terminal_kill"));
    exec(&zdx, &["-p", "go"]).run().success();
    assert_eq!(results(&zdx)[2], json!({"exitCode": null, "signal": "SIGKILL"}));
    let zdx = playing(json!([
        {"ask": "terminal/create", "params": {"command": "sleep", "args": ["31536003"]}},
        {"say": "left it"}
    ]));
    let output = exec(&zdx, &["-p", "go"]).run().success();
    assert!(output.stdout.contains("left it"), "{}", output.stdout);
    assert_eq!(processes_with("31536003"), 0);
    // Nor an interrupt.
    let zdx = playing(json!([
        {"ask": "terminal/create", "as": "made", "params": {"command": "sleep", "args": ["31536004"]}},
        {"say": "running"},
        {"ask": "terminal/wait_for_exit", "params": {"terminalId": "$made/terminalId"}}
    ]));
    let mut running = exec(&zdx, &["-p", "go"]).spawn();
    running.wait_for_stdout("running", SOON);
    running.signal(Signal::INT);
    running.finish(SOON).expect_code(130);
    wait_until("nothing is left", || {
        processes_with("31536004") == 0 && processes_with(&log_of(&zdx).display().to_string()) == 0
    });
}

#[test]
fn its_modes_are_chosen_where_ours_are_agents() {
    let zdx = with_backend(&json!({}));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("/agent\r");
    pty.wait_for_text("ask · Ask (in use)\ncode · Code\n", SOON);
    pty.send("/agent code\r");
    pty.wait_for_text("agent: code", SOON);
    pty.send("/agent nobody\r");
    pty.wait_for_text("acp:fake has no mode nobody; it has: ask, code", SOON);
    pty.send("hello\r");
    pty.wait_for_text("echo: hello", SOON);
    leave(pty);
    assert_eq!(sent_of(&zdx, "session/set_config_option")[0]["value"], "code");
    assert_eq!(of_type(&zdx.records(), "agent").last().unwrap()["agent"], "code");
    // It is in it again.
    zdx.command().args(["exec", "-c", "-p", "more"]).run().success();
    assert_eq!(methods(&zdx).last().unwrap(), "session/prompt");
    exec(&zdx, &["--agent", "ask", "-p", "hi"]).run().success();
    let output = exec(&zdx, &["--agent", "nobody", "-p", "hi"]).run().expect_code(1);
    assert!(output.stderr.contains("acp:fake has no mode nobody"), "{}", output.stderr);
}

#[test]
fn its_models_and_commands_are_there_before_the_first_prompt() {
    let zdx = with_backend(&json!({}));
    let pty = zdx.command().args(["--backend", "acp:fake"]).pty(30, 100);
    pty.wait_for_text("acp:fake", SOON);
    // It says what it has when it has started: what is typed before knows nothing of it.
    let offers = || {
        pty.send("\x15/rev");
        pty.saw_text("Reviews a change", A_MOMENT)
    };
    wait_until("its commands are offered", offers);
    pty.send("\x15/model acp:");
    pty.wait_for_text("acp:fake/large", SOON);
    pty.send("\x15/review this\r");
    pty.wait_for_text("echo: /review this", SOON);
    assert_eq!(
        sent_of(&zdx, "session/prompt")[0]["prompt"],
        json!([{"type": "text", "text": "/review this"}])
    );
    assert_eq!(methods(&zdx)[..2], ["initialize", "session/new"]);
    pty.send("\x04");
}

#[test]
fn one_that_does_not_start_is_told_at_once_and_can_be_mended() {
    let zdx = with_backend(&json!({})).config("[acp.agents.fake]\ncommand = [\"./agent\"]\n");
    let pty = zdx.command().args(["--backend", "acp:fake"]).pty(30, 120);
    pty.wait_for_text("the agent fake does not start", SOON);
    pty.send("hello\r");
    pty.wait_for(|screen| screen.contents().matches("does not start").count() == 2, SOON);
    pty.send("\x04");
}

#[test]
fn an_interrupt_while_it_starts_leaves_nothing() {
    let zdx = with_backend(&json!({"on": {"initialize": "silent"}}));
    let mut running = exec(&zdx, &["-p", "go"]).spawn();
    wait_until("it was greeted", || {
        log_of(&zdx).exists() && methods(&zdx).contains(&"initialize".to_owned())
    });
    running.signal(Signal::INT);
    running.finish(SOON).expect_code(130);
    wait_until("no agent is left", || processes_with(&log_of(&zdx).display().to_string()) == 0);
}

#[test]
fn what_a_person_runs_takes_back_and_copies_is_told_to_who_needs_it() {
    let zdx = with_backend(&json!({}));
    let pty = zdx.command().args(["--backend", "acp:fake"]).line_mode(40, 100);
    wait_for_prompt(&pty);
    pty.send("!echo from the shell\r");
    pty.wait_for_text("\nfrom the shell", SOON);
    pty.send("first\r");
    pty.wait_for_text("echo: ", SOON);
    let prompt = &sent_of(&zdx, "session/prompt")[0]["prompt"];
    assert!(
        prompt[0]["text"]
            .as_str()
            .unwrap()
            .contains("$ echo from the shell\nexit code 0\nstdout:\nfrom the shell"),
        "{prompt}"
    );
    assert_eq!((&prompt[1]["text"], &prompt[2]), (&json!("first"), &Value::Null));
    pty.send("/revert\r");
    pty.wait_for_text("fake still knows what was taken back", SOON);
    pty.send("second\r");
    pty.wait_for_text("echo: second", SOON);
    // A copy begins a session of the agent's own.
    pty.send("/fork\r");
    wait_for_prompt(&pty);
    pty.send("third\r");
    pty.wait_for_text("echo: third", SOON);
    leave(pty);
    let sessions: Vec<Value> =
        sent_of(&zdx, "session/prompt").into_iter().map(|mut prompt| prompt["sessionId"].take()).collect();
    assert!(sessions[0] == sessions[1] && sessions[1] != sessions[2], "{sessions:?}");
    assert_eq!(sent_of(&zdx, "session/resume").len(), 0);
}
