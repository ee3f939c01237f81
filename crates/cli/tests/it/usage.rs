//! The command line itself: help, versions, mistakes, and what every shell script relies on.

use zdx_testkit::{ModelServer, Reply};

use crate::{SOON, place, prompt_of};

#[test]
fn version_and_help_go_to_stdout() {
    let zdx = place();
    let version = zdx.run(["--version"]).success();
    assert_eq!(version.stdout, format!("zdx {}\n", env!("CARGO_PKG_VERSION")));
    let help = zdx.run(["--help"]).success();
    for word in ["exec", "sessions", "Examples:", "--no-save", "zdx config init"] {
        assert!(help.stdout.contains(word), "{word} is missing in {}", help.stdout);
    }
    assert_eq!(help.stderr, "");
}

#[test]
fn mistakes_are_usage_errors_on_stderr() {
    let zdx = place();
    for (args, hint) in [
        (&["exce", "-p", "x"][..], "exec"),
        (&["sesions"], "'sessions'"),
        (&["sesions", "list", "-n", "5"], "'sessions'"),
        (&["fix"], "unrecognized subcommand 'fix'"),
        (&["fix the bug", "now"], "several prompts"),
        (&["fix the bug", "--", "now"], "several prompts"),
        (&["-p", "x", "config", "path"], "beside a command"),
        (&["-p", "x", "fix the bug"], "two prompts"),
        (&["exec", "-p", "x", "--modle", "y"], "--model"),
        (&["exec", "--format", "yaml", "-p", "x"], "json"),
        (&["exec", "-p", "x", "y"], "two prompts"),
        (&["exec"], "-p"),
        (&["exec", "-p", "  "], "-p"),
        (&["--no-save", "exec", "--session", "abc", "-p", "x"], "--no-save"),
        (&["-c", "exec", "--session", "abc", "-p", "x"], "--continue"),
        (&["exec", "--yolo", "--approval", "paranoid", "-p", "x"], "--yolo"),
        (&["exec", "--root", "/nonexistent/place", "-p", "x"], "/nonexistent/place"),
        (&["sessions", "delete"], "IDS"),
    ] {
        let output = zdx.run(args).expect_code(2);
        assert_eq!(output.stdout, "", "{args:?}");
        assert!(output.stderr.contains(hint), "{args:?} does not mention {hint}: {}", output.stderr);
    }
    assert!(zdx.session_files().is_empty());
}

#[test]
fn words_that_are_no_command_are_a_prompt() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("mended").done());
    let zdx = place().chat(&server);
    for (args, piped, asked) in [
        (&["fix the bug"][..], "", "fix the bug"),
        (&["--yolo", "fix the bug", "--no-save"], "data\n", "fix the bug\n\ndata\n"),
        (&["为什么面积不对？修一下"], "", "为什么面积不对？修一下"),
        (&["你好"], "", "你好"),
        (&["why?"], "", "why?"),
        (&["--", "fix"], "", "fix"),
        (&["--", "fix", "--it", "all"], "", "fix --it all"),
        (&["-p", "fix"], "", "fix"),
        (&["-p", "fix", "-"], "data\n", "fix\n\ndata\n"),
        (&["-"], "fix it\n", "fix it"),
    ] {
        let out = zdx.command().args(args).stdin(piped).run().success();
        assert_eq!(out.stdout, "mended\n", "{args:?}: {}", out.stderr);
        assert_eq!(prompt_of(server.calls().last().unwrap()), asked, "{args:?}");
    }
    let result = zdx.run(["--format", "json", "-p", "fix"]).success().json_lines().pop().unwrap();
    assert_eq!((&result["type"], &result["text"]), (&"result".into(), &"mended".into()));
}

#[test]
fn a_prompt_on_the_command_line_opens_the_chat_of_a_person() {
    let server = ModelServer::start();
    server.always(|request| Reply::chat().text(&format!("answer {}", request.messages().len())).done());
    let zdx = place().chat(&server);
    let mut pty = zdx.command().arg("fix the bug").line_mode(30, 90);
    pty.wait_for_text("> fix the bug", SOON);
    pty.wait_for_text("answer 2", SOON);
    pty.send("and now?\r");
    pty.wait_for_text("answer 4", SOON);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    assert_eq!(prompt_of(&server.calls()[0]), "fix the bug");
}

#[test]
fn scripts_for_shells_and_man_are_generated() {
    let zdx = place();
    for shell in ["bash", "zsh", "fish"] {
        let output = zdx.run(["completions", shell]).success();
        assert!(output.stdout.contains("zdx") && output.stdout.contains("no-save"), "{shell}");
    }
    let man = zdx.run(["man"]).success();
    assert!(man.stdout.contains(".TH zdx") && man.stdout.contains(".SH ZDX EXEC"), "{}", man.stdout);
}

#[test]
fn models_are_listed_as_they_are_chosen() {
    let server = ModelServer::start();
    let zdx = place().chat(&server);
    assert_eq!(zdx.run(["models"]).success().stdout, "test/scripted  32768 tokens\n");
    let listed = zdx.run(["--format", "json", "models", "--provider", "test"]).success().json_lines();
    assert_eq!(listed[0]["model"], "test/scripted");
    let unknown = zdx.run(["models", "--provider", "nope"]).expect_code(1);
    assert!(unknown.stderr.contains("nope"), "{}", unknown.stderr);
}

#[test]
fn a_home_less_environment_is_told_what_to_set() {
    let output = place().command().args(["sessions", "list"]).env("HOME", "").env("ZDX_HOME", "").run();
    let output = output.expect_code(1);
    assert!(output.stderr.contains("ZDX_HOME"), "{}", output.stderr);
}
