//! Agents: who a session, or a subtask, works as. Built-in ones, markdown files, and `agent.<name>` of configuration.
//! Reads and merges; what a profile forbids or asks is policy's to apply.

use serde_json::{Map, Value};

use super::frontmatter::{FrontMatterFields, LibraryError, first_paragraph};
use super::places::{GatheredFiles, LibraryFile, LibraryFolders, LibraryKind, LibraryScope};
use super::skills::{clash, one_line, shortened};

mod builtin;
mod tools;

pub use tools::ToolSet;

/// How a file spells the model it wants.
pub const MODEL: [&str; 2] = ["model", "model_override"];
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;
/// Names that Claude Code has for its own models, and "the one in use".
const FOREIGN_MODELS: [&str; 3] = ["sonnet", "opus", "haiku"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentRole {
    /// The user talks to it.
    Primary,
    /// The `task` tool launches it.
    Subagent,
    All,
}

impl AgentRole {
    /// Whether an agent of this mode serves where `wanted` is asked for.
    pub fn serves(self, wanted: AgentRole) -> bool {
        self == AgentRole::All || wanted == AgentRole::All || self == wanted
    }
}

/// One permission table of an agent's, and whose it is: policy takes a `Project` one as untrusted until it is trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRules {
    pub scope: LibraryScope,
    /// An ordered table, or one word for everything; for the policy layer to read.
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AgentProfile {
    pub name: String,
    pub description: String,
    pub mode: AgentRole,
    /// `name` or `provider/name`; none: the session's own.
    pub model: Option<String>,
    /// Which tools it is told of. All of them, unless somebody said otherwise.
    pub tools: ToolSet,
    /// Weakest first; each is a layer of its own above configuration's.
    pub permission: Vec<AgentRules>,
    /// Added to the system prompt.
    pub prompt: Option<String>,
    pub max_steps: Option<u32>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    /// Neither listed, completed nor launched by a model.
    pub hidden: bool,
    /// Where it was last defined.
    pub scope: LibraryScope,
    /// What a person would call that: `built-in`, a file, a configuration key.
    pub source: String,
}

impl AgentProfile {
    /// What a file says by itself, taken at its word: for showing what trusting it would grant.
    pub fn read(found: &LibraryFile) -> Result<Self, LibraryError> {
        let fields = &found.document.fields;
        let (name, source) = (file_name(found), found.document.path.display().to_string());
        check_name(&name, fields)?;
        merged(blank(&name), fields, LibraryScope::Project { trusted: true }, source, &mut Vec::new())
    }
}

/// All agents of a session, in the order of definition: built-in, then by place and path, then configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentLibrary {
    list: Vec<AgentProfile>,
    /// By name, what is wrong with a file that would have been one.
    refused: Vec<(String, LibraryError)>,
}

impl Default for AgentLibrary {
    fn default() -> Self {
        Self { list: builtin::all(), refused: Vec::new() }
    }
}

impl AgentLibrary {
    /// Files of one name: the first place wins. Over a built-in agent of that name a file sets what it names; a project's
    /// can only take away from it. `config` is `Config::agent`; it defines, overrides or disables.
    pub fn load(places: &LibraryFolders, config: &Map<String, Value>) -> (Self, Vec<String>) {
        let mut agents = Self::default();
        let GatheredFiles { found, mut notices } = places.gather(LibraryKind::Agents, &[]);
        let mut taken: Vec<(String, LibraryFile)> = Vec::new();
        let mut foreign: Vec<String> = Vec::new();
        for found in found {
            let name = file_name(&found);
            if let Some(fault) = &found.document.fault {
                notices.push(format!("{fault}; the agent is not loaded"));
                agents.refused.push((name, fault.clone()));
                continue;
            }
            if let Some((_, winner)) = taken.iter().find(|(other, _)| *other == name) {
                let same_tree = winner.base == found.base;
                notices.push(clash("agent", &name, &found.document.path, &winner.document.path, same_tree));
                continue;
            }
            match agents.add_file(&name, &found, &mut foreign) {
                Ok(true) => taken.push((name, found)),
                Ok(false) => {}
                Err(error) => {
                    notices.push(format!("{error}; the agent is not loaded"));
                    agents.refused.push((name, error));
                }
            }
        }
        for (name, table) in config {
            if let Err(error) = agents.add_config(name, table, &mut foreign) {
                notices.push(format!("{error}; the setting is not used"));
            }
        }
        if !foreign.is_empty() {
            let names = foreign.join(", ");
            notices.push(format!(
                "agents that name a model as Claude Code does use the session's model: {names}"
            ));
        }
        notices.extend(agents.keep_one_to_talk_to());
        (agents, notices)
    }

