//! A session's life: who answers a turn, which tools run, what is allowed, what is remembered.
//! Prints nothing and reads no terminal: commands come in, events go out.
//!
//! All modules are private. What stands below is everything that is seen from outside: `spawn` for a conversation, the
//! rest for commands that answer without one.

// With the feature everything that is seen from outside is there to be counted.
#![cfg_attr(feature = "testing", warn(unreachable_pub))]

mod acp;
mod activity;
mod added_folders;
mod approvals;
mod backend;
mod call;
mod check;
mod context;
mod engine;
mod event_sink;
mod git;
mod grants;
mod guard;
mod history;
mod host;
mod logbook;
mod models;
mod persona;
mod prompt_history;
mod queries;
mod secrets;
mod session;
mod session_check;
mod session_policy;
mod setup;
mod skill_tool;
mod start;
mod subagent;
mod turn;
mod validate;
mod work_tracker;

/// Agents of others, spoken to over ACP.
pub mod agents {
    pub use crate::acp::{
        AgentCommand, AgentProcess, AgentRegistry, Launch, Lines, McpServerEntry, Proposal, RawShape,
        SelectedAgent, TerminalRequest, command_line, explain, file_fault, refusal, short, stopped, text_of,
    };
}

pub use activity::SessionActivity;
pub use check::{Checker, run_table};
pub use context::{Linked, Links, assemble, links, load_project_context};
pub use grants::GrantStore;
pub use guard::{GuardSetup, guard, guard_as};
pub use history::{Asker, Handoff, RevertPlan, SettledIntents, Way, left_behind, settle_intents, summarize};
pub use host::spawn;
pub use models::ModelPicker;
pub use prompt_history::PromptHistory;
pub use secrets::redactor;
pub use setup::Setup;
pub use validate::validate;

/// A backend that follows a script: what every backend relies on is tested with it.
#[cfg(feature = "testing")]
pub mod testing {
    pub use crate::backend::scripted::{Factory, Permission, Scripted};
    pub use crate::backend::{BackendCapabilities, BackendCommand, BackendInfo, ContextBudget, SessionModes};
    pub use crate::call::{TurnIo, TurnResult};
    pub use crate::host::spawn_scripted;
    pub use zdx_tools::registry::ToolRegistry;
    pub use zdx_tools::{TodoList, ToolContext, ToolRunContext};
    pub use zdx_workspace::text::LIMIT;
}
