//! Which model answers, and as whom: agents with a model of their own, names without a provider, keys.

use std::fs;

use zdx_testkit::{ModelServer, Reply, Request, Zdx};

use crate::{place, with_model};

/// Answers whatever it is asked.
fn talkative() -> ModelServer {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("ok").done());
    server
}

fn models(server: &ModelServer) -> Vec<String> {
    let model = |request: &Request| request.body["model"].as_str().unwrap_or_default().to_owned();
    server.calls().iter().map(model).collect()
}

fn agent(zdx: &Zdx, name: &str, profile: &str) {
    fs::create_dir_all(zdx.storage().join("agents")).unwrap();
    fs::write(zdx.storage().join("agents").join(name).with_extension("md"), profile).unwrap();
}

const REVIEWER: &str = "---\ndescription: reviews\nmodel: test/careful\n---\nReview.\n";

#[test]
fn an_agent_brings_its_model_and_takes_it_away() {
    let server = talkative();
    let zdx = with_model(&server);
    agent(&zdx, "rev", REVIEWER);
    agent(&zdx, "bold", "---\ndescription: bold\nmodel: test/bold\n---\nBe bold.\n");
    let ask = |args: &[&str], lines: &str| {
        let before = models(&server).len();
        let out = zdx.command().args(args).stdin(lines).run().success();
        (models(&server).split_off(before), out.stderr)
    };

    let (asked, told) = ask(&["--agent", "rev"], "one\n/agent build\ntwo\n");
    assert_eq!(asked, ["careful", "scripted"]);
    assert!(told.contains("model: test/scripted"), "{told}");
    let (asked, _) = ask(&[], "one\n/agent rev\ntwo\n/agent bold\nthree\n/agent plan\nfour\n");
    assert_eq!(asked, ["scripted", "careful", "bold", "scripted"]);
    // What the user chooses himself stays, whoever is at work.
    let (asked, _) =
        ask(&[], "/agent rev\n/model other\none\n/agent plan\ntwo\n/agent rev\nthree\n/agent plan\nfour\n");
    assert_eq!(asked, ["other", "other", "careful", "other"]);
    let (asked, _) = ask(&["--agent", "rev", "--model", "test/mine"], "one\n");
    assert_eq!(asked, ["mine"]);
    // In a fresh session too: what came with the agent leaves with it, what the user chose does not.
    let (asked, _) = ask(&["--model", "test/mine"], "/agent rev\none\n/new\ntwo\n/agent build\nthree\n");
    assert_eq!(asked, ["careful", "careful", "mine"]);
    let (asked, _) = ask(&[], "/model other\n/agent rev\n/new\none\n/agent build\ntwo\n");
    assert_eq!(asked, ["careful", "other"]);
    let (asked, _) = ask(&[], "/agent rev\n/model careful\n/new\none\n/agent build\ntwo\n");
    assert_eq!(asked, ["careful", "careful"]);

    let before = models(&server).len();
    zdx.run(["exec", "--agent", "rev", "-p", "x"]).success();
    zdx.run(["exec", "-c", "-p", "x"]).success();
    let meta = zdx.records()[0].clone();
    assert_eq!(meta["model"], "test/careful");
    zdx.run(["exec", "-p", "x"]).success();
    zdx.run(["exec", "-c", "--agent", "rev", "-p", "x"]).success();
    assert_eq!(models(&server).split_off(before), ["careful", "careful", "scripted", "careful"]);
}

#[test]
fn a_model_in_use_becomes_the_default_in_the_users_own_file() {
    let server = talkative();
    let zdx = with_model(&server);
    let file = zdx.storage().join("config.toml");
    let commented = format!("# mine\n{}\n# end\n", fs::read_to_string(&file).unwrap().trim_end());
    fs::write(&file, &commented).unwrap();
    let project = zdx.root().join(".zdx/config.toml");
    fs::create_dir_all(project.parent().unwrap()).unwrap();
    fs::write(&project, "# theirs\n").unwrap();

    let offer = "/model --default makes it the default";
    let told = zdx.command().stdin("/model scripted\n/model other\none\n").run().success().stderr;
    assert_eq!(told.matches(offer).count(), 1, "offered for another than the usual one: {told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), commented, "an offer writes nothing");
    let told = zdx.command().stdin("/model other\n/model --default\n").run().success().stderr;
    let written = format!("test/other is the default of new sessions now: written to {}", file.display());
    assert!(told.contains(&written), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), commented.replace("test/scripted", "test/other"));
    assert_eq!(fs::read_to_string(&project).unwrap(), "# theirs\n");
    zdx.run(["exec", "-p", "x"]).success();
    assert_eq!(models(&server), ["other", "other"]);

    // A setting that goes before the file is named, and so is a mistake in the file.
    let lines = "/model scripted\n/model --default\n/model --default x\n";
    let told = zdx.command().env("ZDX_MODEL", "test/other").stdin(lines).run().success().stderr;
    assert!(told.contains("(here environment ZDX_MODEL goes before it)"), "{told}");
    assert!(told.contains("/model --default stands alone"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), commented);
    // The session is open: what the file says from now on was not read.
    let pty = crate::tui_start::open(&zdx, &[]);
    fs::write(&file, "model = [").unwrap();
    pty.send("/model other\r");
    pty.wait_for_text(offer, crate::SOON);
    pty.send("/model --default\r");
    pty.wait_for_text("put it right first", crate::SOON);
    assert_eq!(fs::read_to_string(&file).unwrap(), "model = [");
    fs::write(&file, "").unwrap();
    pty.send("/model --default\r");
    pty.wait_for_text("test/other is the default", crate::SOON);
    assert_eq!(fs::read_to_string(&file).unwrap(), "model = \"test/other\"\n");
}

