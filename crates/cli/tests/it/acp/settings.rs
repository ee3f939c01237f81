//! Which agent is meant, where it is looked for, and what it is started with.

use serde_json::json;
use zdx_testkit::acp_fake;

use super::{acp, sent, sent_of, settings, with_agent};
use crate::{SOON, place};

#[test]
fn the_first_agent_listed_is_the_default_and_others_are_chosen() {
    let zdx = place();
    let agent = |name: &str| json!({"command": acp_fake(), "args": ["--script", json!({"on": {"session/prompt": [{"say": name}]}}).to_string()]});
    settings(&zdx, &json!({"agent_servers": {"zoe": agent("zoe"), "abe": agent("abe")}}));
    assert_eq!(acp(&zdx, &["hi"]).run().success().stdout, "zoe\n");
    assert_eq!(acp(&zdx, &["-a", "abe", "hi"]).run().success().stdout, "abe\n");
    let output = acp(&zdx, &["--agent", "eve", "hi"]).run().expect_code(2);
    assert!(output.stderr.contains("there is no agent eve; there are: zoe, abe"), "{}", output.stderr);

    zdx.write("other.json", json!({"agent_servers": {"eve": agent("eve")}}).to_string());
    assert_eq!(acp(&zdx, &["--settings", "other.json", "hi"]).run().success().stdout, "eve\n");
    acp(&zdx, &["--settings", "other.json", "-a", "zoe", "hi"]).run().expect_code(2);
}

#[test]
fn bad_settings_are_a_usage_error_with_file_and_line() {
    let zdx = place();
    let output = acp(&zdx, &["hi"]).run().expect_code(2);
    assert!(
        output.stderr.contains("no agent is configured") && output.stderr.contains("acp.json"),
        "{}",
        output.stderr
    );
    let output = acp(&zdx, &["--settings", "none.json", "hi"]).run().expect_code(2);
    assert!(output.stderr.contains("cannot read none.json: no such file"), "{}", output.stderr);
    zdx.write("bad.json", "{\"agent_servers\": {\n  \"a\": {\"command\": [1]}}}");
    let output = acp(&zdx, &["--settings", "bad.json", "hi"]).run().expect_code(2);
    assert!(output.stderr.contains("bad.json:2: invalid type"), "{}", output.stderr);
    let zdx = place().config("[acp.agents.a]\nargs = [\"x\"]\n");
    let output = acp(&zdx, &["hi"]).run().expect_code(2);
    assert!(output.stderr.contains("config.toml:1: acp.agents.a: it has no `command`"), "{}", output.stderr);
    let zdx = with_agent(json!({})).config("model = 3\n");
    let output = acp(&zdx, &["hi"]).run().expect_code(2);
    assert!(output.stderr.contains("config.toml:1: model"), "{}", output.stderr);
    let output = acp(&zdx, &["-o", "yaml", "hi"]).run().expect_code(2);
    assert!(output.stderr.contains("yaml"), "{}", output.stderr);
    let output = zdx.run(["--trust", "acp", "hi"]).expect_code(2);
    assert!(output.stderr.contains("options of its own"), "{}", output.stderr);
}

#[test]
fn an_agent_of_the_configuration_is_one_too_and_a_projects_needs_trust() {
    let agent = |name: &str, says: &str| {
        let script = json!({"on": {"session/prompt": [{"say": says}]}}).to_string();
        format!("[acp.agents.{name}]\ncommand = [{:?}, \"--script\", {script:?}]\n", acp_fake())
    };
    let zdx = place().config(&agent("mine", "mine"));
    assert_eq!(acp(&zdx, &["hi"]).run().success().stdout, "mine\n");
    zdx.write(".zdx/config.toml", agent("theirs", "theirs"));
    let output = acp(&zdx, &["-a", "theirs", "hi"]).run().expect_code(2);
    assert!(output.stderr.contains("zdx trust"), "{}", output.stderr);
    let shown = zdx.run(["trust"]).stdout + &zdx.run(["trust"]).stderr;
    assert!(shown.contains("have `zdx acp` start the agent theirs"), "{shown}");
    zdx.run(["trust", "--yes"]).success();
    assert_eq!(acp(&zdx, &["-a", "theirs", "hi"]).run().success().stdout, "theirs\n");
    assert_eq!(acp(&zdx, &["hi"]).run().success().stdout, "mine\n");
}

