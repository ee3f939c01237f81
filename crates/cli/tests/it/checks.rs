//! The check after an edit: what goes back to the model, what is said at the end, and when nobody is asked any more.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Output, Reply, Signal, Zdx};

use crate::{SOON, place};

const COMMAND: &str = "grep -q good a.rs";

/// A model that writes these contents, each followed by a word that it is done.
fn repairs(contents: &[&str]) -> ModelServer {
    let server = ModelServer::start();
    for (n, content) in contents.iter().enumerate() {
        let input = json!({"path": "a.rs", "content": content});
        server.push(Reply::chat().tool_call(&format!("c{n}"), "write", input).done());
        server.push(Reply::chat().text(&format!("done {n}")).done());
    }
    server
}

fn checked(server: &ModelServer, attempts: u32) -> Zdx {
    let config = format!("[validation]\ncommand = \"{COMMAND}\"\nmax_attempts = {attempts}");
    place().chat(server).config_more(&config)
}

/// What stderr says of checks, without those that begin.
fn told(out: &Output) -> Vec<&str> {
    out.stderr.lines().filter(|line| line.contains("check ")).collect()
}

#[test]
fn the_last_repair_is_checked_too() {
    let server = repairs(&["bad", "worse", "good"]);
    let out = checked(&server, 2).run(["exec", "-p", "go"]).success();
    let failed = format!("warning: check failed: {COMMAND}");
    assert_eq!(told(&out), [&failed, &failed, &format!("check passed: {COMMAND}")]);
    assert_eq!(server.calls().len(), 6);
}

#[test]
fn what_the_model_has_checked_itself_is_not_checked_again() {
    let write = |id: &str| {
        Reply::chat().tool_call(id, "write", json!({"path": "a.rs", "content": format!("good {id}")})).done()
    };
    let run =
        |id: &str, command: &str| Reply::chat().tool_call(id, "bash", json!({"command": command})).done();
    let done = || Reply::chat().text("done").done();
    let same = format!("{COMMAND} 2>&1");
    let other = format!("{COMMAND}; true");
    for (replies, checks) in [
        (vec![write("c1"), run("c2", &same), done()], 0),
        // Changed since, another command, and none that ended well.
        (vec![write("c1"), run("c2", &same), write("c3"), done()], 1),
        (vec![write("c1"), run("c2", &other), done()], 1),
        (vec![run("c1", &same), write("c2"), done()], 1),
    ] {
        let server = ModelServer::start_with(replies);
        let out = checked(&server, 2).run(["exec", "-p", "go"]).success();
        assert_eq!(told(&out).len(), checks, "{}", out.stderr);
    }
}

/// A command not known to be read-only makes the last check stale, whichever way it went.
#[test]
fn a_command_makes_the_last_check_stale() {
    let run =
        |id: &str, command: &str| Reply::chat().tool_call(id, "bash", json!({"command": command})).done();
    for (replies, code, results) in [
        (vec![write("bad"), done(), run("c1", REPAIR), done()], 0, &["failed", "passed"][..]),
        // A command that only reads leaves the failure as it was: it is not checked again.
        (vec![write("bad"), done(), run("c1", "cat a.rs"), done()], 1, &["failed"]),
        // The model made the check itself, and then a command broke the code.
        (vec![write("good"), run("c1", COMMAND), run("c2", BREAK), done(), done()], 1, &["failed"]),
        (vec![write("good"), run("c1", COMMAND), run("c2", "cat a.rs"), done()], 0, &[]),
    ] {
        let server = ModelServer::start_with(replies);
        let zdx = with_files(&server);
        let args = ["exec", "--allow-dangerous", "--format", "json", "-p", "go"];
        let out = zdx.run(args).expect_code(code);
        let events = out.json_lines();
        let checks: Vec<_> = events
            .iter()
            .filter(|event| event["type"] == "checked")
            .map(|event| event["result"].as_str().unwrap())
            .collect();
        assert_eq!(checks, results);
        let outcome = if code == 0 { "completed" } else { "check_failed" };
        assert_eq!(events.last().unwrap()["outcome"], outcome);
    }
}

const REPAIR: &str = "cp good.txt a.rs";
const BREAK: &str = "cp bad.txt a.rs";

fn write(content: &str) -> Reply {
    Reply::chat().tool_call("w", "write", json!({"path": "a.rs", "content": content})).done()
}

fn run(command: &str) -> Reply {
    Reply::chat().tool_call("c", "bash", json!({"command": command})).done()
}

fn done() -> Reply {
    Reply::chat().text("done").done()
}

fn with_files(server: &ModelServer) -> Zdx {
    let zdx = checked(server, 2);
    zdx.write("good.txt", "good");
    zdx.write("bad.txt", "bad");
    zdx
}

