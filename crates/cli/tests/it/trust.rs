//! What trusting a project does, how it is given and taken back, and how a person is asked.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use zdx_testkit::{ModelServer, Pty, Reply, Zdx};

use crate::{SOON, place};

fn project() -> (ModelServer, Zdx) {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("fine"));
    let zdx = place().chat(&server);
    zdx.write(".zdx/config.toml", "[models.\"test/scripted\"]\nmax_tokens = 77\n");
    zdx.write(".claude/commands/deploy.md", "Now:\n!`git push\u{1b}[2J`\n");
    (server, zdx)
}

/// What the project set for the model, if it had a say.
fn max_tokens(server: &ModelServer) -> u64 {
    server.calls().pop().unwrap().body["max_tokens"].as_u64().unwrap()
}

#[test]
fn exec_says_in_one_line_what_it_ignores() {
    let (server, zdx) = project();
    let out = zdx.run(["exec", "-p", "x"]).success();
    let lines: Vec<_> = out.stderr.lines().filter(|line| line.contains("zdx trust")).collect();
    assert_eq!(lines.len(), 1, "{}", out.stderr);
    for part in ["max_tokens (.zdx/config.toml:2)", "/deploy (.claude/commands/deploy.md:2)"] {
        assert!(lines[0].contains(part), "{part} in {}", lines[0]);
    }
    assert_ne!(max_tokens(&server), 77);
    let shown = zdx.run(["config", "show"]).success();
    assert!(shown.stderr.contains("have not trusted"), "{}", shown.stderr);
    assert!(shown.stderr.contains(".claude/commands/deploy.md:2: /deploy: run git push"), "{}", shown.stderr);
    let set_here = |shown: &str| shown.lines().any(|line| line.contains(".zdx/config.toml:"));
    assert!(!set_here(&shown.stdout), "{}", shown.stdout);
    assert!(set_here(&zdx.run(["config", "show", "--trust"]).success().stdout));
}

