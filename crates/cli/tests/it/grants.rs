//! What was allowed for good: where it holds, how long, and for whom.

use serde_json::json;
use zdx_testkit::{ModelServer, Reply};

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
    pty.send("a");
    wait_for_keys(&pty, "[b] back");
    pty.send("s");
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
    pty.send("a");
    wait_for_keys(&pty, "[b] back");
    pty.send("p");
    assert_eq!(told(&server, call, &pty)["ok"], true);
    let call = begin(&server, &pty, bash("touch made"));
    assert_eq!(told(&server, call, &pty)["ok"], true);
    zdx.run(["policy", "grants", "--revoke", "touch made"]).success();
    let call = begin(&server, &pty, bash("touch made"));
    wait_for_question(&pty);
    pty.send("n");
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
    pty.send("a");
    wait_for_keys(&pty, "[b] back");
    pty.send("s");
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
    pty.send("y");
    assert_eq!(told(&server, call, &pty)["ok"], true);
    leave(pty);
    for file in [zdx.session_files()[0].clone(), zdx.storage().join("grants.json")] {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        assert!(!text.contains(secret), "{text}");
    }
}
