//! What a model sees of servers, and what comes of its calls.

use serde_json::{Value, json};
use zdx_testkit::{ModelServer, Reply, Signal};

use super::{log_of, sent, server, wait_until, with_fake};
use crate::guard::{code, told};
use crate::{SOON, results, with_model};

fn content(result: &Value) -> &str {
    result["data"]["content"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
pub fn a_servers_tools_are_tools_like_any_other() {
    let model = ModelServer::start();
    let zdx = with_fake(&model, &[]);
    let calls = [
        ("mcp__fake__echo", json!({"text": "hi"})),
        ("mcp__fake__a_b_c", json!({"x": 1})),
        // No tool of ours is hidden by one of theirs, and none of theirs goes by a bare name.
        ("echo", json!({"text": "hi"})),
    ];
    let (output, results) = told(&zdx, &model, &calls, &[]);
    assert_eq!(content(&results[0]), "echo: hi");
    assert_eq!(content(&results[1]), "a.b/c was called with {\"x\":1}");
    assert_eq!(code(&results[2]), "unknown_tool");
    let request = &model.calls()[0];
    let names = request.tool_names();
    assert_eq!(names[..2], ["read", "write"]);
    assert!(names.contains(&"mcp__fake__echo") && !names.contains(&"mcp__fake__task"), "{names:?}");
    assert!(!names.contains(&"tool_search"), "nothing has to be searched: {names:?}");
    let echo = request.body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["function"]["name"] == "mcp__fake__echo");
    let schema = &echo.unwrap()["function"]["parameters"];
    assert_eq!(schema, &json!({"type": "object", "properties": {"text": {"type": "string"}}}));
    assert!(output.stderr.contains("Tool requested: mcp__fake__echo text=\"hi\""), "{}", output.stderr);
    assert_eq!(output.records_of("tool_use")[0]["name"], "mcp__fake__echo");
}

#[test]
fn the_guard_judges_by_server_and_tool() {
    let model = ModelServer::start();
    let rules = "[permission.mcp]\n\"fake__echo\" = \"allow\"\n\"fake__fail\" = \"deny\"";
    let zdx = with_fake(&model, &[]).config_more(rules);
    let calls = ["echo", "image", "fail"].map(|name| (format!("mcp__fake__{name}"), json!({"text": "x"})));
    let calls: Vec<(&str, Value)> =
        calls.iter().map(|(name, input)| (name.as_str(), input.clone())).collect();
    let (_, results) = told(&zdx, &model, &calls, &["--approval", "balanced"]);
    let codes: Vec<&str> = results.iter().map(code).collect();
    // What is denied for good is not even offered.
    assert_eq!(codes, ["none", "approval_required", "unknown_tool"]);
    let check = r#"{"tool":"mcp__fake__fail","input":{}}"#;
    let judged = zdx.command().args(["policy", "check"]).stdin(check).run().success().stdout;
    assert!(judged.contains("\"verdict\":\"deny\""), "{judged}");
}

#[test]
fn who_plans_has_none_unless_his_profile_says_so() {
    let model = ModelServer::start();
    model.always(|_| Reply::chat().text("fine"));
    let zdx = with_fake(&model, &[]);
    zdx.run(["exec", "--agent", "plan", "-p", "x"]).success();
    let names = |at: usize| model.calls()[at].tool_names().join(" ");
    assert!(!names(0).contains("mcp"), "{}", names(0));
    let zdx = zdx.config_more("[agent.plan.permission]\nmcp = \"allow\"");
    zdx.run(["exec", "--agent", "plan", "-p", "x"]).success();
    assert!(names(1).contains("mcp__fake__echo"), "{}", names(1));
}

#[test]
fn every_kind_of_result_is_something_to_read() {
    let model = ModelServer::start();
    let zdx = with_fake(&model, &[]);
    let names = ["image", "structured", "links", "fail", "long", "huge", "echo"];
    let calls: Vec<(String, Value)> =
        names.iter().map(|name| (format!("mcp__fake__{name}"), json!({"text": "still there"}))).collect();
    let calls: Vec<(&str, Value)> =
        calls.iter().map(|(name, input)| (name.as_str(), input.clone())).collect();
    let zdx = zdx.config_more("[models.\"test/scripted\"]\ncontext_limit = 200000");
    let (_, results) = told(&zdx, &model, &calls, &[]);
    assert_eq!(content(&results[0]), "[image image/png, 900 B, not shown]");
    assert_eq!(results[1]["data"], json!({"content": "two rows", "structured": {"rows": [1, 2]}}));
    assert_eq!(content(&results[2]), "[link guide doc://guide]");
    assert_eq!((code(&results[3]), &results[3]["error"]["message"]), ("mcp_error", &json!("no such table")));
    let long = content(&results[4]);
    assert!(
        long.len() <= 52_000 && long.starts_with("line 0 ") && long.ends_with("line 3999 of a long answer\n")
    );
    assert!(
        long.contains("left out to fit the context; the whole is in the file"),
        "{}",
        &long[long.len() / 2..]
    );
    let file = results[4]["data"]["content_file"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 4000);
    assert_eq!(code(&results[5]), "mcp_error");
    assert!(results[5]["error"]["message"].as_str().unwrap().contains("16 MiB"));
    assert_eq!(
        content(&results[6]),
        "echo: still there",
        "a line that is too long costs its call and nothing else"
    );
}

#[test]
pub fn no_key_of_ours_is_in_a_servers_environment() {
    let model = ModelServer::start();
    let more = "environment = { GIVEN = \"${HANDED_ON}\" }";
    let zdx = with_model(&model)
        .config_more(&server("fake", &[], more))
        .config_more("[env]\npass = [\"GITHUB_TOKEN\"]");
    let zdx = ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "OPENAI_API_KEY"]
        .into_iter()
        .fold(zdx, |zdx, name| zdx.env(name, "canary-1234567890"))
        .env("HANDED_ON", "handed-on-value");
    let (_, results) = told(&zdx, &model, &[("mcp__fake__env", json!({}))], &[]);
    let env = content(&results[0]);
    assert!(env.contains("GIVEN=handed-on-value\n") && env.contains("PATH="), "{env}");
    for name in ["API_KEY", "GITHUB_TOKEN", "HANDED_ON=", "canary", "ZDX_HOME"] {
        assert!(!env.contains(name), "{name} in {env}");
    }
}

