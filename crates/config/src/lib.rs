//! Configuration: where zdx's files lie, the layers of settings and which of them wins, what a project's own files may do
//! before they are trusted, and the markdown library of skills, agents and commands. Writes nothing but the trust store.

mod effective;
pub mod library;
mod paths;
mod project_files;
mod settings;
pub mod trust;

pub use effective::{Configured, Place};
pub use paths::{Env, Paths, PathsError};
pub use project_files::Project;
pub use settings::{
    Config, ConfigError, FileRef, Flags, Instruction, Layer, Logs, ResolveInput, Resolved, Setting, Source,
    SystemPrompt, describe, find_config_file, init_text, password, resolve,
};
