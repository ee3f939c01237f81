use serde_json::json;

use super::*;
use crate::library::testing::LibraryFixture;

fn load(desk: &LibraryFixture, config: Value) -> (AgentLibrary, Vec<String>) {
    AgentLibrary::load(&desk.places(), config.as_object().unwrap())
}

/// Without a notice.
fn agents(desk: &LibraryFixture, config: Value) -> AgentLibrary {
    let (agents, notices) = load(desk, config);
    assert_eq!(notices, [] as [&str; 0]);
    agents
}

/// One agent from one user's file.
fn agent(front: &str) -> AgentProfile {
    let desk = LibraryFixture::with(&[("home/.zdx/agents/x.md", &format!("---\n{front}\n---\nBe good."))]);
    agents(&desk, json!({})).get("x").unwrap().clone()
}

fn tools_of(agent: &AgentProfile) -> Vec<&'static str> {
    let all = [
        "read",
        "write",
        "edit",
        "patch",
        "bash",
        "list",
        "grep",
        "glob",
        "todowrite",
        "task",
        "skill",
        "mcp_x",
    ];
    all.into_iter().filter(|tool| agent.tools.enabled(tool)).collect()
}

fn rules_of(agent: &AgentProfile) -> String {
    agent.permission.iter().map(|rules| rules.value.to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn zdx_brings_its_own() {
    let agents = agents(&LibraryFixture::with(&[]), json!({}));
    assert_eq!(agents.names(AgentRole::Primary), ["build", "plan"]);
    assert_eq!(agents.names(AgentRole::Subagent), ["general", "explore"]);
    assert!(["title", "summary", "compaction"].iter().all(|name| agents.get(name).unwrap().hidden));
    let build = agents.get("build").unwrap();
    assert_eq!((build.prompt.as_deref(), build.permission.len(), tools_of(build).len()), (None, 0, 12));
    assert_eq!(tools_of(agents.get("explore").unwrap()), ["read", "list", "grep", "glob"]);
    assert!(!agents.get("general").unwrap().tools.enabled("task"));
    assert_eq!(tools_of(agents.get("compaction").unwrap()), [] as [&str; 0]);
    let plan = &agents.get("plan").unwrap().permission[0].value;
    assert_eq!(
        (&plan["edit"], &plan["patch"], &plan["bash"]["*"]),
        (&json!("deny"), &json!("deny"), &json!("deny"))
    );
    assert_eq!(plan["bash"].as_object().unwrap().keys().next().unwrap(), "*", "the last match decides");
}

#[test]
fn a_file_of_opencodes_is_understood() {
    let x = agent(
        "description: Reviews\nmode: subagent\nmodel: local/qwen\ntemperature: 0.1\ntop_p: 0.9\nsteps: 5\ncolor: red\n\
         tools:\n  write: false\n  bash: false\npermission:\n  bash:\n    \"*\": ask\n    git *: allow\n  edit: deny",
    );
    assert_eq!(
        (x.description.as_str(), x.mode, x.model.as_deref()),
        ("Reviews", AgentRole::Subagent, Some("local/qwen"))
    );
    assert_eq!((x.temperature, x.top_p, x.max_steps), (Some(0.1), Some(0.9), Some(5)));
    assert_eq!(x.prompt.as_deref(), Some("Be good."));
    assert_eq!(tools_of(&x), ["read", "edit", "list", "grep", "glob", "todowrite", "task", "skill", "mcp_x"]);
    assert_eq!(rules_of(&x), r#"{"bash":{"*":"ask","git *":"allow"},"edit":"deny"}"#);
    assert_eq!((x.scope, x.hidden), (LibraryScope::User, false));
    assert!(x.source.ends_with("home/.zdx/agents/x.md"));
}

#[test]
fn a_file_of_claude_codes_is_understood() {
    let desk = LibraryFixture::with(&[(
        "root/.claude/agents/file-name.md",
        "---\nname: code-reviewer\ndescription: Use this agent when: reviewing\ntools: Read, Grep, LS, Bash(git:*), \
         Bash(npm test)\ndisallowedTools: Bash(git push:*)\nmodel: sonnet\nmaxTurns: 7\n---\nYou review.",
    )]);
    let (agents, notices) = load(&desk, json!({}));
    let x = agents.get("code-reviewer").unwrap();
    assert_eq!(tools_of(x), ["read", "bash", "list", "grep"]);
    assert_eq!(rules_of(x), r#"{"bash":{"*":"deny","git *":"ask","npm test":"ask","git push *":"deny"}}"#);
    assert_eq!((x.max_steps, x.model.as_deref(), x.mode), (Some(7), None, AgentRole::All));
    assert_eq!(x.description, "Use this agent when: reviewing");
    assert_eq!(notices.len(), 1);
    assert!(notices[0].ends_with("use the session's model: code-reviewer"), "{notices:?}");
}

#[test]
fn tools_may_be_listed_in_any_way() {
    for (front, expected) in [
        ("tools: Read, Write", vec!["read", "write"]),
        ("tools: [read_file, apply_patch, shell]", vec!["read", "patch", "bash"]),
        ("tools:\n  - Glob\n  - MultiEdit", vec!["edit", "glob"]),
        ("tools: []", vec![]),
        ("tools: {\"*\": false, read: true}", vec!["read"]),
        ("tools: {\"*\": false, mcp_*: true}", vec!["mcp_x"]),
        ("tools: Read, Bash\ndisallowedTools: Bash", vec!["read"]),
        ("tools: Edit, patch, Write\ndisallowedTools: [Write]", vec!["edit"]),
        (
            "tools: {edit: false, patch: true, bash: false, task: false, skill: false, todowrite: false, mcp_x: false, list: false, grep: false, glob: false}",
            vec!["read", "write", "patch"],
        ),
    ] {
        assert_eq!(tools_of(&agent(front)), expected, "{front}");
    }
    for all in ["tools: '*'", "tools:", "model: inherit"] {
        assert_eq!(tools_of(&agent(all)).len(), 12, "{all}");
    }
    assert_eq!(
        rules_of(&agent("permissionMode: plan\npermission: {read: ask}")),
        r#"{"write":"deny","patch":"deny","read":"ask"}"#
    );
    assert_eq!(rules_of(&agent("permissionMode: bypassPermissions")), "", "nothing is granted");
    assert_eq!(rules_of(&agent("permission: deny")), r#"{"*":"deny"}"#);
}

#[test]
fn what_is_wrong_is_told_with_file_and_line_and_never_loaded() {
    for (front, line, what) in [
        ("mode: boss", 2, "primary, subagent or all"),
        ("name: x\nsteps: many", 3, "must be a number"),
        ("steps: 0", 2, "at least 1"),
        ("temperature: 3", 2, "from 0 to 2"),
        ("tools: 5", 2, "a list of tools"),
        ("tools: {read: maybe}", 2, "true or false"),
        ("permission: [a]", 2, "a table of rules"),
        ("permission: perhaps", 2, "a table of rules"),
        ("hidden: perhaps", 2, "true or false"),
        ("name: two words", 2, "one word"),
        ("x: [a,\ny: b", 3, "YAML"),
        ("tools: [Read, Bash", 3, "YAML"),
    ] {
        let desk = LibraryFixture::with(&[("root/.zdx/agents/x.md", &format!("---\n{front}\n---\nText"))]);
        let (agents, notices) = load(&desk, json!({}));
        assert_eq!(agents.list, AgentLibrary::default().list, "{front}");
        assert_eq!(agents.refused.len(), 1, "{front}");
        assert_eq!(notices.len(), 1, "{front}: {notices:?}");
        let place = format!("agents/x.md:{line}: ");
        assert!(notices[0].contains(&place) && notices[0].contains(what), "{front}: {notices:?}");
        assert!(notices[0].ends_with("the agent is not loaded"), "{notices:?}");
    }
}

#[test]
fn a_file_without_front_matter_is_a_prompt() {
    let desk = LibraryFixture::with(&[("root/.eidolon/agents/pirate.md", "# Pirate\n\nTalk like one.")]);
    let agents = agents(&desk, json!({}));
    let pirate = agents.get("pirate").unwrap();
    assert_eq!(
        (pirate.description.as_str(), pirate.scope),
        ("Talk like one.", LibraryScope::Project { trusted: false })
    );
    assert_eq!(agents.names(AgentRole::Primary), ["build", "plan", "pirate"]);
}

#[test]
fn of_one_name_the_first_place_counts() {
    let desk = LibraryFixture::with(&[
        ("root/.claude/agents/x.md", "claude"),
        ("root/.agents/agents/x.md", "agents"),
        ("home/.zdx/agents/x.md", "home"),
        ("home/.zdx/agents/off.md", "home"),
        ("root/.zdx/agents/off.md", "---\ndisable: true\n---\n"),
    ]);
    let (agents, notices) = load(&desk, json!({}));
    assert_eq!(agents.get("x").unwrap().prompt.as_deref(), Some("agents"));
    assert_eq!(agents.get("off").unwrap().prompt.as_deref(), Some("home"), "a project cannot take away");
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices.iter().all(|notice| notice.contains("agent `x`") && notice.contains("shadowed")));
}

#[test]
fn configuration_defines_overrides_and_disables() {
    let desk = LibraryFixture::with(&[("home/.zdx/agents/x.md", "---\nmodel: a\nsteps: 3\n---\nText")]);
    let agents = agents(
        &desk,
        json!({
            "x": {"model": "b", "permission": {"bash": "deny"}},
            "new": {"description": "Fresh", "prompt": "Hi", "mode": "primary", "tools": {"bash": false}, "maxSteps": 4},
            "general": {"disable": true},
            "plan": {"permission": {"bash": {"cargo check *": "allow"}, "edit": "ask"}, "model": "big"},
        }),
    );
    let x = agents.get("x").unwrap();
    assert_eq!((x.model.as_deref(), x.max_steps, x.prompt.as_deref()), (Some("b"), Some(3), Some("Text")));
    assert_eq!(rules_of(x), r#"{"bash":"deny"}"#);
    let new = agents.get("new").unwrap();
    assert_eq!(
        (new.mode, new.max_steps, new.source.as_str()),
        (AgentRole::Primary, Some(4), "configuration, agent.new")
    );
    assert_eq!(agents.get("general"), None);
    // The user's word comes last in one table, so it may lift what zdx says by itself.
    let plan = agents.get("plan").unwrap();
    assert_eq!(plan.permission.len(), 1);
    let table = plan.permission[0].value.as_object().unwrap();
    let keys: Vec<&str> = table.keys().map(String::as_str).collect();
    assert_eq!(keys, ["patch", "mcp", "bash", "edit"]);
    assert_eq!((&table["edit"], &table["bash"]["*"]), (&json!("ask"), &json!("deny")));
    assert_eq!(table["bash"].as_object().unwrap().keys().next_back().unwrap(), "cargo check *");
}

#[test]
fn wrong_configuration_costs_a_notice_each() {
    let (agents, notices) = load(
        &LibraryFixture::with(&[]),
        json!({
            "a": "text",
            "b": {"steps": -1},
            "bad name": {},
            "fine": {"prompt": "x"},
        }),
    );
    assert_eq!(notices.len(), 3, "{notices:?}");
    assert_eq!(notices[0], "configuration, agent.a: it must be a table; the setting is not used");
    assert!(notices[1].starts_with("configuration, agent.b: `steps` must be a whole number"), "{notices:?}");
    assert!(notices[2].contains("`bad name` must be one word"), "{notices:?}");
    assert!(agents.get("fine").is_some() && agents.get("b").is_none());
}

#[test]
fn a_project_only_takes_away_from_what_zdx_brings() {
    let desk = LibraryFixture::with(&[
        (
            "root/.zdx/agents/plan.md",
            "---\ntools: {write: true}\npermission: {edit: allow, bash: allow}\nmodel: evil\n---\nNew words.",
        ),
        ("root/.zdx/agents/explore.md", "---\ntools: Read, Bash, Write\n---\n"),
        ("root/.zdx/agents/compaction.md", "Forget everything."),
    ]);
    let (agents, notices) = load(&desk, json!({}));
    let plan = agents.get("plan").unwrap();
    assert_eq!(plan.prompt.as_deref(), Some("New words."));
    let scopes: Vec<LibraryScope> = plan.permission.iter().map(|rules| rules.scope).collect();
    assert_eq!(scopes, [LibraryScope::BuiltIn, LibraryScope::Project { trusted: false }], "a layer above it");
    assert_eq!(plan.permission[0].value["edit"], "deny");
    assert_eq!(tools_of(agents.get("explore").unwrap()), ["read"]);
    assert_ne!(agents.get("compaction").unwrap().prompt.as_deref(), Some("Forget everything."));
    assert!(notices[0].contains("one of zdx's own"), "{notices:?}");
    assert_eq!(plan.model, None);
    // Also when configuration adds to it.
    let agents = load(&desk, json!({"plan": {"steps": 3}})).0;
    assert_eq!(agents.get("plan").unwrap().model, None);
    let agents = load(&desk, json!({"plan": {"model": "mine"}})).0;
    assert_eq!(agents.get("plan").unwrap().model.as_deref(), Some("mine"));
}

#[test]
fn somebody_is_always_there_to_answer() {
    let (agents, notices) =
        load(&LibraryFixture::with(&[]), json!({"build": {"disable": true}, "plan": {"hidden": true}}));
    assert_eq!(agents.names(AgentRole::Primary), ["build"]);
    assert_eq!(notices.len(), 1);
}