#[test]
fn trust_is_given_for_this_content_and_taken_back() {
    let (server, zdx) = project();
    let run = || {
        let out = zdx.run(["exec", "-p", "x"]).success();
        (max_tokens(&server) == 77, out.stderr)
    };
    let refused = zdx.run(["trust"]).expect_code(2);
    assert!(refused.stdout.contains("deploy.md:2: /deploy: run git push\\x1b[2J"), "{}", refused.stdout);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert!(!run().0);

    zdx.run(["trust", "--yes"]).success();
    let mode = fs::metadata(zdx.storage().join("trust.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (obeyed, stderr) = run();
    assert!(obeyed && !stderr.contains("trust"), "{stderr}");
    let listed = zdx.run(["trust", "--list"]).success().stdout;
    assert!(listed.contains(&zdx.root().display().to_string()), "{listed}");
    let json = zdx.run(["trust", "--list", "--format", "json"]).success().json_lines();
    assert_eq!(json[0]["root"], zdx.root().display().to_string());
    assert_eq!(json[0]["holds"], true);

    // Any change, or one file more, and it is a stranger again.
    for (path, text) in [
        (".zdx/config.toml", "[models.\"test/scripted\"]\nmax_tokens = 77 \n"),
        (".claude/commands/deploy.md", "Now:\n!`git push --force`\n"),
        (".opencode/commands/new.md", "!`true`"),
    ] {
        let before = fs::read(zdx.root().join(path)).ok();
        zdx.write(path, text);
        let (obeyed, stderr) = run();
        assert!(!obeyed && stderr.contains("changed since you trusted"), "{path}: {stderr}");
        let told = zdx.run(["trust"]).expect_code(2).stderr;
        assert!(told.contains(&format!("changed since you trusted it: {path}")), "{told}");
        let listed = zdx.run(["trust", "--list"]).success().stdout;
        assert!(listed.contains("not trusted any more"), "{listed}");
        match before {
            Some(before) => zdx.write(path, before),
            None => fs::remove_file(zdx.root().join(path)).unwrap(),
        }
        assert!(run().0, "{path}");
    }

    zdx.run(["trust", "--revoke"]).success();
    assert!(!run().0);
    assert_eq!(zdx.run(["trust", "--list"]).success().stdout, "");
}

#[test]
fn a_configuration_that_appears_after_trust_is_not_covered_by_it() {
    let (server, zdx) = project();
    fs::remove_file(zdx.root().join(".zdx/config.toml")).unwrap();
    zdx.run(["trust", "--yes"]).success();
    zdx.write(".zdx/config.jsonc", "{\"models\":{\"test/scripted\":{\"max_tokens\":77}}}");
    let out = zdx.run(["exec", "-p", "x"]).success();
    assert_ne!(max_tokens(&server), 77);
    assert!(out.stderr.contains("changed since you trusted"), "{}", out.stderr);
}

#[test]
fn one_run_can_trust_without_remembering() {
    let (server, zdx) = project();
    let out = zdx.run(["exec", "--trust", "-p", "x"]).success();
    assert_eq!(max_tokens(&server), 77);
    assert!(!out.stderr.contains("zdx trust"), "{}", out.stderr);
    assert!(!zdx.storage().join("trust.json").exists());
    zdx.run(["exec", "-p", "x"]).success();
    assert_ne!(max_tokens(&server), 77);
}

#[test]
fn a_damaged_store_trusts_nobody_and_stays_as_it_is() {
    let (server, zdx) = project();
    fs::write(zdx.storage().join("trust.json"), "{\"version\":1,").unwrap();
    let out = zdx.run(["exec", "-p", "x"]).success();
    assert!(out.stderr.contains("trust.json is damaged"), "{}", out.stderr);
    assert_ne!(max_tokens(&server), 77);
    zdx.run(["trust", "--yes"]).expect_code(1);
    assert_eq!(fs::read_to_string(zdx.storage().join("trust.json")).unwrap(), "{\"version\":1,");
}

#[test]
fn a_project_that_wants_nothing_needs_no_trust() {
    let (server, zdx) = project();
    fs::remove_dir_all(zdx.root().join(".claude")).unwrap();
    zdx.write(".zdx/config.toml", "max_tokens = 50\napproval = \"paranoid\"\n");
    let out = zdx.run(["exec", "-p", "x"]).success();
    assert!(!out.stderr.contains("trust"), "{}", out.stderr);
    assert_eq!(max_tokens(&server), 50);
    assert!(zdx.run(["trust"]).success().stdout.contains("wants nothing"));
}

const QUESTION: &str = "[t] trust · [n] not now (Enter) · [q] leave\nanswer:";

fn asked(zdx: &Zdx) -> Pty {
    let pty = zdx.command().line_mode(40, 110);
    pty.wait_for_text(QUESTION, SOON);
    pty
}

fn prompt_waits(pty: &Pty) {
    let at_prompt = |screen: &vt100::Screen| {
        let (row, column) = screen.cursor_position();
        screen.contents_between(row, 0, row, 100).trim_end() == ">" && column == 2
    };
    pty.wait_for(at_prompt, SOON);
}

#[test]
fn a_person_is_asked_once_and_the_answer_is_kept() {
    let (server, zdx) = project();
    let mut pty = asked(&zdx);
    let screen = pty.contents();
    for part in ["is not trusted", ".zdx/config.toml:2: set", "/deploy: run git push\\x1b[2J"] {
        assert!(screen.contains(part), "{part} in {screen}");
    }
    assert_eq!(server.requests().len(), 0);
    pty.send("t\r");
    prompt_waits(&pty);
    pty.send("hello\r");
    server.wait_for_call(1, SOON);
    assert_eq!(max_tokens(&server), 77);
    prompt_waits(&pty);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);

    let mut again = zdx.command().line_mode(40, 110);
    prompt_waits(&again);
    assert!(!again.contents().contains("trust"), "{}", again.contents());
    again.send("\x04");
    assert_eq!(again.wait_exit(SOON), 0);
}

#[test]
fn not_now_goes_on_without_and_is_not_asked_again_in_this_chat() {
    let (server, zdx) = project();
    let mut pty = asked(&zdx);
    pty.send("n\r");
    prompt_waits(&pty);
    assert!(pty.contents().contains("have not trusted"), "{}", pty.contents());
    pty.send("/new\r");
    pty.wait_for(|screen| screen.contents().matches("session").count() >= 2, SOON);
    prompt_waits(&pty);
    assert_eq!(pty.contents().matches(QUESTION).count(), 1, "{}", pty.contents());
    pty.send("hello\r");
    server.wait_for_call(1, SOON);
    assert_ne!(max_tokens(&server), 77);
    prompt_waits(&pty);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    assert!(!zdx.storage().join("trust.json").exists());
}

#[test]
fn leaving_leaves_nothing_behind() {
    let (server, zdx) = project();
    for (keys, code) in [("q\r", 0), ("\x04", 0), ("\x03", 130)] {
        let mut pty = asked(&zdx);
        pty.send(keys);
        assert_eq!(pty.wait_exit(SOON), code, "{keys:?}");
    }
    assert_eq!((server.requests().len(), zdx.session_files().len()), (0, 0));
    assert!(!zdx.storage().join("trust.json").exists());
}

#[test]
fn the_command_asks_on_a_terminal() {
    let (_server, zdx) = project();
    for (answer, code, trusted) in [("\r", 1, false), ("n\r", 1, false), ("y\r", 0, true)] {
        let mut pty = zdx.command().arg("trust").line_mode(40, 110);
        pty.wait_for_text("[y/N]", SOON);
        pty.send(answer);
        assert_eq!(pty.wait_exit(SOON), code, "{answer:?}: {}", pty.contents());
        assert_eq!(zdx.storage().join("trust.json").exists(), trusted);
    }
}
