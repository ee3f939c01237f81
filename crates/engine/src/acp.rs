//! Agents of others, spoken to over ACP. `agent_registry` knows the configured ones, `process` starts one, `proposal` and
//! `text` say what its requests are about; what they may is not decided here.

mod agent_registry;
mod agents_file;
mod patch_files;
mod process;
mod proposal;
mod raw_input;
mod terminal;
mod text;
mod words;

pub use agent_registry::{AgentRegistry, SelectedAgent};
pub use agents_file::McpServerEntry;
pub use process::{AgentProcess, Launch};
pub use proposal::{Proposal, command_line};
pub use raw_input::RawShape;
pub(crate) use raw_input::unknown_keys;
pub use terminal::TerminalRequest;
pub use text::{Lines, file_fault, text_of};
pub use words::{explain, refusal, short, stopped};
use zdx_config::trust::PinnedCommand;

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
