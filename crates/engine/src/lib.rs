//! A session's life: who answers a turn, which tools run, what is allowed, what is remembered.
//! Prints nothing and reads no terminal: commands come in, events go out.
//!
//! All modules are private. What stands below is everything that is seen from outside: `spawn` for a conversation, the
//! rest for commands that answer without one.

// With the feature everything that is seen from outside is there to be counted.
#![cfg_attr(feature = "testing", warn(unreachable_pub))]

mod acp;
mod added_folders;
mod backend;
mod cache;
mod call;
mod check;
mod config;
mod configured;
mod context;
mod emit;
mod engine;
mod files;
mod git;
mod grants;
mod guard;
mod history;
mod host;
mod in_force;
mod library;
mod logbook;
mod mcp;
mod models;
mod patch;
mod paths;
mod persona;
mod project;
mod prompt_history;
mod queries;
mod secrets;
mod session;
mod session_check;
mod setup;
mod start;
mod subagent;
mod tools;
mod trust;
mod turn;
mod validate;

/// Agents of others, spoken to over ACP.
pub mod agents {
    pub use crate::acp::{
        AgentCommand, AgentProcess, Agents, Launch, Lines, Proposal, RawShape, Ring, TerminalRequest,
        Unusable, agent_commands, command_line, file_fault, short, stopped, text_of,
    };
}

pub use check::{Checker, run_table};
pub use config::{Flags, Resolved, Setting, describe, find_config_file, init_text};
pub use configured::{Configured, Place};
pub use context::{Linked, Links, assemble, links, load_project_context};
pub use files::Workspace;
pub use grants::GrantStore;
pub use guard::{GuardSetup, guard, guard_as};
pub use history::{
    Asker, Handoff, RevertPlan, SessionDigest, SettledIntents, Way, left_behind, settle_intents, summarize,
};
pub use host::spawn;
pub use library::{Agents, Places};
pub use models::ModelPicker;
pub use paths::{Env, Paths, ensure_dir};
pub use project::Project;
pub use prompt_history::PromptHistory;
pub use secrets::redactor;
pub use session::{Opened, SessionId, SessionKind, SessionStore, ignore_sigxfsz};
pub use setup::Setup;
pub use trust::{PinnedCommand, TrustEntry, TrustStore};
pub use validate::validate;

/// MCP servers without a session: looked at, and changed in the user's configuration.
pub mod servers {
    pub use crate::mcp::{Addition, Described, EditError, Inspection, add, inspect, remove, set_enabled};
}

/// Programs that zdx runs: a command to its end, or one that stays and is talked to over its streams. None outlives zdx.
pub mod process {
    pub use crate::files::text::{after_cut, unfinished};
    pub use crate::mcp::LastWords;
    pub use crate::tools::supervisor;
    pub use crate::tools::{
        Child, ChildProcess, ChildSpec, CommandOutput, End, RunOptions, Shell, ShellError, ShellSettings,
    };
}

/// A backend that follows a script: what every backend relies on is tested with it. And what tests of whole calls need.
#[cfg(feature = "testing")]
pub mod testing {
    pub use crate::backend::scripted::{Factory, Permission, Scripted};
    pub use crate::backend::{BackendCapabilities, BackendCommand, BackendInfo, ContextBudget, SessionModes};
    pub use crate::call::{TurnIo, TurnResult};
    pub use crate::files::text::LIMIT;
    pub use crate::host::spawn_scripted;
    pub use crate::tools::registry::Registry;
    pub use crate::tools::{RunContext, Todos, ToolContext};
}
