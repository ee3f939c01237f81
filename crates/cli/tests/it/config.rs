//! `zdx config`: where it is, what it says, and a first file.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use zdx_testkit::{ModelServer, Reply};

use crate::place;

#[test]
fn path_names_the_file_that_is_or_would_be_there() {
    let zdx = place();
    let expected = zdx.storage().join("config.toml");
    assert_eq!(zdx.run(["config", "path"]).success().stdout, format!("{}\n", expected.display()));
    fs::write(zdx.storage().join("config.json"), "{}").unwrap();
    let expected = zdx.storage().join("config.json");
    assert_eq!(zdx.run(["config", "path"]).success().stdout, format!("{}\n", expected.display()));
}

#[test]
fn init_writes_once_and_what_it_writes_is_valid() {
    let zdx = place();
    let path = zdx.storage().join("config.toml");
    let output = zdx.run(["config", "init"]).success();
    assert_eq!(output.stdout, format!("{}\n", path.display()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    zdx.run(["config", "show"]).success();

    fs::write(&path, "max_tokens = 7\n").unwrap();
    let again = zdx.run(["config", "init"]).expect_code(1);
    assert!(again.stderr.contains("config.toml"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), "max_tokens = 7\n");
}

#[test]
fn show_tells_who_set_what() {
    let zdx = place().config("max_tokens = 7\nmax_steps = 5\ntemperature = 0.5\n");
    let run = zdx.command().args(["config", "show", "--max-steps", "9"]).env("ZDX_MODEL", "lab/m");
    let shown = run.run().success().stdout;
    let line = |key: &str| shown.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
    assert!(line("max_tokens").contains("config.toml:1"), "{shown}");
    assert!(line("max_steps").contains('9') && line("max_steps").contains("--max-steps"), "{shown}");
    assert!(line("model ").contains("lab/m") && line("model ").contains("ZDX_MODEL"), "{shown}");
    assert!(line("tool_timeout_secs").contains("default"), "{shown}");
}

#[test]
fn show_prints_the_system_prompt_with_the_projects_rules() {
    let zdx = place();
    zdx.write("AGENTS.md", "always answer in verse");
    let built_in = zdx.run(["config", "show", "--system-prompt"]).success().stdout;
    assert!(built_in.contains("always answer in verse") && built_in.len() > 500, "{built_in}");
    let own = zdx.run(["config", "show", "--system-prompt", "be terse"]).success().stdout;
    assert!(own.starts_with("be terse") && own.contains("always answer in verse"), "{own}");
}

#[test]
fn a_broken_file_is_named_with_its_line() {
    let zdx = place().config("\nmax_tokens = \"many\"\n");
    let output = zdx.run(["exec", "-p", "x"]).expect_code(1);
    assert!(output.stderr.contains("config.toml:2"), "{}", output.stderr);
    assert_eq!(output.stdout, "");
}

/// Each setting of the file that `config init` writes, as somebody would switch it on: with the table that it stands in.
fn examples(file: &str) -> Vec<String> {
    let (mut table, mut found) = (String::new(), Vec::new());
    for line in file.lines().filter_map(|line| line.strip_prefix('#')).filter(|line| !line.starts_with(' ')) {
        match line.starts_with('[') {
            true => table = format!("{line}\n"),
            false if line.is_empty() => {}
            false => found.push(format!("{table}{line}\n")),
        }
    }
    found
}

#[test]
fn every_example_of_the_first_file_works_alone_and_all_of_them_together() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok").done());
    let zdx = place().env("ZDX_BASE_URL", server.openai_base()).env("LAB_KEY", "sk-lab-0123456789");
    zdx.run(["config", "init"]).success();
    let path = zdx.storage().join("config.toml");
    let file = fs::read_to_string(&path).unwrap();
    for name in ["prompt.md", "house-rules.md", "lab-ca.pem"] {
        assert!(file.contains(name), "{name} is named in an example");
        fs::write(zdx.storage().join(name), "be kind\n").unwrap();
    }
    let mut examples = examples(&file);
    assert!(examples.len() > 40, "{}", examples.len());
    let whole = file.lines().map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')));
    examples.push(whole.map(|line| format!("{}\n", line.unwrap_or_default())).collect());
    for example in examples {
        fs::write(&path, &example).unwrap();
        let shown = zdx.run(["config", "show"]).success();
        assert_eq!(shown.stderr, "", "{example}");
        let out = zdx.run(["exec", "-p", "x"]).success();
        assert_eq!(out.stdout, "ok\n", "{example}");
        assert!(!out.stderr.contains("warning") && !out.stderr.contains("zdx:"), "{example}{}", out.stderr);
    }
}

#[test]
fn show_and_exec_refuse_and_warn_alike() {
    for (text, fault) in [
        ("dangerous_patterns = [\"* x\"]", "dangerous_patterns"),
        ("blacklist_patterns = [\"(\"]", "blacklist_patterns"),
        ("system_prompt_file = \"nowhere.md\"", "nowhere.md"),
        ("provider = \"nobody\"", "nobody"),
        ("model = \"half/m\"\n[providers.half]\nbase_url = \"http://127.0.0.1:1/v1\"", "names no wire"),
        ("[providers.demo]\nwire = \"anthropic\"", "demo"),
        ("max_tokens = \"many\"", "config.toml:1"),
        ("[providers.lab.headers]\nX-Gate-Token = \"planted\"", "config.toml:2"),
        ("openai_base_url = \"https://me:planted@h/v1\"", "config.toml:1"),
    ] {
        let zdx = place().config(text);
        let [shown, run] =
            [&["config", "show"][..], &["exec", "-p", "x"]].map(|args| zdx.run(args).expect_code(1));
        assert_eq!(shown.stderr, run.stderr, "{text}");
        assert!(run.stderr.contains(fault) && !run.stderr.contains("planted"), "{text}: {}", run.stderr);
    }
    let server = ModelServer::start_with([Reply::chat().text("ok").done()]);
    let zdx =
        place().chat(&server).config_more("[permission]\nwrit = \"ask\"\n[agent.rev]\nmode = \"odd\"\n");
    let [shown, run] = [&["config", "show"][..], &["exec", "-p", "x"]].map(|args| zdx.run(args).success());
    assert_eq!(shown.stderr, run.stderr);
    assert_eq!(run.stderr.matches("warning: ").count(), 2, "{}", run.stderr);
}

#[test]
fn nobody_reads_of_a_word_that_he_did_not_write() {
    let zdx = place().config("approval = \"lax\"");
    let out = zdx.run(["config", "show"]).expect_code(1);
    assert!(
        out.stderr.contains("yolo, balanced, paranoid") && !out.stderr.contains("god_mode"),
        "{}",
        out.stderr
    );
    place().config("approval = \"god_mode\"").run(["config", "show"]).success();
}
