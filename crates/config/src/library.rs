//! Markdown that teaches zdx something: skills, agents and slash commands, from the project and from home.
//! Reads files and grants nothing: what a file asks for is data, and policy decides about it.

pub mod agents;
pub mod commands;
pub mod frontmatter;
pub mod places;
pub mod skills;
#[cfg(test)]
mod testing;
mod yaml;

pub use agents::AgentLibrary;
pub use agents::{AgentProfile, AgentRole};
pub use commands::{CommandLibrary, CustomCommand, ExpandedCommand};
pub use places::LibraryFolders;
pub use skills::SkillLibrary;