    pub fn get(&self, name: &str) -> Option<&AgentProfile> {
        self.list.iter().find(|agent| agent.name == name)
    }

    /// Why there is no agent of this name, where a file says that there should be.
    pub fn refused(&self, name: &str) -> Option<&LibraryError> {
        self.refused.iter().find(|(refused, _)| refused == name).map(|(_, why)| why)
    }

    pub fn iter(&self) -> impl Iterator<Item = &AgentProfile> {
        self.list.iter()
    }

    /// Names of those that serve in a mode, hidden ones left out.
    pub fn names(&self, mode: AgentRole) -> Vec<&str> {
        let serves = |agent: &&AgentProfile| !agent.hidden && agent.mode.serves(mode);
        self.list.iter().filter(serves).map(|agent| agent.name.as_str()).collect()
    }

    /// False when the file only says that it is disabled: then the next place counts.
    fn add_file(
        &mut self,
        name: &str,
        found: &LibraryFile,
        foreign: &mut Vec<String>,
    ) -> Result<bool, LibraryError> {
        let fields = &found.document.fields;
        check_name(name, fields)?;
        let base = self.get(name).filter(|known| known.scope == LibraryScope::BuiltIn);
        if base.is_some_and(|base| base.hidden) && found.scope.is_project() {
            return Err(
                fields.error(&["name"], &format!("`{name}` is one of zdx's own; choose another name"))
            );
        }
        if fields.flag(&["disable"])? {
            if found.scope == LibraryScope::User {
                self.list.retain(|agent| agent.name != name);
                return Ok(true);
            }
            return Ok(false);
        }
        let source = found.document.path.display().to_string();
        let start = base.cloned().unwrap_or_else(|| blank(name));
        let mut profile = merged(start, fields, found.scope, source, foreign)?;
        let body = &found.document.body;
        if !body.is_empty() {
            profile.prompt = Some(body.clone());
        }
        if profile.description.is_empty() {
            profile.description = first_paragraph(body).map(|text| describe(&text)).unwrap_or_default();
        }
        self.put(profile);
        Ok(true)
    }

    fn add_config(
        &mut self,
        name: &str,
        table: &Value,
        foreign: &mut Vec<String>,
    ) -> Result<(), LibraryError> {
        let place = format!("configuration, agent.{name}");
        let fields = match table {
            Value::Object(table) => FrontMatterFields::from_config(place.clone(), table),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(LibraryError { place, message: "it must be a table".to_owned() });
            }
        };
        check_name(name, &fields)?;
        if fields.flag(&["disable"])? {
            self.list.retain(|agent| agent.name != name);
            return Ok(());
        }
        let start = self.get(name).cloned().unwrap_or_else(|| blank(name));
        let profile = merged(start, &fields, LibraryScope::User, place, foreign)?;
        self.put(profile);
        Ok(())
    }

    fn put(&mut self, mut profile: AgentProfile) {
        if profile.description.is_empty() {
            profile.description = format!("the agent {}", profile.name);
        }
        match self.list.iter_mut().find(|known| known.name == profile.name) {
            Some(known) => *known = profile,
            None => self.list.push(profile),
        }
    }

    /// A session needs somebody to answer.
    fn keep_one_to_talk_to(&mut self) -> Option<String> {
        if !self.names(AgentRole::Primary).is_empty() {
            return None;
        }
        let build = builtin::all().into_iter().next()?;
        self.list.retain(|agent| agent.name != build.name);
        self.list.insert(0, build);
        Some("every agent to talk to is disabled or hidden; `build` is kept".to_owned())
    }
}

