//! The agents of the configuration that are spoken to over ACP: `[acp.agents.NAME]`. Starts none of them.

use serde_json::Value;

use crate::configured::Configured;
use crate::mcp::entry;
use crate::paths::Env;

/// How an agent is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCommand {
    pub name: String,
    pub program: String,
    pub args: Vec<String>,
    /// Set beyond what zdx itself was started with.
    pub env: Vec<(String, String)>,
}

const KNOWN: [&str; 5] = ["command", "args", "env", "environment", "description"];

/// What a configuration comes to.
#[derive(Debug, Default)]
pub struct Agents {
    /// In written order, each or what is wrong with it.
    pub commands: Vec<Result<AgentCommand, Unusable>>,
    /// Those that a project wants to have started and nobody trusts.
    pub untrusted: Vec<String>,
    pub warnings: Vec<String>,
}

#[derive(Debug)]
pub struct Unusable {
    pub name: String,
    /// With file and line.
    pub why: String,
}

pub fn agent_commands(configured: &Configured, env: &Env) -> Agents {
    let mut agents = Agents::default();
    for (name, value) in &configured.resolved.config.acp.agents {
        let path = ["acp", "agents", name].map(str::to_owned);
        let origin = configured.resolved.origins.get(&path).map(|leaf| leaf.source.to_string());
        let place = format!("{}: acp.agents.{name}", origin.unwrap_or_default());
        let unusable = |why| Unusable { name: name.clone(), why: format!("{place}: {why}") };
        agents.commands.push(read(name, value, env).map_err(unusable));
        let unknown =
            value.as_object().into_iter().flatten().filter(|(key, _)| !KNOWN.contains(&key.as_str()));
        agents.warnings.extend(unknown.map(|(key, _)| format!("{place}: unknown key {key} is ignored")));
    }
    let wanted = configured.wants.iter().filter_map(|want| want.key.strip_prefix("acp.agents."));
    agents.untrusted = wanted.map(|name| name.trim_matches('"').to_owned()).collect();
    agents
}

fn read(name: &str, value: &Value, env: &Env) -> Result<AgentCommand, String> {
    let Value::Object(table) = value else { return Err("it must be a table with a command".to_owned()) };
    let words: Vec<String> =
        entry::command(table)?.iter().map(|word| entry::filled(word, env)).collect::<Result<_, _>>()?;
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let env = entry::environment(table, env)?;
    Ok(AgentCommand { name: name.to_owned(), program, args: words.collect(), env })
}
