//! Layers of configuration become one immutable `Config`; each value knows where it came from.
//! Reads files and a captured environment, never the process's own; writes nothing.

mod check;
mod disclose;
mod error;
mod layer;
mod merge;
mod provider;
mod resolve;
pub mod schema;
mod secret;
mod servers;
mod show;
mod source;
mod tree;
mod untrusted;
mod value;

pub use error::ConfigError;
pub use layer::find_config_file;
pub use layer::{ConfigBytes, commands, read_foreign, read_project};
pub use resolve::ResolvedConfig;
pub use resolve::{ResolveInput, resolve};
pub use secret::password;
pub use show::{ConfigSetting, describe, init_text};
pub use source::{ConfigLayer, FileRef, InstructionSource, ValueSource};
pub use value::ConfigFlags;
pub use value::{Config, LogSettings, SystemPrompt};

#[cfg(test)]
mod tests;
