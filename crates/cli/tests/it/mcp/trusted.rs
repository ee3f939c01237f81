//! Servers of a project, and of other programs' files: nothing of them starts before somebody trusts it.

use std::fs;

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, mcp_fake};

use super::{server, with_fake};
use crate::guard::told;
use crate::{SOON, with_model};

#[test]
fn a_projects_servers_want_trust_and_a_changed_command_asks_again() {
    let model = ModelServer::start();
    model.always(|_| Reply::chat().text("fine"));
    let zdx = with_model(&model);
    let file = |args: Value| {
        json!({"mcpServers": {"theirs": {"command": mcp_fake(), "args": args, "env": {"A": "${HOME}"}}, "web": {"url": "http://127.0.0.1:1", "headers": {"Authorization": "Bearer abcdefgh12345678"}}}}).to_string()
    };
    zdx.write(".mcp.json", file(json!([])));
    let names = || model.calls().last().unwrap().tool_names().join(" ");
    let output = zdx.run(["exec", "-p", "x"]).success();
    assert!(!names().contains("mcp__"));
    assert!(
        output.stderr.contains("mcp.theirs (.mcp.json:1)") && output.stderr.contains("zdx trust"),
        "{}",
        output.stderr
    );
    let listed = zdx.run(["mcp", "list"]).success().stdout;
    assert!(listed.contains("theirs  untrusted"), "{listed}");

    let text = zdx.run(["trust"]).expect_code(2).stdout;
    let json = zdx.run(["trust", "--format", "json"]).expect_code(2).json_lines();
    let json: String = json.iter().filter_map(|want| want["want"].as_str()).collect();
    for shown in [text, json] {
        assert!(shown.contains(r#""A":"${HOME}""#), "{shown}");
        assert!(shown.contains("connect to the MCP server web at http://127.0.0.1:1"), "{shown}");
        assert!(!shown.contains("abcdefgh12345678"), "{shown}");
    }

    zdx.run(["trust", "--yes"]).success();
    let output = zdx.run(["exec", "-p", "x"]).success();
    assert!(names().contains("mcp__theirs__echo"), "{}", output.stderr);
    assert!(output.stderr.contains("MCP server web: it is a server elsewhere"), "{}", output.stderr);

    zdx.write(".mcp.json", file(json!(["--tools", "1"])));
    let output = zdx.run(["exec", "-p", "x"]).success();
    assert!(!names().contains("mcp__"));
    assert!(output.stderr.contains("changed since you trusted"), "{}", output.stderr);
}

#[test]
fn shapes_of_other_programs_are_read_in_our_own_file() {
    let model = ModelServer::start();
    model.always(|_| Reply::chat().text("fine"));
    let zdx = with_model(&model);
    let base = model.openai_base();
    fs::remove_file(zdx.storage().join("config.toml")).unwrap();
    let config = json!({
        "model": "test/scripted",
        "providers": {"test": {"wire": "openai-chat", "base_url": base}},
        "mcp_servers": [{"name": "listed", "command": mcp_fake(), "args": ["--tools", "1"], "env": {"A": "b"}}],
        "mcpServers": {"named": {"command": mcp_fake()}}
    });
    fs::write(zdx.storage().join("config.json"), config.to_string()).unwrap();
    let output = zdx.run(["exec", "-p", "x"]).success();
    let names = model.calls()[0].tool_names().join(" ");
    assert!(
        names.contains("mcp__listed__item_0_create") && names.contains("mcp__named__echo"),
        "{names} {}",
        output.stderr
    );
}

/// What was allowed for good was this tool, as it described itself then.
#[test]
pub fn a_tool_that_describes_itself_otherwise_is_asked_about_again() {
    let model = ModelServer::start();
    let zdx = with_fake(&model, &[]);
    let call = || Reply::chat().tool_call("c1", "mcp__fake__echo", json!({"text": "x"}));
    // A person allows it for this project.
    zdx.run(["mcp", "list"]).success();
    told(&zdx, &model, &[("mcp__fake__image", json!({}))], &[]);
    model.push(call());
    model.push(Reply::chat().text("fine"));
    let mut pty = zdx.command().arg("--plain").pty(40, 110);
    pty.wait_for_text("scripted", SOON);
    pty.send("go\r");
    pty.wait_for_text("call echo of the MCP server fake?", SOON);
    assert!(pty.contents().contains("which nobody has checked"), "{}", pty.contents());
    crate::approvals::wait_for_question(&pty);
    pty.send("a\r");
    crate::approvals::wait_for_keys(&pty, "[b] back");
    pty.send("p\r");
    pty.wait_for_text("fine", SOON);
    pty.send("\x04");
    assert_eq!(pty.wait_exit(SOON), 0);
    let grants = fs::read_to_string(zdx.storage().join("grants.json")).unwrap();
    let digest = grants.split_once("mcp fake__echo #").map_or("", |(_, rest)| rest);
    assert_eq!(digest.chars().take_while(char::is_ascii_hexdigit).count(), 64, "{grants}");

    let (_, results) =
        told(&zdx, &model, &[("mcp__fake__echo", json!({"text": "x"}))], &["--approval", "balanced"]);
    assert_eq!(results[0]["ok"], true, "{results:?}");
    let config = fs::read_to_string(zdx.storage().join("config.toml")).unwrap();
    let changed = config.split("[mcp.fake]").next().unwrap().to_owned() + &server("fake", &["--changed"], "");
    let zdx = zdx.config(&changed);
    let (_, results) =
        told(&zdx, &model, &[("mcp__fake__echo", json!({"text": "x"}))], &["--approval", "balanced"]);
    assert_eq!(results[0]["error"]["code"], "approval_required", "{results:?}");
}

/// The first request goes by what the server listed in an earlier run, and so do the question and a grant.
#[test]
fn a_tool_that_changed_since_an_earlier_run_is_not_called_by_what_it_was() {
    let model = ModelServer::start();
    let zdx = with_model(&model);
    let (script, go) = (zdx.home().join("server.sh"), zdx.home().join("go"));
    let write = |option: &str| {
        let wait = format!("while [ ! -e '{}' ]; do sleep 0.01; done", go.display());
        fs::write(&script, format!("{wait}\nexec '{}' {option}\n", mcp_fake())).unwrap();
    };
    let zdx = zdx.config_more(&format!("[mcp.fake]\ncommand = [\"sh\", \"{}\"]\n", script.display()));
    fs::write(&go, "").unwrap();
    write("");
    zdx.run(["mcp", "list"]).success();
    fs::remove_file(&go).unwrap();
    write("--changed");
    // The server starts when the model was told of its tools.
    let asked = std::sync::atomic::AtomicUsize::new(0);
    model.always(move |_| {
        fs::write(&go, "").unwrap();
        match asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            2.. => Reply::chat().text("fine"),
            n => Reply::chat().tool_call(&format!("c{n}"), "mcp__fake__echo", json!({"text": "x"})),
        }
    });
    zdx.run(["exec", "--yolo", "-p", "x"]).success();
    let results: Vec<Value> =
        zdx.records().into_iter().filter(|record| record["type"] == "tool_result").collect();
    assert_eq!(results[0]["output"]["error"]["code"], "changed_since", "{results:?}");
    assert_eq!(results[1]["output"]["ok"], true, "{results:?}");
}
