//! What a compaction keeps of a conversation: whole enough for a session to resume from it alone, and how a model
//! reads it. Decides nothing about when to compact or what to keep; that is the engine's business.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::check::CheckHistory;
use crate::conversation::{Message, Usage};
use crate::policy::Approval;
use crate::time::stamp;
use crate::todo::{Todo, checklist};

/// How many of the dropped calls the model is reminded of.
const LAST_STEPS: usize = 12;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    pub trigger: Trigger,
    /// Who wrote `summary`.
    pub author: Author,
    pub summary: String,
    /// Every prompt so far, word for word, oldest first.
    pub instructions: Vec<String>,
    /// Prompts left out between the first and the rest because all of them together were too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub instructions_omitted: u32,
    pub objective: String,
    pub files: Vec<FileTouched>,
    pub todos: Vec<Todo>,
    pub risks: Vec<String>,
    pub next_steps: Vec<String>,
    pub skills: Vec<LoadedSkill>,
    /// Skills that were loaded and found no room; they can be loaded again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills_omitted: Vec<String>,
    /// The most recent messages as they were.
    pub kept: Vec<Message>,
    pub dropped: Dropped,
    /// What else a session is made of, so that nothing before this record has to be read.
    pub state: State,
    #[serde(serialize_with = "stamp")]
    pub ts: Timestamp,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Bytes that a server counted as so many tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    pub bytes: u64,
    pub tokens: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The context was nearly full.
    Auto,
    /// The user asked for it.
    Asked,
    /// The server refused a request as too long.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    Model,
    /// Made from the session itself: the model could not be asked, or its answer was of no use.
    Session,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTouched {
    pub path: String,
    pub change: Touch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Touch {
    Changed,
    Read,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedSkill {
    pub name: String,
    pub content: String,
}

/// What is no longer in the context. All of it stays in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    pub messages: u64,
    pub bytes: u64,
    /// The newest calls, oldest first.
    pub calls: Vec<DroppedCall>,
    /// Calls before those.
    #[serde(default)]
    pub earlier_calls: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedCall {
    /// `read path="src/main.rs"`.
    pub call: String,
    pub outcome: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_prompt: Option<String>,
    pub turns: u32,
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// What a token weighs with this model, as far as it was learnt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    #[serde(default, skip_serializing_if = "CheckHistory::is_empty")]
    pub checks: CheckHistory,
}

impl Compaction {
    /// The one message that stands for everything dropped.
    pub fn context_text(&self) -> String {
        let mut text = "[zdx replaced the earlier part of this conversation by this summary. Files are as the tools left \
                        them: read again what you need.]\n"
            .to_owned();
        self.write_instructions(&mut text);
        section(&mut text, "Current objective", &self.objective);
        section(&mut text, "Summary of the work so far", &self.summary);
        section(&mut text, "Todo list", &checklist(&self.todos));
        let file = |file: &FileTouched| match file.change {
            Touch::Changed => format!("changed {}", file.path),
            Touch::Read => format!("read {}", file.path),
        };
        section(&mut text, "Files touched", &list(self.files.iter().map(file)));
        section(&mut text, "Pending risks", &list(self.risks.iter().cloned()));
        section(&mut text, "Next steps", &list(self.next_steps.iter().cloned()));
        let calls = &self.dropped.calls;
        let last = calls[calls.len().saturating_sub(LAST_STEPS)..].iter();
        let steps = list(last.map(|step| format!("{} -> {}", step.call, step.outcome)));
        section(&mut text, "Last steps before this summary", &steps);
        for skill in &self.skills {
            section(&mut text, &format!("Loaded skill: {}", skill.name), &skill.content);
        }
        let again = |name: &String| format!("{name} (load it again with the skill tool if you need it)");
        section(&mut text, "Skills no longer loaded", &list(self.skills_omitted.iter().map(again)));
        text.push_str("\nGo on from here. Do not repeat steps that are done.");
        text
    }

    fn write_instructions(&self, text: &mut String) {
        if self.instructions.is_empty() {
            return;
        }
        text.push_str("\n## What the user said, word for word, oldest first\n");
        for (at, instruction) in self.instructions.iter().enumerate() {
            let _ = writeln!(text, "<user>\n{}\n</user>", instruction.trim_end());
            if at == 0 && self.instructions_omitted > 0 {
                let _ = writeln!(
                    text,
                    "[{} prompts in between were left out: too long for the context]",
                    self.instructions_omitted
                );
            }
        }
    }
}

fn section(text: &mut String, title: &str, body: &str) {
    if !body.trim().is_empty() {
        let _ = write!(text, "\n## {title}\n{}\n", body.trim_end());
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.map(|item| format!("- {item}\n")).collect()
}

/// A compaction as it is told: an event carries what changed, not the conversation itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Compacted(pub Box<Compaction>);

impl Serialize for Compacted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Digest<'a> {
            trigger: Trigger,
            author: Author,
            summary: &'a str,
            instructions: usize,
            kept_messages: usize,
            dropped_messages: u64,
            dropped_calls: u64,
            dropped_bytes: u64,
        }
        let Compaction { trigger, author, summary, instructions, kept, dropped, .. } = &*self.0;
        Digest {
            trigger: *trigger,
            author: *author,
            summary,
            instructions: instructions.len(),
            kept_messages: kept.len(),
            dropped_messages: dropped.messages,
            dropped_calls: dropped.calls.len() as u64 + dropped.earlier_calls,
            dropped_bytes: dropped.bytes,
        }
        .serialize(serializer)
    }
}

/// How full the context is, in tokens as far as anybody can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ContextUsage {
    pub used: u64,
    pub limit: u64,
    pub percent: u64,
    /// Nobody knows the limit: it is a cautious guess.
    pub assumed: bool,
    pub breakdown: Breakdown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Breakdown {
    pub system: u64,
    pub tools: u64,
    /// Tools of MCP servers.
    pub mcp: u64,
    pub messages: u64,
    pub tool_results: u64,
    pub summary: u64,
}