/// One registry: both commands know both places, and say it when a name is in both.
#[test]
fn an_agent_of_either_place_works_for_both_commands() {
    let args = |says: &str| {
        vec!["--script".to_owned(), json!({"on": {"session/prompt": [{"say": says}]}}).to_string()]
    };
    let table = |name: &str, says: &str| {
        format!("[acp.agents.{name}]\ncommand = {:?}\nargs = {}\n", acp_fake(), json!(args(says)))
    };
    let config = table("table", "from the table") + &table("both", "hidden");
    let zdx = place().config(&config);
    let entry = |says: &str| json!({"command": acp_fake(), "args": args(says)});
    settings(&zdx, &json!({"agent_servers": {"file": entry("from the file"), "both": entry("shown")}}));
    let backend =
        |name: &str| zdx.command().args(["exec", "--backend", &format!("acp:{name}"), "-p", "hi"]).run();
    for (name, says) in [("file", "from the file\n"), ("table", "from the table\n"), ("both", "shown\n")] {
        for output in [acp(&zdx, &["-a", name, "hi"]).run().success(), backend(name).success()] {
            assert_eq!(output.stdout, says, "{name}");
            let notice = output.stderr.contains("the agent both is named in ")
                && output
                    .stderr
                    .contains("acp.json and in the configuration (acp.agents); the file's is used");
            assert_eq!(notice, name == "both", "{}", output.stderr);
        }
    }
    let known = "there is no agent eve; there are: file, both, table";
    assert!(acp(&zdx, &["-a", "eve", "hi"]).run().expect_code(2).stderr.contains(known));
    assert!(backend("eve").expect_code(2).stderr.contains(known));
    // An agent that a project names still needs trust, by either command.
    zdx.write(".zdx/config.toml", table("theirs", "theirs"));
    assert!(backend("theirs").expect_code(1).stderr.contains("nobody trusts the folder"));
    acp(&zdx, &["-a", "theirs", "hi"]).run().expect_code(2);
    // A project cannot put itself before the user's own agents.
    zdx.write(".zdx/config.toml", table("file", "theirs"));
    assert_eq!(backend("file").success().stdout, "from the file\n");
    std::fs::write(zdx.storage().join("acp.json"), "{").unwrap();
    assert!(backend("table").expect_code(2).stderr.contains("acp.json:1: "));
}

#[test]
fn an_agent_has_the_whole_environment_and_its_own_on_top() {
    let zdx = place();
    let play = json!([{"env": "SOME_API_KEY"}, {"say": " "}, {"env": "B"}, {"say": " "}, {"env": "PAGER"}, {"say": " "}, {"cwd": true}]);
    let args = json!(["--script", json!({"on": {"session/prompt": play}}).to_string()]);
    settings(
        &zdx,
        &json!({"agent_servers": {"f": {"command": acp_fake(), "args": args, "env": {"B": "own"}}}}),
    );
    let output = acp(&zdx, &["hi"]).env("SOME_API_KEY", "s3cret").env("B", "parent").run().success();
    assert_eq!(output.stdout, format!("s3cret own unset {}\n", zdx.root().display()));
}

#[test]
fn servers_are_handed_on_with_all_that_the_protocol_wants() {
    let zdx = with_agent(json!({}));
    let mut file: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(zdx.storage().join("acp.json")).unwrap()).unwrap();
    file["mcp_servers"] = json!([
        {"name": "one", "command": "/bin/one", "args": ["--stdio"], "env": {"C": "v"}},
        {"name": "two", "command": "two"},
        {"name": "web", "type": "http", "url": "http://127.0.0.1:1/mcp"}
    ]);
    settings(&zdx, &file);
    let output = acp(&zdx, &["hi"]).run().success();
    assert_eq!(
        sent_of(&zdx, "session/new")[0]["mcpServers"],
        json!([
            {"name": "one", "command": "/bin/one", "args": ["--stdio"], "env": [{"name": "C", "value": "v"}]},
            {"name": "two", "command": "two", "args": [], "env": []}
        ])
    );
    assert!(output.stderr.contains("takes no MCP servers over http; web is left out"), "{}", output.stderr);
}

#[test]
fn a_link_by_the_name_of_acpcli_is_the_command() {
    let zdx = with_agent(json!({}));
    let link = zdx.home().join("acpcli");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_zdx"), &link).unwrap();
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(&link);
        command.args(args).current_dir(zdx.root()).env("HOME", zdx.home()).env("ZDX_HOME", zdx.storage());
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run(&["--mode", "code", "hi"]), (Some(0), "echo: hi\n".to_owned()));
    assert_eq!(run(&[]).0, Some(2));
    let (code, help) = run(&["-h"]);
    assert!(code == Some(0) && help.contains("--save-session"), "{help}");
}

#[test]
fn help_is_found_where_people_look() {
    let zdx = place();
    assert!(zdx.run(["--help"]).success().stdout.contains("  acp "));
    for args in [&["acp", "-h"][..], &["acp", "--help"], &["help", "acp"]] {
        let help = zdx.run(args).success().stdout;
        assert!(help.contains("zdx acp [OPTIONS] [--] [PROMPT]") && help.contains("--list-caps"), "{help}");
        assert!(!help.contains("--approval"), "none of the others' options: {help}");
    }
    assert!(zdx.run(["man"]).success().stdout.contains("ZDX ACP"));
}

#[test]
fn a_program_that_is_not_there_says_so() {
    let zdx = place();
    settings(&zdx, &json!({"agent_servers": {"gone": {"command": "no-such-agent"}}}));
    let output = acp(&zdx, &["-o", "jsonl", "hi"]).timeout(SOON).run().expect_code(1);
    assert!(
        output.stderr.contains("the agent gone does not start") && output.stderr.contains("on the PATH?"),
        "{}",
        output.stderr
    );
    assert_eq!(output.json_lines().len(), 1);
    assert!(sent(&zdx).is_empty());
}
