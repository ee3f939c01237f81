//! Configuration: where zdx's files lie, the layers of settings and which of them wins, what a project's own files may do
//! before they are trusted, and the markdown library of skills, agents and commands. Writes nothing but the trust store
//! and, when the user asks for it, the user's own configuration file.

mod effective;
pub mod library;
mod paths;
mod project_files;
mod settings;
pub mod trust;
pub mod user_file;

pub use effective::{ConfigLocation, EffectiveConfig};
pub use paths::{AppPaths, AppPathsError, Environment};
pub use project_files::ProjectFiles;
pub use settings::{
    Config, ConfigError, ConfigFlags, ConfigLayer, ConfigSetting, FileRef, InstructionSource, LogSettings,
    ResolveInput, ResolvedConfig, SystemPrompt, ValueSource, describe, find_config_file, init_text, password,
    resolve,
};