#[test]
fn an_agent_whose_model_cannot_be_had_is_not_put_to_work() {
    let server = talkative();
    let zdx = with_model(&server);
    agent(&zdx, "rev", "---\ndescription: reviews\nmodel: anthropic/claude-x\n---\nReview.\n");
    let out = zdx.command().stdin("/agent rev\none\n").run().success();
    assert!(out.stderr.contains("ANTHROPIC_API_KEY") && !out.stderr.contains("agent: rev"), "{}", out.stderr);
    assert_eq!(models(&server), ["scripted"]);
    assert!(!server.calls()[0].messages()[0].to_string().contains("Review."));
}

#[test]
fn what_is_offered_follows_the_agent() {
    let server = talkative();
    let zdx = with_model(&server);
    for skill in ["pdf", "sql"] {
        let folder = zdx.home().join(".agents/skills").join(skill);
        fs::create_dir_all(&folder).unwrap();
        let text = format!("---\nname: {skill}\ndescription: works with {skill}\n---\nText.\n");
        fs::write(folder.join("SKILL.md"), text).unwrap();
    }
    let rules = "permission:\n  skill:\n    sql: deny\n  task: deny";
    agent(&zdx, "rev", &format!("---\ndescription: reviews\n{rules}\n---\nReview.\n"));
    zdx.command().stdin("one\n/agent rev\ntwo\n/agent build\nthree\n").run().success();
    let seen: Vec<_> = server
        .calls()
        .iter()
        .map(|request| {
            let told = request.body["tools"].to_string();
            (told.contains("works with pdf"), told.contains("works with sql"), told.contains("explore"))
        })
        .collect();
    assert_eq!(seen, [(true, true, true), (true, false, false), (true, true, true)]);
}

#[test]
fn a_name_without_a_provider_means_the_one_in_use() {
    let server = talkative();
    let zdx = with_model(&server);
    zdx.run(["exec", "--model", "other", "-p", "x"]).success();
    zdx.run(["exec", "--model", "Qwen/Qwen3-8B", "-p", "x"]).success();
    zdx.command().args(["exec", "-p", "x"]).env("AGENT_MODEL", "Qwen/Qwen3-8B").run().success();
    // A vendor's name too: what is in use may well be a gateway to it.
    zdx.run(["exec", "--model", "gpt-5", "-p", "x"]).success();
    zdx.command().stdin("/models Qwen/Qwen3-4B\nx\n").run().success();
    assert_eq!(models(&server), ["other", "Qwen/Qwen3-8B", "Qwen/Qwen3-8B", "gpt-5", "Qwen/Qwen3-4B"]);
    assert!(zdx.records().iter().any(|record| record["model"] == "test/Qwen/Qwen3-4B"));

    // A session goes on with the provider that it used.
    let zdx =
        zdx.config_more("[providers.else]\nwire = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"");
    let text = fs::read_to_string(zdx.storage().join("config.toml")).unwrap();
    let zdx = zdx.config(&text.replace("test/scripted", "else/m"));
    zdx.run(["exec", "-c", "--model", "third", "-p", "x"]).success();
    assert_eq!(models(&server).last().unwrap(), "third");

    let nobody = place().run(["exec", "--model", "nobodys-model", "-p", "x"]).expect_code(1);
    assert!(nobody.stderr.contains("who serves `nobodys-model`?"), "{}", nobody.stderr);
}

#[test]
fn the_key_of_dashscope_goes_to_the_address_of_the_agent_variables_alone() {
    let server = talkative();
    let key = |variables: &[(&str, &str)]| {
        let zdx = place();
        let run =
            zdx.command().args(["exec", "--model", "m", "-p", "x"]).env("DASHSCOPE_API_KEY", "sk-dash-1234");
        let run = variables.iter().fold(run, |run, (name, value)| run.env(*name, *value));
        run.run().success();
        server.calls().last().unwrap().header("authorization").map(str::to_owned)
    };
    let base = server.openai_base();
    assert_eq!(key(&[("AGENT_BASE_URL", &base)]).as_deref(), Some("Bearer sk-dash-1234"));
    let both = [("AGENT_BASE_URL", base.as_str()), ("AGENT_API_KEY", "sk-mine-5678")];
    assert_eq!(key(&both).as_deref(), Some("Bearer sk-mine-5678"));
    assert_eq!(key(&[("ZDX_BASE_URL", &base)]), None);
}
