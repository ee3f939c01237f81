//! `zdx exec`: channels, status lines and endings.

use serde_json::json;
use zdx_testkit::{ModelServer, Reply};

use crate::{SOON, hold_before, place, prompt_of, with_model};

#[test]
fn stdout_has_the_text_and_stderr_the_rest() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("I look.").tool_call("c1", "bash", json!({"command": "echo hi; exit 3"})));
    server.push(Reply::chat().text("It says hi."));
    let zdx = with_model(&server);
    let output = zdx.run(["exec", "-p", "what does it say?"]).success();
    assert_eq!(output.stdout, "I look.\nIt says hi.\n");
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines[0], "Tool requested: bash command=\"echo hi; exit 3\"", "{}", output.stderr);
    assert_eq!(lines[1], "Tool finished: bash exit=3", "{}", output.stderr);
    assert!(lines[2].starts_with("Done. (") && lines[2].ends_with("s)"), "{}", output.stderr);
    assert_eq!(lines.len(), 3, "{}", output.stderr);
}

#[test]
fn a_pipe_gets_the_models_bytes_with_one_newline_at_the_end() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for (text, expected) in [("a\u{1b}[1mb", "a\u{1b}[1mb\n"), ("done\n", "done\n"), ("two\n\n", "two\n\n")] {
        server.push(Reply::chat().text(text));
        assert_eq!(zdx.run(["exec", "-p", "x"]).success().stdout, expected);
    }
}

#[test]
fn text_is_on_stdout_before_the_answer_is_complete() {
    let gate = zdx_testkit::Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["early", " late"]).done(), "late", &gate));
    let zdx = with_model(&server);
    let running = zdx.command().args(["exec", "-p", "x"]).spawn();
    running.wait_for_stdout("early", SOON);
    gate.open();
    assert_eq!(running.finish(SOON).success().stdout, "early late\n");
}

#[test]
fn a_terminal_is_told_model_folder_and_session_and_sees_no_raw_escapes() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("clear\u{1b}[2Jed").tool_call("c1", "bash", json!({"command": "true"})));
    server.push(Reply::chat().text("end"));
    let zdx = with_model(&server);
    let mut pty = zdx.command().args(["exec", "-p", "x"]).line_mode(24, 120);
    assert_eq!(pty.wait_exit(SOON), 0);
    let screen = pty.contents();
    let id = zdx.session_files()[0].file_stem().unwrap().to_str().unwrap()[..8].to_owned();
    let first = screen.lines().next().unwrap_or_default();
    for part in ["test/scripted", "root", &id] {
        assert!(first.contains(part), "{part} is missing in {screen}");
    }
    assert!(screen.contains("\n• Ran true · exit 0\n"), "{screen}");
    assert!(screen.contains("\nend\n"), "{screen}");
    assert!(!String::from_utf8_lossy(&pty.raw()).contains("\u{1b}[2J"));
}

#[test]
fn colour_can_be_switched_off() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    for (variable, coloured) in [("LANG", true), ("NO_COLOR", false), ("AGENT_NO_COLOR", false)] {
        server.push(Reply::chat().text("end"));
        let mut pty = zdx.command().args(["exec", "-p", "x"]).env(variable, "1").line_mode(24, 80);
        assert_eq!(pty.wait_exit(SOON), 0);
        let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
        assert_eq!(raw.contains("\u{1b}[2m"), coloured, "{variable}: {raw:?}");
    }
}

#[test]
fn flags_win_over_environment_over_file() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let model_of = |args: &[&str], env: &str| {
        server.push(Reply::chat().text("ok"));
        zdx.command().args(args).env("ZDX_MODEL", env).run().success();
        server.calls().pop().unwrap().body["model"].as_str().unwrap().to_owned()
    };
    assert_eq!(model_of(&["exec", "-p", "x"], ""), "scripted");
    assert_eq!(model_of(&["exec", "-p", "x"], "test/from-env"), "from-env");
    assert_eq!(model_of(&["--model", "test/from-flag", "exec", "-p", "x"], "test/from-env"), "from-flag");
    assert_eq!(model_of(&["exec", "-p", "x", "--model", "test/from-flag"], "test/from-env"), "from-flag");
}

#[test]
fn an_error_says_what_to_do_and_exits_1() {
    let server = ModelServer::start();
    server.always(|_| Reply::status(401).json(json!({"error": {"message": "bad key"}})));
    let output = with_model(&server).run(["exec", "-p", "x"]).expect_code(1);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("zdx: ") && output.stderr.contains("bad key"), "{}", output.stderr);
    assert!(output.stderr.lines().count() <= 2, "{}", output.stderr);
}

#[test]
fn a_missing_key_names_its_variable_and_the_way_around() {
    let output = place().run(["exec", "--model", "anthropic/claude-x", "-p", "x"]).expect_code(1);
    assert!(output.stderr.contains("ANTHROPIC_API_KEY"), "{}", output.stderr);
    assert!(output.stderr.lines().count() <= 2, "{}", output.stderr);
}

#[test]
fn the_step_limit_is_an_honest_failure() {
    let server = ModelServer::start();
    server.always(|request| {
        let command = format!("echo {}", request.messages().len());
        Reply::chat().tool_call("c", "bash", json!({ "command": command }))
    });
    let output = with_model(&server).run(["exec", "--max-steps", "2", "-p", "x"]).expect_code(1);
    assert_eq!(server.calls().len(), 2);
    assert!(output.stderr.contains("step"), "{}", output.stderr);
}

#[test]
fn a_reader_that_leaves_is_no_error_and_a_full_disk_is_one() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text(&"word ".repeat(40_000)));
    let zdx = with_model(&server);
    let shell = |script: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script]).env("ZDX", env!("CARGO_BIN_EXE_zdx")).env("ZDX_HOME", zdx.storage());
        command.current_dir(zdx.root()).stdin(std::process::Stdio::null()).output().unwrap()
    };
    let output = shell(r#"{ "$ZDX" exec -p x; echo "code $?" >&2; } | head -c 10"#);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "word word ");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "code 0\n");
    let output = shell(r#""$ZDX" exec -p x >/dev/full; echo "code $?" >&2"#);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("zdx: cannot write to stdout") && stderr.ends_with("code 1\n"), "{stderr}");
    let output = shell(r#""$ZDX" --help | true; "$ZDX" completions bash | true; "$ZDX" man | true"#);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn an_empty_system_prompt_leaves_only_the_projects_rules() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("ok"));
    let zdx = with_model(&server);
    zdx.write("AGENTS.md", "speak softly");
    zdx.run(["exec", "--system-prompt", "", "-p", "-hello"]).success();
    let call = server.calls().pop().unwrap();
    let system = call.messages()[0]["content"].to_string();
    assert!(system.contains("speak softly") && !system.contains("coding agent"), "{system}");
    assert_eq!(prompt_of(&call), "-hello");
}