/// Runs one turn with these answers of the model: its exit code, its outcome, the results of its checks, and whether the
/// user is told that the last check failed.
fn turn(
    zdx: &Zdx,
    server: &ModelServer,
    args: &[&str],
    replies: Vec<Reply>,
) -> (i32, Value, Vec<String>, bool) {
    replies.into_iter().for_each(|reply| server.push(reply));
    let args = [&["exec", "--allow-dangerous", "--format", "json", "-p", "go"], args].concat();
    let out = zdx.run(args);
    let events = out.json_lines();
    let results = events.iter().filter(|event| event["type"] == "checked");
    let results = results.map(|event| event["result"].as_str().unwrap().to_owned()).collect();
    let told = format!("the last check failed, and nothing was changed since: {COMMAND}");
    let reminded = events.iter().any(|event| event["type"] == "notice" && event["message"] == told);
    (out.code.unwrap(), events.last().unwrap()["outcome"].clone(), results, reminded)
}

/// The state of the last check lives with the session: `-c` is another process that goes on with it.
#[test]
fn a_later_turn_knows_how_the_last_check_ended() {
    let green = || vec![write("good"), done()];
    let red = || vec![write("bad"), done(), done()];
    for (first, second, code, results, reminded) in [
        // Nothing was changed since.
        (green(), vec![run("cat a.rs"), done()], 0, &[][..], false),
        (red(), vec![run("cat a.rs"), done()], 0, &[], true),
        (red(), vec![done()], 0, &[], true),
        // A command may have changed anything.
        (green(), vec![run(BREAK), done(), done()], 1, &["failed"], false),
        (red(), vec![run(REPAIR), done()], 0, &["passed"], false),
        (red(), vec![run("cp bad.txt b.rs"), done(), done()], 1, &["failed"], false),
        // The model made the check itself: the session is told, so that it is known later.
        (red(), vec![run(REPAIR), run(COMMAND), done()], 0, &["passed"], false),
        // Made by the model in the first turn, too.
        (vec![write("good"), run(COMMAND), done()], vec![run(BREAK), done(), done()], 1, &["failed"], false),
        (vec![write("good"), run(COMMAND), done()], vec![run("cat a.rs"), done()], 0, &[], false),
    ] {
        let server = ModelServer::start();
        let zdx = with_files(&server);
        turn(&zdx, &server, &[], first);
        let outcome = if code == 0 { "completed" } else { "check_failed" };
        let results: Vec<String> = results.iter().map(|&result| result.to_owned()).collect();
        let expected = (code, json!(outcome), results, reminded);
        assert_eq!(turn(&zdx, &server, &["-c"], second), expected);
        // The turn after the next one still knows it.
        let last = turn(&zdx, &server, &["-c"], vec![done()]);
        assert_eq!(last, (0, json!("completed"), Vec::new(), reminded || code == 1));
    }
}

#[test]
fn edits_of_an_interrupted_turn_are_checked_with_the_next() {
    let server = ModelServer::start_with([write("bad"), run("echo begun; sleep 600")]);
    let zdx = with_files(&server);
    let args = ["exec", "--allow-dangerous", "--format", "json", "-p", "go"];
    let mut running = zdx.command().args(args).spawn();
    running.wait_for_stdout("begun\\n", SOON);
    running.signal(Signal::INT);
    running.finish(SOON).expect_code(130);
    let (code, outcome, results, _) = turn(&zdx, &server, &["-c"], vec![done(), done()]);
    assert_eq!((code, outcome, results), (1, json!("check_failed"), vec!["failed".to_owned()]));
}

/// A session in which nobody edits code is not checked because a command ran, but because one changed code.
#[test]
fn commands_alone_are_checked_if_they_changed_code() {
    for (command, code, results) in [
        (BREAK, 1, &["failed"][..]),
        (REPAIR, 0, &["passed"]),
        ("cp bad.txt notes.txt", 0, &[]),
        ("sh -c 'exit 0'", 0, &[]),
    ] {
        let server = ModelServer::start();
        let zdx = with_files(&server);
        let replies = match code {
            0 => vec![run(command), done()],
            _ => vec![run(command), done(), done()],
        };
        let (ended, _, checks, _) = turn(&zdx, &server, &[], replies);
        let results: Vec<String> = results.iter().map(|&result| result.to_owned()).collect();
        assert_eq!((ended, checks), (code, results), "{command}");
    }
}