#[test]
fn progress_is_told_and_an_interrupt_is_passed_on() {
    let model = ModelServer::start();
    let zdx = with_model(&model);
    let log = log_of(&zdx).display().to_string();
    let zdx = zdx.config_more(&server("fake", &["--log", &log], ""));
    model.push(Reply::chat().tool_call("c1", "mcp__fake__slow", json!({"step_ms": 20})));
    model.push(Reply::chat().text("fine"));
    let output = zdx.run(["exec", "--format", "json", "-p", "x"]).success();
    let chunks: Vec<Value> =
        output.json_lines().into_iter().filter(|line| line["type"] == "tool_progress").collect();
    let said: String = chunks.iter().filter_map(|line| line["chunk"].as_str()).collect();
    assert!(said.contains("1/5 step 1\n") && said.contains("5/5 step 5\n"), "{said}");
    assert_eq!(content(&results(&model.calls()[1])[0]), "slow is done");

    model.push(Reply::chat().tool_call("c1", "mcp__fake__slow", json!({"step_ms": 5000})));
    let mut running = zdx.command().args(["exec", "--format", "json", "-p", "x"]).spawn();
    running.wait_for_stdout("tool_started", SOON);
    wait_until("the call is over there", || sent(&zdx).contains("\"step_ms\":5000"));
    running.signal(Signal::INT);
    let output = running.finish(SOON).expect_code(130);
    assert_eq!(output.records_of("tool_result")[0]["output"]["error"]["code"], "interrupted");
    wait_until("the server hears of it", || sent(&zdx).contains("notifications/cancelled"));
}

#[test]
fn a_call_that_takes_too_long_is_called_off() {
    let model = ModelServer::start();
    let zdx = with_model(&model);
    let log = log_of(&zdx).display().to_string();
    let zdx = zdx.config_more(&server("fake", &["--log", &log], "")).config_more("tool_timeout_secs = 1");
    let calls =
        [("mcp__fake__slow", json!({"step_ms": 60_000})), ("mcp__fake__echo", json!({"text": "next"}))];
    let (_, results) = told(&zdx, &model, &calls, &[]);
    assert_eq!(code(&results[0]), "timeout");
    assert_eq!(content(&results[1]), "echo: next");
    assert!(sent(&zdx).contains("notifications/cancelled"));
}

