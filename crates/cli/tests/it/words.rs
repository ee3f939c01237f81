//! What a person reads: nothing that was said to the model, and a word where there is nothing to show.

use serde_json::json;
use zdx_testkit::{ModelServer, Reply};

use crate::{SOON, place, with_model};

#[test]
fn a_list_of_nothing_says_so_beside_an_empty_stdout() {
    let zdx = place();
    for (args, word) in [
        (&["policy", "grants"][..], "nothing was granted for good in this project"),
        (&["policy", "grants", "--everywhere"], "nothing was granted for good in any project\n"),
        (&["trust", "--list"], "no folder is trusted"),
        (&["trust", "--list", "--format", "json"], "no folder is trusted"),
    ] {
        let out = zdx.run(args).success();
        assert_eq!(out.stdout, "", "{args:?}");
        assert!(out.stderr.starts_with(word), "{args:?}: {}", out.stderr);
    }
}

#[test]
fn agents_that_cannot_be_chosen_are_not_offered() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let out = zdx.command().stdin("/agent\n").run().success();
    for (name, listed) in
        [("build · ", true), ("plan · ", true), ("explore · ", false), ("general · ", false)]
    {
        assert_eq!(out.stderr.contains(name), listed, "{name} in {}", out.stderr);
    }
}

#[test]
fn a_change_of_folder_alone_says_that_it_does_nothing() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write("sub/here.txt", "");
    let out = zdx.command().args(["--yolo"]).stdin("!cd sub\n!cd sub && ls\n").run().success();
    assert_eq!(out.stderr.matches("cd does nothing by itself").count(), 1, "{}", out.stderr);
    assert!(out.stderr.contains("here.txt"), "{}", out.stderr);
    let typed: Vec<_> = zdx.records().into_iter().filter(|r| r["role"] == "user").collect();
    assert_eq!((typed.len(), &typed[0]["text"]), (1, &json!("!cd sub && ls")));
}

#[test]
fn nobody_is_told_what_is_for_the_model() {
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "bash", json!({"command": "touch made"})).done(),
        Reply::chat().text("as you like").done(),
    ]);
    let zdx = with_model(&server);
    zdx.write("kept", "x");
    let mut pty = zdx.command().line_mode(40, 160);
    pty.wait_for_text("> ", SOON);
    pty.send("make it\r");
    crate::approvals::wait_for_question(&pty);
    pty.send("n\r");
    pty.wait_for_text("as you like", SOON);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    let screen = pty.contents();
    assert!(screen.contains("\n✗ Run touch made · denied\n"), "{screen}");
    assert!(!screen.contains("go on without it"), "{screen}");

    // Typed by a person, a command that needs a yes is not answered with advice about tools.
    let out = zdx.run(["exec", "-p", "!echo y > kept"]).success();
    assert!(out.stderr.contains("--allow-dangerous") && !out.stderr.contains("write tool"), "{}", out.stderr);
    assert_eq!(zdx.read("kept"), "x");
}