/// The turn that a task works for answers for the code the task changed, saved or not.
#[test]
fn edits_of_a_task_are_checked() {
    for extra in [&[][..], &["--no-save"]] {
        let call = json!({"agent": "general", "prompt": "write it"});
        let write = json!({"path": "a.rs", "content": "good"});
        let server = ModelServer::start_with(vec![
            Reply::chat().tool_call("t1", "task", call).done(),
            Reply::chat().tool_call("w1", "write", write).done(),
            Reply::chat().text("written").done(),
            Reply::chat().text("done").done(),
        ]);
        let args = [&["exec", "-p", "go"][..], extra].concat();
        let out = checked(&server, 2).run(args).success();
        assert_eq!(told(&out), [format!("check passed: {COMMAND}")], "{}", out.stderr);
    }
}

#[test]
fn a_check_that_fails_to_the_last_is_told_and_ends_the_turn() {
    for (attempts, contents) in [(2, &["bad", "worse", "worst"][..]), (1, &["bad", "worse"])] {
        let server = repairs(contents);
        let out = checked(&server, attempts).run(["exec", "--format", "json", "-p", "go"]).expect_code(1);
        let events = out.json_lines();
        let checks: Vec<_> = events
            .iter()
            .filter(|event| event["type"] == "checked")
            .map(|event| json!([event["result"], event["attempt"], event["attempts"], event["command"]]))
            .collect();
        let mut expected: Vec<Value> =
            (1..=attempts).map(|attempt| json!(["failed", attempt, attempts, COMMAND])).collect();
        expected.push(json!(["given_up", attempts, attempts, COMMAND]));
        assert_eq!(checks, expected);
        let result = events.last().unwrap();
        let said = format!("done {}", contents.len() - 1);
        assert_eq!((&result["outcome"], &result["text"]), (&json!("check_failed"), &json!(said)));
        let times = if attempts == 1 { "attempt" } else { "attempts" };
        let message = format!("check still fails after {attempts} {times}: {COMMAND} (exit code 1)");
        assert_eq!(result["error"], json!({"kind": "check", "message": message}));
        assert_eq!(out.stderr, format!("zdx: {message}\n"));
        assert_eq!(server.calls().len(), 2 * contents.len(), "the model is not asked again");
        let reminded = events.iter().filter(|event| event["type"] == "reminded").count();
        assert_eq!(reminded, attempts as usize);
    }
}

/// A model that only says that it is done leaves the work as red as it was.
#[test]
fn an_answer_without_another_edit_ends_as_red_as_the_last_check() {
    for (end, code) in [("exit 3", 1), ("exit 0", 0)] {
        let server = repairs(&["bad"]);
        server.push(Reply::chat().text("it is fine as it is").done());
        let command = format!("echo begun; echo 'line 7 is wrong' >&2; {end}");
        let config = format!("[validation]\ncommand = \"{command}\"");
        let zdx = place().chat(&server).config_more(&config);
        let out = zdx.run(["exec", "-p", "go"]).expect_code(code);
        let wrong = format!(
            "zdx: check still fails after 1 attempt: {command} (exit code 3)\nbegun\nline 7 is wrong\n"
        );
        assert_eq!(out.stderr.ends_with(&wrong), code == 1, "{}", out.stderr);
        assert_eq!(server.calls().len(), 2 + code as usize);
        assert_eq!(out.records_of("error").len(), code as usize);
    }
}

#[test]
fn what_a_check_said_is_shown_once() {
    let server = repairs(&["bad"]);
    server.push(Reply::chat().text("it is fine as it is").done());
    let zdx = place().chat(&server).config_more("[validation]\ncommand = \"sh check.sh\"");
    zdx.write("check.sh", "echo 'line 7 is wrong' >&2; exit 3\n");
    let mut pty = zdx.command().args(["--yolo"]).line_mode(40, 100);
    pty.wait_for_text("> ", SOON);
    pty.send("go\r");
    pty.wait_for_text("check still fails after 1 attempt: sh check.sh (exit code 3)", SOON);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    assert_eq!(pty.contents().matches("line 7 is wrong").count(), 1, "{}", pty.contents());
}

#[test]
fn a_check_that_is_interrupted_ends_an_interrupted_turn() {
    let server = repairs(&["bad"]);
    let zdx = place().chat(&server).config_more("[validation]\ncommand = \"echo begun; sleep 600\"");
    let mut running = zdx.command().args(["exec", "--format", "json", "-p", "go"]).spawn();
    running.wait_for_stdout("begun\\n", SOON);
    running.signal(Signal::INT);
    let out = running.finish(SOON).expect_code(130);
    assert_eq!(out.json_lines().pop().unwrap()["outcome"], "interrupted");
    assert_eq!(out.records_of("interrupted").len(), 1);
    assert!(!out.stdout.contains("not checked"), "{}", out.stdout);
}
