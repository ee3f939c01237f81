//! What a front end may want to know, and the answers: plain data, so that each can show them its own way.

use std::ops::Range;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;

use crate::change::FileChange;
use crate::compaction::ContextUsage;
use crate::image::ImageInfo;
use crate::mcp::McpServer;
use crate::path_text;
use crate::policy::Approval;
use crate::time;
use crate::todo::Todo;
use crate::trust::TrustState;

/// A question to the open session. Answered at once or when the answer is found, also while a turn runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// Those a user can talk to, and those that are launched.
    Agents,
    Skills,
    /// Slash commands of the user and the project; our own are in `slash`.
    Commands,
    /// The servers that bring tools, and how they are.
    Mcp,
    /// What could stand at the cursor, a byte of the line.
    Completions {
        line: String,
        cursor: usize,
    },
    /// Newest first, at most so many; with 0 all of them.
    Sessions {
        limit: usize,
    },
    /// What the provider in use offers.
    Models,
    Context,
    Todos,
    /// What this folder's own files want, and whether they get it.
    Trust,
    /// The preset in force, and what was allowed for good.
    Grants,
    /// The folders outside the workspace that count like it in this session.
    AddedFolders,
    /// Every setting with where it came from.
    Config,
    GitBranch,
    /// What tools did to files in this session.
    FilesChanged,
    /// The session in a few lines, by the model or from the session itself.
    Summary,
    /// A draft to start the next session from.
    Handoff {
        goal: String,
    },
    /// An output of this session that was too long to show, from the file that a result names.
    SpilledOutput {
        file: PathBuf,
    },
    /// Format and size of the image at a path that the user pasted.
    Image {
        path: String,
    },
}

/// What became of a file that tools left otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileNow {
    /// As it was before the session.
    AsBefore,
    Changed,
    Gone,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Agents(Vec<AgentInfo>),
    Skills(Vec<Named>),
    Commands(Vec<Named>),
    Mcp(Vec<McpServer>),
    Completions(Completions),
    Sessions(Vec<SessionSummary>),
    Models(Vec<ModelOffer>),
    Context(ContextUsage),
    Todos {
        items: Vec<Todo>,
        /// Made by zdx; the model has yet to take it up.
        draft: bool,
    },
    Trust(TrustState),
    Grants(Grants),
    AddedFolders(Vec<String>),
    Config(Vec<Setting>),
    /// Nothing outside of a repository.
    GitBranch(Option<String>),
    FilesChanged(FilesChanged),
    Summary(Drafted),
    Handoff(Drafted),
    /// The line as the prompt history keeps it: secrets redacted.
    Remembered(String),
    SpilledOutput(SpilledOutput),
    /// None where there is no such image.
    Image(Option<ImageInfo>),
}

/// An output as its file has it; of one that is too long for a front end the beginning and the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpilledOutput {
    #[serde(serialize_with = "path_text::serialize")]
    pub file: PathBuf,
    pub head: String,
    /// Bytes between the two.
    pub left_out: u64,
    pub tail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    pub name: String,
    pub description: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentInfo {
    pub name: String,
    pub description: String,
    /// The one at work.
    pub in_use: bool,
    /// A user can talk to it; others are launched by the model.
    pub primary: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Completions {
    /// The part of the line, in bytes, that a candidate takes the place of.
    pub replace: Range<usize>,
    /// The best first.
    pub candidates: Vec<Candidate>,
    /// There may be more: a folder did not answer in time, or not all files are known yet. Asked again, more may be said.
    pub timed_out: bool,
}

/// What could be meant. Nothing of it is cleaned for a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// What is put in the place. A folder ends with `/`, and inside a quote that it leaves open.
    pub text: String,
    /// How it is listed: a path without quotes, a command with what may stand behind it.
    pub shown: String,
    /// What it is, in a few words; may be empty.
    pub detail: String,
    /// Which letters of `shown` were asked for, counted in graphemes and sorted.
    pub matched: Vec<u32>,
    pub then: Then,
}

/// What comes behind a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// It goes on right there: a folder, the beginning of a mention.
    Part,
    /// A blank, and more words.
    #[default]
    Word,
    /// Nothing has to: the line can be sent as it is.
    Line,
}

/// One line of a list of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionSummary {
    pub id: String,
    /// When it was last written to.
    #[serde(serialize_with = "time::stamp")]
    pub when: Timestamp,
    #[serde(serialize_with = "path_text::option::serialize")]
    pub root: Option<PathBuf>,
    /// The one in use, as far as can be seen.
    pub model: Option<String>,
    pub bytes: u64,
    /// The session that this one works for, by a task.
    pub works_for: Option<String>,
    /// A run of one prompt, not a conversation.
    pub one_prompt: bool,
    /// Another zdx has it open.
    pub in_use: bool,
    /// Why it cannot be gone on with as it is.
    pub fault: Option<String>,
    /// On one line and bounded; not yet cleaned for a terminal.
    pub first_prompt: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelOffer {
    /// `provider/name`: what a model is chosen by.
    pub name: String,
    pub context_limit: Option<u64>,
}

/// What was changed in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilesChanged {
    /// The folder that is worked in.
    #[serde(serialize_with = "path_text::serialize")]
    pub root: PathBuf,
    /// By tools.
    pub files: Vec<ChangedFile>,
    /// Others, that were last changed while a command ran.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "path_text::list::serialize")]
    pub by_command: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    #[serde(flatten)]
    pub change: FileChange,
    /// Lines that came and lines that went, where both contents are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(usize, usize)>,
    /// What is there now, where that is something else and somebody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<FileNow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grants {
    pub approval: Approval,
    /// The folder that they hold in.
    #[serde(serialize_with = "path_text::serialize")]
    pub root: PathBuf,
    /// For this session alone.
    pub session: Vec<String>,
    /// For every session in this folder.
    pub project: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    pub key: String,
    /// JSON, or `unset`; never a secret.
    pub value: String,
    pub source: String,
}

/// A text that a model was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drafted {
    pub text: String,
    /// What of it is not the model's, and why.
    pub note: Option<String>,
}