fn blank(name: &str) -> AgentProfile {
    AgentProfile {
        name: name.to_owned(),
        description: String::new(),
        mode: AgentRole::All,
        model: None,
        tools: ToolSet::default(),
        permission: Vec::new(),
        prompt: None,
        max_steps: None,
        temperature: None,
        top_p: None,
        hidden: false,
        scope: LibraryScope::BuiltIn,
        source: "built-in".to_owned(),
    }
}

fn file_name(found: &LibraryFile) -> String {
    let stem = || found.document.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    found.document.fields.text(&["name"]).unwrap_or_else(stem)
}

/// Typed after `@agent:`, so one word.
fn check_name(name: &str, fields: &FrontMatterFields) -> Result<(), LibraryError> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !name.is_empty() && name.chars().count() <= LONGEST_NAME && name.chars().all(plain) {
        return Ok(());
    }
    let what =
        format!("must be one word of letters, digits, `.`, `_` and `-`, at most {LONGEST_NAME} characters");
    let shown = if name.chars().count() > LONGEST_NAME { "the name" } else { name };
    Err(fields.error(&["name"], &what).or_about(shown))
}

impl LibraryError {
    /// Without a field to point at, the message says what it is about.
    fn or_about(mut self, what: &str) -> Self {
        if self.message.starts_with("must") {
            self.message = format!("`{what}` {}", self.message);
        }
        self
    }
}

/// What `fields` names, over `base`. Every spelling of every field is here.
fn merged(
    mut base: AgentProfile,
    fields: &FrontMatterFields,
    scope: LibraryScope,
    source: String,
    foreign: &mut Vec<String>,
) -> Result<AgentProfile, LibraryError> {
    if let Some(text) = fields.text(&["description"]) {
        base.description = describe(&text);
    }
    if let Some(mode) = fields.text(&["mode"]) {
        base.mode = match mode.as_str() {
            "primary" => AgentRole::Primary,
            "subagent" => AgentRole::Subagent,
            "all" => AgentRole::All,
            _ => return Err(fields.error(&["mode"], "must be primary, subagent or all")),
        };
    }
    match fields.text(&MODEL) {
        None => {}
        Some(model) if model == "inherit" => base.model = None,
        Some(model) if FOREIGN_MODELS.contains(&model.as_str()) => foreign.push(base.name.clone()),
        // Whoever chooses the model chooses where the user's work is sent.
        Some(model) => base.model = scope.may_grant().then_some(model).or(base.model),
    }
    base.prompt = fields.text(&["prompt"]).or(base.prompt);
    base.max_steps = fields.count(&["steps", "max_steps", "max_turns"])?.or(base.max_steps);
    base.temperature = fields.number(&["temperature"], (0.0, 2.0))?.or(base.temperature);
    base.top_p = fields.number(&["top_p"], (0.0, 1.0))?.or(base.top_p);
    base.hidden = if fields.get(&["hidden"]).is_some() { fields.flag(&["hidden"])? } else { base.hidden };
    let mut told = tools::read(fields)?;
    let own_word = !scope.is_project();
    base.tools.add(told.rules, own_word);
    if let Some(table) = fields.get(&["permission"]) {
        told.permission =
            tools::stacked(told.permission, table).map_err(|what| fields.error(&["permission"], what))?;
    }
    add_rules(&mut base.permission, scope, told.permission);
    base.scope = scope;
    base.source = source;
    Ok(base)
}

/// The user's own words replace what zdx says by itself; a project's are a layer above it.
fn add_rules(layers: &mut Vec<AgentRules>, scope: LibraryScope, value: Map<String, Value>) {
    if value.is_empty() {
        return;
    }
    match layers.last_mut() {
        Some(AgentRules { scope: below, value: Value::Object(table) })
            if !scope.is_project() && !below.is_project() =>
        {
            *table = tools::over(std::mem::take(table), value);
            *below = scope;
        }
        Some(_) | None => layers.push(AgentRules { scope, value: Value::Object(value) }),
    }
}

fn describe(text: &str) -> String {
    shortened(&one_line(text), LONGEST_DESCRIPTION)
}

#[cfg(test)]
mod tests;
