//! Markdown that teaches zdx something: skills, agents and slash commands, from the project and from home.
//! Reads files and grants nothing: what a file asks for is data, and policy decides about it.

pub(crate) mod agents;
pub(crate) mod commands;
pub(crate) mod frontmatter;
pub(crate) mod places;
pub(crate) mod skills;
#[cfg(test)]
mod testing;
mod yaml;

pub use agents::Agents;
pub(crate) use agents::{AgentProfile, Mode};
pub(crate) use commands::{Commands, Expanded, SlashCommand};
pub use places::Places;
pub(crate) use skills::Skills;
