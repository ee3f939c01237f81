//! Who a session works as: an agent's profile applied to the session's prompt, tools, rules and limits.
//! An agent takes away or asks more; a subagent never may what its parent may not.
//! (The field says agent mode, profile or role.)

use std::sync::Arc;

use zdx_guard::{LayerSource, RuleError, Rules};
use zdx_protocol::facts;
use zdx_protocol::{Action, Level, ToolSpec};

use zdx_config::library::agents::ToolSet;
use zdx_config::library::{AgentLibrary, AgentProfile, AgentRole};
use zdx_mcp::{McpToolCatalog, ServerSet};
use zdx_tools::registry::ToolRegistry;

/// The agent a session starts with when nobody names one.
pub(crate) const DEFAULT: &str = "build";

/// What all agents of a session are made from.
pub(crate) struct Personas {
    pub agents: AgentLibrary,
    /// The system prompt without any agent's.
    pub system: String,
    /// The rules of configuration, without any agent's.
    pub rules: Rules,
}

/// One agent, ready to work.
#[derive(Clone)]
pub(crate) struct Persona {
    pub name: String,
    pub system: String,
    tools: ToolSet,
    pub rules: Arc<Rules>,
    pub model: Option<String>,
    pub max_steps: Option<u32>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
}

#[derive(Debug, thiserror::Error)]
pub enum PersonaError {
    #[error("there is no agent named {name}; there are: {known}")]
    Unknown { name: String, known: String },
    #[error("there is no agent named {name}: {why}")]
    NotLoaded { name: String, why: String },
    #[error(transparent)]
    Rules(#[from] RuleError),
}

impl Personas {
    /// An agent the user talks to.
    pub(crate) fn primary(&self, name: &str) -> Result<Persona, PersonaError> {
        let profile = self.find(name, AgentRole::Primary)?;
        let mut rules = self.rules.clone();
        for table in &profile.permission {
            add_layer(&mut rules, &profile, &table.value, table.scope.may_grant())?;
        }
        Ok(self.persona(profile, rules))
    }

    /// An agent that another one launches, under that one's rules: its own can only raise them.
    pub(crate) fn subagent(&self, name: &str, under: &Rules) -> Result<Persona, PersonaError> {
        let profile = self.find(name, AgentRole::Subagent)?;
        let mut rules = under.clone();
        for table in &profile.permission {
            add_layer(&mut rules, &profile, &table.value, false)?;
        }
        Ok(self.persona(profile, rules))
    }

    /// Name and purpose of everyone a model may launch.
    pub(crate) fn launchable(&self) -> Vec<(&str, &str)> {
        let names = self.agents.names(AgentRole::Subagent);
        let described = names.into_iter().filter_map(|name| self.agents.get(name));
        described.map(|agent| (agent.name.as_str(), agent.description.as_str())).collect()
    }

    fn find(&self, name: &str, mode: AgentRole) -> Result<AgentProfile, PersonaError> {
        let agent = self.agents.get(name).filter(|agent| !agent.hidden && agent.mode.serves(mode));
        let name = || name.to_owned();
        agent.cloned().ok_or_else(|| match self.agents.refused(&name()) {
            Some(why) => PersonaError::NotLoaded { name: name(), why: why.to_string() },
            None => PersonaError::Unknown { name: name(), known: self.agents.names(mode).join(", ") },
        })
    }

    fn persona(&self, profile: AgentProfile, rules: Rules) -> Persona {
        let system = match profile.prompt.as_deref().map(str::trim).filter(|prompt| !prompt.is_empty()) {
            Some(prompt) if self.system.is_empty() => prompt.to_owned(),
            Some(prompt) => format!("{}\n\n# Agent: {}\n\n{prompt}", self.system, profile.name),
            None => self.system.clone(),
        };
        Persona {
            system,
            name: profile.name,
            tools: profile.tools,
            rules: Arc::new(rules),
            model: profile.model,
            max_steps: profile.max_steps,
            temperature: profile.temperature,
            top_p: profile.top_p,
        }
    }
}

impl Persona {
    /// What its model is told of, in the registry's order.
    pub(crate) fn tools(&self, registry: &ToolRegistry) -> Vec<ToolSpec> {
        let offered = |spec: &ToolSpec| self.has(&spec.name) && !self.never_may(&spec.name);
        registry.specs().into_iter().filter(offered).collect()
    }

    /// Its rules deny the tool whatever it is asked to do: to hear of it, a model would only run into refusals.
    fn never_may(&self, tool: &str) -> bool {
        facts::facts(tool).map(|facts| &facts.permission).is_some_and(|permission| {
            !permission.patterns && self.rules.tool(permission.key).level == Level::Deny
        })
    }

    /// What it has of the tools that servers bring: what its rules do not deny, and its list of tools names.
    pub(crate) fn shelf(&self, servers: &Arc<ServerSet>) -> McpToolCatalog {
        let (tools, rules) = (self.tools.clone(), Arc::clone(&self.rules));
        let may = move |name: &str, server: &str, tool: &str| {
            let spellings = [format!("{server}__{tool}"), format!("{server}/{tool}")];
            let ruling = rules.named(Action::MCP_KEY, &spellings.each_ref().map(String::as_str));
            tools.enabled(name) && ruling.level != Level::Deny
        };
        McpToolCatalog::new(Arc::clone(servers), Box::new(may))
    }

    /// Whether it may use a tool at all; a model may call what it was not told of.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.tools.enabled(tool)
    }
}

fn add_layer(
    rules: &mut Rules,
    profile: &AgentProfile,
    table: &serde_json::Value,
    trusted: bool,
) -> Result<(), RuleError> {
    rules.add(&LayerSource {
        origin: format!("agent {}", profile.name),
        trusted,
        permission: Some(table),
        ..LayerSource::default()
    })?;
    Ok(())
}