#[test]
fn five_hundred_tools_cost_less_than_ten_and_all_can_be_reached() {
    let model = ModelServer::start();
    let few = with_fake(&model, &[]);
    told(&few, &model, &[("mcp__fake__echo", json!({}))], &[]);
    let zdx = with_fake(&model, &["--tools", "500"]);
    let calls = [
        ("tool_search", json!({"query": "create item 42"})),
        ("mcp_call", json!({"tool": "mcp__fake__item_42_create", "arguments": {"text": "a"}})),
        ("mcp_call", json!({"tool": "item_7_delete"})),
        ("mcp__fake__item_9_delete", json!({})),
        ("mcp_call", json!({"tool": "item_9999"})),
        ("tool_search", json!({})),
    ];
    let (output, results) = told(&zdx, &model, &calls, &[]);
    let bytes = |at: usize| model.calls()[at].body.to_string().len();
    assert!(bytes(2) < bytes(0), "{} with 500 tools, {} with 12", bytes(2), bytes(0));
    assert!(bytes(2) <= 12_000, "{}", bytes(2));
    let names = model.calls()[2].tool_names().join(" ");
    assert!(names.ends_with("tool_search mcp_call") && !names.contains("mcp__"), "{names}");
    assert_eq!(results[0]["data"]["tools"][0]["name"], "mcp__fake__item_42_create");
    assert_eq!(results[0]["data"]["tools"][0]["schema"]["type"], "object");
    assert_eq!(content(&results[1]), "item_42_create was called with {\"text\":\"a\"}");
    assert!(
        content(&results[2]).starts_with("item_7_delete")
            && content(&results[3]).starts_with("item_9_delete")
    );
    assert_eq!(code(&results[4]), "unknown_tool");
    assert_eq!(results[5]["data"]["total"], 512);
    assert!(
        output.stderr.contains("512 tools") && output.stderr.contains("tool_search"),
        "{}",
        output.stderr
    );

    // Judged as the tool itself would be.
    let zdx =
        zdx.config_more("[permission.mcp]\n\"fake__item_7_*\" = \"deny\"\n\"fake__item_4*\" = \"allow\"");
    let calls = [
        ("mcp_call", json!({"tool": "item_42_create"})),
        ("mcp_call", json!({"tool": "item_8_create"})),
        ("mcp_call", json!({"tool": "item_7_delete"})),
    ];
    let (_, results) = told(&zdx, &model, &calls, &["--approval", "balanced"]);
    let codes: Vec<&str> = results.iter().map(code).collect();
    assert_eq!(codes, ["none", "approval_required", "unknown_tool"]);
}

#[test]
fn tools_that_come_later_join_with_a_word() {
    let model = ModelServer::start();
    let zdx = with_fake(&model, &[]);
    model.push(Reply::chat().tool_call("c1", "mcp__fake__grow", json!({})));
    model.push(Reply::chat().tool_call("c2", "mcp__fake__slow", json!({"step_ms": 100})));
    model.push(Reply::chat().tool_call("c3", "mcp__fake__late", json!({})));
    model.push(Reply::chat().text("fine"));
    let output = zdx.run(["exec", "--format", "json", "-p", "x"]).success();
    let has = |at: usize| model.calls()[at].tool_names().contains(&"mcp__fake__late");
    assert_eq!((has(0), has(2)), (false, true));
    let changed: Vec<Value> =
        output.json_lines().into_iter().filter(|line| line["type"] == "tools_changed").collect();
    assert_eq!(changed.len(), 1);
    assert_eq!((&changed[0]["added"], &changed[0]["removed"]), (&json!(["mcp__fake__late"]), &json!([])));
    assert_eq!(code(&results(&model.calls()[3])[2]), "none");
}

#[test]
fn prompts_are_commands_and_resources_are_mentions() {
    let model = ModelServer::start();
    model.always(|_| Reply::chat().text("fine"));
    let zdx = with_fake(&model, &[]);
    // Seen once, they are known.
    zdx.run(["exec", "-p", "x"]).success();
    zdx.run(["exec", "-p", "/mcp__fake__review src/a.rs very kind"]).success();
    let request = model.calls().pop().unwrap();
    assert_eq!(crate::prompt_of(&request), "Please review \"src/a.rs\" and be \"very kind\".");
    let output = zdx.run(["exec", "-p", "/mcp__fake__review"]).expect_code(1);
    assert!(output.stderr.contains("needs CHANGE"), "{}", output.stderr);

    let output = zdx.run(["exec", "-p", "what says @fake:doc://guide?"]).success();
    assert!(output.stderr.contains("attached fake:doc://guide\n"), "{}", output.stderr);
    let request = model.calls().pop().unwrap();
    let said = serde_json::to_string(request.messages()).unwrap();
    assert!(said.contains("@fake:doc://guide") && said.contains("all about doc://guide"), "{said}");
    assert!(crate::prompt_of(&request).ends_with("what says @fake:doc://guide?"));
}
