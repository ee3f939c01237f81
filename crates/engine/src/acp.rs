//! The agents of the configuration that are spoken to over ACP: `[acp.agents.NAME]`. How one is started is `process`, what
//! its requests are about `proposal` and `text`; what they may is not decided here.

mod patch_files;
mod process;
mod proposal;
mod raw_input;
mod ring;
mod terminal;
mod text;
mod words;

use serde_json::Value;

pub use process::{AgentProcess, Launch};
pub use proposal::{Proposal, command_line};
pub use raw_input::RawShape;
pub(crate) use raw_input::unknown_keys;
pub use ring::Ring;
pub use terminal::TerminalRequest;
pub use text::{Lines, file_fault, text_of};
pub use words::{short, stopped};
use zdx_config::EffectiveConfig;
use zdx_config::Environment;
use zdx_config::trust::{CommandSource, PinnedCommand};
use zdx_mcp::entry;

/// Before an agent's name where a model's would stand: what answers is `acp:NAME`.
pub(crate) const PREFIX: &str = "acp:";

/// How an agent is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCommand {
    pub name: String,
    pub program: String,
    pub args: Vec<String>,
    /// Set beyond what zdx itself was started with.
    pub env: Vec<(String, String)>,
    /// Set for a project's own agent: it is started only as it was trusted.
    pub pinned: Option<PinnedCommand>,
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

impl Agents {
    /// The one of this name, or why there is none.
    pub fn named(self, wanted: &str) -> Result<AgentCommand, String> {
        let name = |agent: &Result<AgentCommand, Unusable>| match agent {
            Ok(command) => command.name.clone(),
            Err(unusable) => unusable.name.clone(),
        };
        let names: Vec<String> = self.commands.iter().map(name).collect();
        match self.commands.into_iter().zip(&names).find(|(_, name)| *name == wanted) {
            Some((agent, _)) => agent.map_err(|unusable| unusable.why),
            None if self.untrusted.iter().any(|name| name == wanted) => Err(format!(
                "the agent {wanted} is this folder's own, and nobody trusts the folder: look at it with `zdx trust`"
            )),
            None if names.is_empty() => Err(format!(
                "there is no agent {wanted}, nor any other; name one in the configuration: [acp.agents.{wanted}] command = [\"…\"]"
            )),
            None => Err(format!("there is no agent {wanted}; there are: {}", names.join(", "))),
        }
    }
}

pub fn agent_commands(configured: &EffectiveConfig, env: &Environment) -> Agents {
    let mut agents = Agents::default();
    for (name, value) in &configured.resolved.config.acp.agents {
        let path = ["acp", "agents", name].map(str::to_owned);
        let origin = configured.resolved.origins.get(&path).map(|leaf| leaf.source.to_string());
        let place = format!("{}: acp.agents.{name}", origin.unwrap_or_default());
        let unusable = |why| Unusable { name: name.clone(), why: format!("{place}: {why}") };
        let command = read(name, value, env).map(|command| {
            let words: Vec<String> = [&command.program].into_iter().chain(&command.args).cloned().collect();
            let source = CommandSource::program(&words, command.env.iter().cloned());
            AgentCommand { pinned: configured.pin(&["acp", "agents", name], source), ..command }
        });
        agents.commands.push(command.map_err(unusable));
        let unknown =
            value.as_object().into_iter().flatten().filter(|(key, _)| !KNOWN.contains(&key.as_str()));
        agents.warnings.extend(unknown.map(|(key, _)| format!("{place}: unknown key {key} is ignored")));
    }
    let wanted = configured.wants.iter().filter_map(|want| want.key.strip_prefix("acp.agents."));
    agents.untrusted = wanted.map(|name| name.trim_matches('"').to_owned()).collect();
    agents
}

fn read(name: &str, value: &Value, env: &Environment) -> Result<AgentCommand, String> {
    let Value::Object(table) = value else { return Err("it must be a table with a command".to_owned()) };
    let words: Vec<String> =
        entry::command(table)?.iter().map(|word| entry::filled(word, env)).collect::<Result<_, _>>()?;
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let env = entry::environment(table, env)?;
    Ok(AgentCommand { name: name.to_owned(), program, args: words.collect(), env, pinned: None })
}
