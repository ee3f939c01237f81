//! What `exec` does with stdin.

use zdx_testkit::{ModelServer, Reply, Run};

use crate::{SOON, prompt_of, with_model};

fn asked(run: impl FnOnce(Run<'_>) -> Run<'_>) -> (String, String) {
    let server = ModelServer::start();
    server.push(Reply::chat().text("ok"));
    let zdx = with_model(&server);
    let output = run(zdx.command().arg("exec")).run().success();
    assert_eq!(output.stdout, "ok\n");
    (prompt_of(&server.calls()[0]), output.stderr)
}

#[test]
fn the_prompt_alone_is_sent_unchanged() {
    let quiet = |prompt: &str| (prompt.to_owned(), String::new());
    assert_eq!(asked(|run| run.args(["-p", " why? "])), quiet(" why? "));
    assert_eq!(asked(|run| run.args(["-p", "why?"]).stdin("")), quiet("why?"));
    assert_eq!(asked(|run| run.arg("why?").stdin("")), quiet("why?"));
}

#[test]
fn what_is_piped_in_goes_along() {
    assert_eq!(asked(|run| run.args(["-p", "why?"]).stdin("a log\nof two\n")).0, "why?\n\na log\nof two\n");
    assert_eq!(asked(|run| run.stdin("from a pipe\n")).0, "from a pipe");
    assert_eq!(asked(|run| run.arg("-").stdin("from a dash\n")).0, "from a dash");
    assert_eq!(asked(|run| run.args(["-p", "why?", "-"]).stdin("x")).0, "why?\n\nx");
}

#[test]
fn bytes_that_are_no_text_are_replaced_with_a_word() {
    let (prompt, stderr) = asked(|run| run.args(["-p", "why?"]).stdin(b"\xff\xfe!"));
    assert_eq!(prompt, "why?\n\n\u{fffd}\u{fffd}!");
    assert!(stderr.contains("UTF-8"), "{stderr}");
}

#[test]
fn a_silent_pipe_is_not_waited_for() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("ok"));
    let zdx = with_model(&server);
    let running = zdx.command().args(["exec", "-p", "why?"]).stdin_open().spawn();
    let output = running.finish(SOON).success();
    assert!(output.stderr.contains("silent"), "{}", output.stderr);
    assert_eq!(prompt_of(&server.calls()[0]), "why?");
}

#[test]
fn a_dash_waits_however_long_it_takes() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("ok"));
    let zdx = with_model(&server);
    let mut patient = zdx.command().args(["exec", "-p", "why?", "-"]).stdin_open().spawn();
    // Another run that does not wait has come and gone: the patient one is past the time it would have given up.
    server.push(Reply::chat().text("ok"));
    zdx.command().args(["exec", "-p", "hasty"]).stdin_open().spawn().finish(SOON).success();
    assert!(patient.is_running());
    patient.write("slow data");
    patient.close_stdin();
    patient.finish(SOON).success();
    assert_eq!(prompt_of(&server.calls()[1]), "why?\n\nslow data");
}

#[test]
fn more_than_fits_is_refused_before_anything_is_sent() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let output = zdx.command().args(["exec", "-p", "why?"]).stdin(vec![b'x'; (10 << 20) + 1]).run();
    let output = output.expect_code(1);
    assert!(output.stderr.contains("10 MiB"), "{}", output.stderr);
    assert!(server.requests().is_empty() && zdx.session_files().is_empty());
}

/// Whoever filled the pipe is not who runs zdx: a log, a diff or a page must not run, choose or fetch anything.
#[test]
fn what_is_piped_in_triggers_nothing() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(outside.path(), "not for the model").unwrap();
    for (args, data) in [
        (&[][..], "!touch made".to_owned()),
        (&["-"], "@!touch made".to_owned()),
        (&["-p", "why?"], "!touch made".to_owned()),
        (&["-p", "!true"], "touch made".to_owned()),
        (&["-p", "/mine"], "x\n!`touch made`".to_owned()),
        (&[], "/mine".to_owned()),
        (&[], "@agent:plan".to_owned()),
        (&["-p", "sum it up"], format!("see @{}", outside.path().display())),
        (&[], format!("see @{}", outside.path().display())),
    ] {
        let server = ModelServer::start();
        server.always(|_| Reply::chat().text("ok"));
        let zdx = with_model(&server);
        std::fs::create_dir_all(zdx.storage().join("commands")).unwrap();
        std::fs::write(zdx.storage().join("commands/mine.md"), "mine $ARGUMENTS !`touch by-mine`").unwrap();
        zdx.command().arg("exec").args(args).stdin(&data).run().success();
        assert!(!zdx.root().join("made").exists(), "{args:?} {data}");
        assert_eq!(zdx.root().join("by-mine").exists(), args.contains(&"/mine"), "{args:?} {data}");
        let sent: String = server.calls().iter().map(|call| call.body.to_string()).collect();
        assert!(!sent.contains("not for the model"), "{args:?} {data}");
        assert!(!zdx.records().iter().any(|record| record["type"] == "agent"), "{args:?} {data}");
        if !args.contains(&"!true") {
            assert!(sent.contains(data.lines().next().unwrap()), "{args:?} {data}: {sent}");
        }
    }
}

/// Whoever filled the pipe need not be who runs zdx: nothing in it attaches a file or makes a plan.
#[test]
fn what_is_piped_in_is_inert() {
    for args in [&["-p", "why"][..], &[]] {
        let server = ModelServer::start();
        server.push(Reply::chat().text("ok"));
        let zdx = with_model(&server);
        zdx.write("notes.txt", "in the project");
        let data =
            "see @notes.txt and @missing.rs\n1. first do this\n2. then do that\n3. finally do the rest\n";
        let out = zdx.command().arg("exec").args(args).stdin(data).run().success();
        let sent = server.calls()[0].body.to_string();
        assert!(sent.contains("see @notes.txt") && !sent.contains("in the project"), "{args:?} {sent}");
        assert!(!sent.contains("This task has several steps"), "{args:?} {sent}");
        assert!(out.records_of("todos").is_empty(), "{args:?}");
        assert_eq!(out.stderr, "", "{args:?}");
    }
}
