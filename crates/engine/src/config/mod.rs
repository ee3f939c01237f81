//! Layers of configuration become one immutable `Config`; each value knows where it came from.
//! Reads files and a captured environment, never the process's own; writes nothing.

mod check;
mod error;
mod layer;
mod merge;
mod provider;
mod resolve;
pub mod schema;
mod show;
mod source;
mod tree;
mod untrusted;
mod value;

pub use error::ConfigError;
pub use layer::{ConfigBytes, find_config_file, read_project};
pub use merge::{Leaf, Merged};
pub use resolve::{ResolveInput, Resolved, resolve};
pub use show::{Setting, describe, init_text};
pub use source::{FileRef, Instruction, Layer, Source};
pub use value::{
    Cache, ChildEnv, Compaction, Config, Flags, LayerList, LayerRules, Logs, ModelEntry, SystemPrompt,
    Validation,
};

#[cfg(test)]
mod tests;
