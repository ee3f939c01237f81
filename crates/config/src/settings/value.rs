//! What configuration resolves to: plain data that is passed down and never changes.

use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use zdx_models::retry::RetryLimits;
use zdx_models::{ProviderEntry, Timeouts};
use zdx_protocol::Approval;

use super::source::{FileRef, InstructionSource, ValueSource};

/// Made by `resolve` alone. Fields marked `skip` are more than one key's value and are filled in there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Config {
    /// `name` or `provider/name`.
    pub model: Option<String>,
    /// What `model` would be without the environment, without the command line: a bare name given there means the same
    /// provider. Weakest first.
    #[serde(skip)]
    pub weaker_models: Vec<String>,
    /// The provider of a `model` that names none.
    pub provider: Option<String>,
    /// From the environment only: replaces the base URL of the provider in use, whatever else sets one.
    pub base_url: Option<String>,
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    #[serde(default, deserialize_with = "zero_is_none")]
    pub thinking_budget: Option<u32>,
    pub stream: bool,
    /// None: a tool may run for as long as it likes.
    #[serde(rename = "tool_timeout_secs", deserialize_with = "zero_secs_is_none")]
    pub tool_timeout: Option<Duration>,
    /// None: a turn may take as many steps as it likes.
    #[serde(default, deserialize_with = "zero_is_none")]
    pub max_steps: Option<u32>,
    /// Largest image that is taken in.
    pub max_image_bytes: u64,
    #[serde(deserialize_with = "retry_limits")]
    pub retry: RetryLimits,
    #[serde(deserialize_with = "timeouts")]
    pub timeouts: Timeouts,
    #[serde(skip)]
    pub system_prompt: SystemPrompt,
    /// None: the front end's own default.
    pub approval: Option<Approval>,
    /// What was configured; what is left out comes from the built-in entry of that name.
    #[serde(default)]
    pub providers: IndexMap<String, ProviderEntry>,
    /// By `provider/name` or by `name`, see [`Config::model_entry`].
    #[serde(default)]
    pub models: IndexMap<String, ModelEntry>,
    /// One entry a layer that wrote rules, weakest first, each in its written order.
    #[serde(skip)]
    pub permission: Vec<LayerRules>,
    /// The three lists below as policy reads them: which layer wrote what.
    #[serde(skip)]
    pub lists: Vec<LayerList>,
    pub dangerous_patterns: Vec<String>,
    pub blacklist_patterns: Vec<String>,
    pub whitelist: Vec<String>,
    pub env: ChildEnv,
    pub logs: LogSettings,
    pub cache: CacheSettings,
    #[serde(skip)]
    pub instructions: Vec<InstructionSource>,
    pub compaction: CompactionSettings,
    pub validation: ValidationSettings,
    pub tasks: TaskSettings,
    pub mcp: McpSettings,
    #[serde(default)]
    pub acp: AcpSettings,
    /// Tables that their own part reads, in written order.
    #[serde(default)]
    pub agent: Map<String, Value>,
    #[serde(default)]
    pub skills: Map<String, Value>,
}

impl Config {
    /// What is configured about one model: under its full name, else under its bare name.
    pub fn model_entry(&self, provider: &str, model: &str) -> ModelEntry {
        let full = format!("{provider}/{model}");
        self.models.get(&full).or_else(|| self.models.get(model)).cloned().unwrap_or_default()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SystemPrompt {
    #[default]
    BuiltIn,
    Text(String),
    File(FileRef),
    /// The user asked for none.
    Nothing,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ModelEntry {
    pub context_limit: Option<u64>,
    pub max_tokens: Option<u32>,
    /// The model takes images.
    pub images: Option<bool>,
}

/// One layer's `permission` table, for policy to read.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerRules {
    pub source: ValueSource,
    /// An untrusted layer can only raise a verdict.
    pub trusted: bool,
    pub value: Value,
}

/// One layer's list of patterns for commands, for policy to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerList {
    /// `whitelist`, `blacklist_patterns` or `dangerous_patterns`.
    pub key: &'static str,
    pub source: ValueSource,
    pub texts: Vec<String>,
}

/// What a command's environment is made of.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ChildEnv {
    /// Variables that commands get although they look like secrets.
    pub pass: Vec<String>,
}

/// The servers that bring tools, and how much room these may take.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct McpSettings {
    /// What the first request waits for servers that were never seen before, where no person waits.
    pub first_wait_ms: u64,
    /// Of one server, and of all together, before they are only found by searching.
    pub max_tools: usize,
    pub max_schema_bytes: usize,
    pub total_tools: usize,
    pub total_schema_bytes: usize,
    /// By name, in written order; `mcp` reads them.
    #[serde(flatten)]
    pub servers: Map<String, Value>,
}

/// Other agents, spoken to over ACP.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct AcpSettings {
    /// By name, in written order; `acp` reads them.
    #[serde(default)]
    pub agents: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LogSettings {
    pub level: String,
    pub max_bytes: u64,
    pub files: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CacheSettings {
    /// None: zdx's own place, see `Paths::cache`.
    pub dir: Option<PathBuf>,
    pub ttl_hours: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CompactionSettings {
    pub auto: bool,
    pub prune: bool,
}

/// Agents that work for another agent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct TaskSettings {
    /// So many at a time; the others wait for one to end.
    pub max_parallel: usize,
}

/// What must hold before a turn counts as done. Off without a command.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ValidationSettings {
    /// Off with one word, whatever command there is.
    pub enabled: bool,
    pub command: Option<String>,
    pub max_attempts: u32,
    #[serde(rename = "timeout_secs", deserialize_with = "zero_secs_is_none")]
    pub timeout: Option<Duration>,
}

/// What the command line said; `None` where it said nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfigFlags {
    pub model: Option<String>,
    pub provider: Option<String>,
    /// Empty: no system prompt at all, not even the built-in one.
    pub system_prompt: Option<String>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_tokens: Option<u32>,
    pub max_steps: Option<u32>,
    pub tool_timeout_secs: Option<u64>,
    pub stream: Option<bool>,
    pub approval: Option<Approval>,
    /// MCP servers that whoever opens the session brings along, each as its table `mcp.<name>` would say it.
    pub mcp: Vec<(String, serde_json::Value)>,
}

fn zero_is_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(Option::<u32>::deserialize(deserializer)?.filter(|number| *number != 0))
}

fn zero_secs_is_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Ok((seconds > 0.0).then(|| Duration::from_secs_f64(seconds)))
}

fn timeouts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timeouts, D::Error> {
    #[derive(Deserialize)]
    struct Seconds {
        connect_secs: f64,
        first_byte_secs: Option<f64>,
        idle_secs: f64,
    }
    let seconds = Seconds::deserialize(deserializer)?;
    Ok(Timeouts {
        connect: Duration::from_secs_f64(seconds.connect_secs),
        first_byte: seconds.first_byte_secs.map(Duration::from_secs_f64),
        idle: Duration::from_secs_f64(seconds.idle_secs),
    })
}

fn retry_limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RetryLimits, D::Error> {
    #[derive(Deserialize)]
    struct Written {
        max_attempts: u32,
        max_seconds: u64,
    }
    let Written { max_attempts, max_seconds } = Written::deserialize(deserializer)?;
    Ok(RetryLimits { max_attempts, max_time: Duration::from_secs(max_seconds) })
}
