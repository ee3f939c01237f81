//! What somebody in a conversation is told to do next: words that lead on from where he is.

use serde_json::json;
use zdx_testkit::{ModelServer, Pty, Reply};

use crate::approvals::{begin, open, told, wait_for_keys};
use crate::chat::{leave, wait_for_prompt};
use crate::{SOON, with_model};

fn shown(pty: &Pty) -> String {
    pty.contents().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write(path: &str, content: &str) -> Reply {
    Reply::chat().tool_call("w", "write", json!({"path": path, "content": content})).into()
}

/// What was pasted and answered is not carried along whole; the session keeps it.
#[test]
fn a_compaction_keeps_both_ends_of_a_long_prompt() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let log: String = (0..900).map(|n| format!("line {n} of the log\n")).collect();
    server.push(Reply::chat().text("read"));
    zdx.command().args(["exec", "-p", "what is this?"]).stdin(&log).run().success();
    server.push(Reply::chat().text("a summary of it"));
    server.push(Reply::chat().text("done"));
    let out = zdx.command().args(["-c"]).stdin("/compact\nand now?\n").run().success();
    assert!(out.stderr.contains("of 1 long prompt beginning and end stay in the context"), "{}", out.stderr);
    let sent = server.calls().last().unwrap().body.to_string();
    assert!(sent.contains("line 0 of the log") && sent.contains("line 899 of the log"), "{sent}");
    assert!(
        !sent.contains("line 450 of the log") && sent.contains("the session file has it whole"),
        "{sent}"
    );
    let file = std::fs::read_to_string(&zdx.session_files()[0]).unwrap();
    assert!(file.contains("line 450 of the log"));
}

/// Files that somebody else changed stand in the way of a turn, not of the conversation.
#[test]
fn the_conversation_goes_back_where_files_cannot() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let pty = open(&zdx, 100, &["--yolo"]);
    let call = begin(&server, &pty, write("a.txt", "one\n"));
    assert_eq!(told(&server, call, &pty)["ok"], true);
    wait_for_prompt(&pty);
    zdx.write("a.txt", "by hand\n");
    pty.send("/revert\r");
    pty.wait_for_text("--keep-files", SOON);
    let refused = shown(&pty);
    assert!(
        refused.contains("would be lost: ")
            && refused.contains("a.txt was changed since, and not by a tool of zdx;"),
        "{refused}"
    );
    wait_for_prompt(&pty);
    pty.send("/revert --keep-files\r");
    pty.wait_for_text("back to before turn 1", SOON);
    wait_for_prompt(&pty);
    assert_eq!(std::fs::read_to_string(zdx.root().join("a.txt")).unwrap(), "by hand\n");
    server.push(Reply::chat().text("fresh"));
    pty.send("anew\r");
    pty.wait_for_text("fresh", SOON);
    let sent = server.calls().last().unwrap().body.to_string();
    assert!(sent.contains("anew") && !sent.contains("by hand") && !sent.contains("a.txt"), "{sent}");
    leave(pty);
}

#[test]
fn a_model_that_is_not_there_names_the_list_at_hand() {
    let server = ModelServer::start();
    server.always(|_| {
        Reply::status(404)
            .json(json!({"error": {"message": "model `x` does not exist", "code": "model_not_found"}}))
    });
    let zdx = with_model(&server);
    let pty = open(&zdx, 100, &[]);
    pty.send("go\r");
    pty.wait_for_text("/model lists what there is", SOON);
    assert!(!shown(&pty).contains("zdx models"), "{}", pty.contents());
    leave(pty);
    let out = zdx.run(["exec", "-p", "go"]).expect_code(1);
    assert!(out.stderr.contains("`zdx models --provider test` lists what there is"), "{}", out.stderr);
}

/// A model is not offered what its agent's rules deny outright; who tries all the same hears who may.
#[test]
fn who_plans_is_offered_no_tool_that_changes_files() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for (agent, offered) in [("plan", false), ("build", true)] {
        let calls = server.calls().len();
        server.push(write("a.txt", "x"));
        server.push(Reply::chat().text("done"));
        let out = zdx.run(["exec", "--agent", agent, "-p", "go"]).success();
        let tools = server.calls()[calls].body["tools"].to_string();
        for tool in ["write", "edit", "patch"] {
            assert_eq!(tools.contains(&format!("\"name\":\"{tool}\"")), offered, "{agent} {tool}");
        }
        assert!(tools.contains("\"name\":\"bash\"") && tools.contains("\"name\":\"read\""), "{tools}");
        assert_eq!(out.stderr.contains("(`/agent build`)"), !offered, "{}", out.stderr);
    }
}

/// Who wants no check that has to be confirmed says so once.
#[test]
fn a_check_that_was_refused_is_not_asked_about_again() {
    let server = ModelServer::start();
    let config = "[permission]\nwrite = \"allow\"\n[validation]\ncommand = \"rm -f gone\"\n";
    let zdx = with_model(&server).config_more(config);
    let pty = open(&zdx, 100, &[]);
    let call = begin(&server, &pty, write("a.rs", "one"));
    wait_for_keys(&pty, "[n] no");
    assert!(shown(&pty).contains("zdx checks the work"), "{}", pty.contents());
    pty.send("n\r");
    told(&server, call, &pty);
    wait_for_prompt(&pty);
    let word = "not asked again here; !rm -f gone runs it";
    assert!(shown(&pty).contains(word), "{}", pty.contents());
    let call = begin(&server, &pty, write("a.rs", "two"));
    told(&server, call, &pty);
    wait_for_prompt(&pty);
    for once in ["zdx checks the work", word] {
        assert_eq!(shown(&pty).matches(once).count(), 1, "{}", pty.contents());
    }
    leave(pty);
}
