//! The agents that a user can name: those of `acp.json`, then those of `[acp.agents.NAME]`. One order for `zdx acp` and
//! `--backend`. Starts nothing.

use std::path::Path;

use serde_json::Value;
use zdx_config::trust::CommandSource;
use zdx_config::{EffectiveConfig, Environment};
use zdx_mcp::entry;

use super::AgentCommand;
use super::agents_file::{AgentsFile, McpServerEntry};

/// In zdx's own folder.
const AGENTS_FILE: &str = "acp.json";
const KNOWN_KEYS: [&str; 5] = ["command", "args", "env", "environment", "description"];

#[derive(Debug, Default)]
pub struct AgentRegistry {
    agents: Vec<RegisteredAgent>,
    /// Agents that a project wants to have started and nobody trusts.
    untrusted: Vec<String>,
    servers: Vec<McpServerEntry>,
    /// Said when no agent is configured.
    advice: String,
}

#[derive(Debug)]
struct RegisteredAgent {
    name: String,
    /// Its command, or the fault in its entry with file and line.
    command: Result<AgentCommand, String>,
    warnings: Vec<String>,
}

#[derive(Debug)]
pub struct SelectedAgent {
    pub command: AgentCommand,
    /// MCP servers of the settings file.
    pub servers: Vec<McpServerEntry>,
    pub warnings: Vec<String>,
}

impl AgentRegistry {
    /// Reads the agents of this settings file alone.
    pub fn from_file(file: &Path) -> Result<Self, String> {
        let AgentsFile { agents, servers } = AgentsFile::read(file)?;
        let agents = agents.into_iter().map(|command| RegisteredAgent {
            name: command.name.clone(),
            command: Ok(command),
            warnings: Vec::new(),
        });
        Ok(Self { agents: agents.collect(), servers, ..Self::default() })
    }

    /// Reads `acp.json` in `base`, if it is there, and the configuration. An agent of both is the file's.
    pub fn read(configured: &EffectiveConfig, env: &Environment, base: &Path) -> Result<Self, String> {
        let file = base.join(AGENTS_FILE);
        let mut registry = match file.symlink_metadata() {
            Ok(_) => Self::from_file(&file)?,
            Err(_) => Self::default(),
        };
        for agent in configured_agents(configured, env) {
            match registry.agents.iter_mut().find(|known| known.name == agent.name) {
                Some(known) => known.warnings.push(format!(
                    "the agent {} is named in {} and in the configuration (acp.agents); the file's is used",
                    agent.name,
                    file.display()
                )),
                None => registry.agents.push(agent),
            }
        }
        let wanted = configured.wants.iter().filter_map(|want| want.key.strip_prefix("acp.agents."));
        registry.untrusted = wanted.map(|name| name.trim_matches('"').to_owned()).collect();
        registry.advice = format!(
            "no agent is configured; write {} with {{\"agent_servers\": {{\"NAME\": {{\"command\": \"…\"}}}}}}, or a table \
             [acp.agents.NAME] into zdx's configuration",
            file.display()
        );
        Ok(registry)
    }

    /// Whether only trust in the folder is missing.
    pub fn is_untrusted(&self, name: &str) -> bool {
        self.untrusted.iter().any(|untrusted| untrusted == name)
            && !self.agents.iter().any(|agent| agent.name == name)
    }

    /// Returns the agent of this name, or the first one, or why there is none.
    pub fn select(mut self, wanted: Option<&str>) -> Result<SelectedAgent, String> {
        let at = self.agents.iter().position(|agent| wanted.is_none_or(|wanted| agent.name == wanted));
        if let Some(at) = at {
            let RegisteredAgent { command, warnings, .. } = self.agents.swap_remove(at);
            return Ok(SelectedAgent { command: command?, servers: self.servers, warnings });
        }
        match wanted {
            Some(wanted) if self.is_untrusted(wanted) => Err(format!(
                "the agent {wanted} is this folder's own, and nobody trusts the folder: look at it with `zdx trust`"
            )),
            Some(wanted) if !self.agents.is_empty() => {
                let names: Vec<String> = self.agents.into_iter().map(|agent| agent.name).collect();
                Err(format!("there is no agent {wanted}; there are: {}", names.join(", ")))
            }
            Some(_) | None => Err(self.advice),
        }
    }
}

fn configured_agents(configured: &EffectiveConfig, env: &Environment) -> Vec<RegisteredAgent> {
    let read = |(name, value): (&String, &Value)| {
        let path = ["acp", "agents", name].map(str::to_owned);
        let origin = configured.resolved.origins.get(&path).map(|leaf| leaf.source.to_string());
        let place = format!("{}: acp.agents.{name}", origin.unwrap_or_default());
        let command = read_table(name, value, env).map(|command| {
            let words: Vec<String> = [&command.program].into_iter().chain(&command.args).cloned().collect();
            let source = CommandSource::program(&words, command.env.iter().cloned());
            AgentCommand { pinned: configured.pin(&["acp", "agents", name], source), ..command }
        });
        let unknown =
            value.as_object().into_iter().flatten().filter(|(key, _)| !KNOWN_KEYS.contains(&key.as_str()));
        RegisteredAgent {
            name: name.clone(),
            command: command.map_err(|why| format!("{place}: {why}")),
            warnings: unknown.map(|(key, _)| format!("{place}: unknown key {key} is ignored")).collect(),
        }
    };
    configured.resolved.config.acp.agents.iter().map(read).collect()
}

fn read_table(name: &str, value: &Value, env: &Environment) -> Result<AgentCommand, String> {
    let Value::Object(table) = value else { return Err("it must be a table with a command".to_owned()) };
    let words: Vec<String> =
        entry::command(table)?.iter().map(|word| entry::filled(word, env)).collect::<Result<_, _>>()?;
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let env = entry::environment(table, env)?;
    Ok(AgentCommand { name: name.to_owned(), program, args: words.collect(), env, pinned: None })
}
