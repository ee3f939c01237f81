//! What a front end may ask of the engine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::check::CheckChoice;
use crate::content::IncomingImage;
use crate::policy::{Approval, Decision, RequestId};
use crate::query::Query;

/// One thing the user said, with what the front end already resolved from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    pub text: String,
    /// So much of it, from the start, are the user's own words. The rest is data that came in through a pipe: it informs,
    /// and triggers nothing.
    pub typed: usize,
    /// Images that came along with it.
    pub images: Vec<IncomingImage>,
}

impl Prompt {
    /// What was typed, and data behind a blank line. Data alone is as it is.
    pub fn with_data(typed: &str, data: &str) -> Self {
        let between = if typed.is_empty() || data.is_empty() { "" } else { "\n\n" };
        Self { text: format!("{typed}{between}{data}"), typed: typed.len(), images: Vec::new() }
    }

    pub fn typed(&self) -> &str {
        self.text.get(..self.typed).unwrap_or(&self.text)
    }

    pub fn data(&self) -> &str {
        self.text.get(self.typed..).unwrap_or_default().trim_start_matches('\n')
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), typed: text.len(), images: Vec::new() }
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self { typed: text.len(), text, images: Vec::new() }
    }
}

/// Names one command of a front end, so that what comes of it can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandId(pub u64);

/// A command on its way. Each ends once: in `Event::Done`, a question or a remembered line in `Event::Reply`, and what
/// could not be carried out in an `Event::Error`, all with this id.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub id: CommandId,
    pub command: Command,
}

/// Which session to go on with. The one that is open stays open until the other one is, and goes on where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    New,
    Resume(SessionPick),
    /// A copy of the open session: all of it, or what was before this turn.
    Fork {
        turn: Option<u32>,
    },
    /// A new session in another folder.
    Root(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionPick {
    /// A whole id, or the beginning of one that no other session shares.
    Id(String),
    /// The last one that was begun in this folder.
    LatestHere,
    Latest,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Answered with `SessionStarted`. A running turn is interrupted first.
    Open(Open),
    Prompt(Prompt),
    Answer {
        request: RequestId,
        decision: Decision,
    },
    /// The answer to `TrustRequested`.
    AnswerTrust {
        request: RequestId,
        trust: bool,
    },
    /// Stops the running turn: model and tools. Whatever waits for its turn is not begun.
    Interrupt,
    /// A command line the user typed with `!`: run at once, through the guard, without the model.
    Shell(String),
    /// Makes room in the context now, whatever it holds.
    Compact,
    /// `name` or `provider/name`; takes effect with the next model call.
    SetModel(String),
    /// Writes the model in use into the user's own configuration file, for new sessions to begin with.
    KeepModel,
    SetAgent(String),
    /// Takes back the conversation from this turn on (none: the last one) and what tools did to files since.
    Revert {
        turn: Option<u32>,
        /// The conversation alone goes back.
        keep_files: bool,
    },
    /// Takes back the last revert, as long as nothing was said since.
    Redo,
    /// Takes back the last turn, with what tools did to files in it, and asks the same again.
    Retry,
    /// Holds at once: open questions are judged anew.
    SetApproval(Approval),
    /// Takes back what was allowed, for the session and for the project; named as a list of it does.
    Revoke {
        grant: String,
    },
    /// Answers the offer of a check; none: tells how it stands.
    Check(Option<CheckChoice>),
    /// Lets a folder outside the workspace count like it in this session; as typed: `~` and relative paths are resolved.
    AddFolder {
        path: String,
    },
    /// Asks about this folder's own files (again), and goes on with the session as they are trusted by then. A running turn
    /// is interrupted first.
    Trust,
    /// Writes the session down as text, to a file that must not be there yet: this one, or one named after the session.
    Export {
        path: Option<PathBuf>,
    },
    /// Keeps a line that a person typed in the prompt history, redacted, also during a turn. Ends in `Reply::Remembered`.
    Remember {
        line: String,
    },
    /// Answered during a turn too.
    Ask(Query),
    /// Ends the engine after the running turn was interrupted and the log is safe.
    Shutdown,
}

impl Command {
    /// Runs as a turn: its `Done` comes behind a `TurnFinished`, and it waits for the turn before it.
    pub fn takes_turn(&self) -> bool {
        match self {
            Self::Prompt(_)
            | Self::Shell(_)
            | Self::Compact
            | Self::Retry
            | Self::Check(Some(CheckChoice::Run)) => true,
            Self::Open(_)
            | Self::Answer { .. }
            | Self::AnswerTrust { .. }
            | Self::Interrupt
            | Self::SetModel(_)
            | Self::KeepModel
            | Self::SetAgent(_)
            | Self::Revert { .. }
            | Self::Redo
            | Self::SetApproval(_)
            | Self::Revoke { .. }
            | Self::Check(None | Some(CheckChoice::Always | CheckChoice::Never))
            | Self::AddFolder { .. }
            | Self::Trust
            | Self::Export { .. }
            | Self::Remember { .. }
            | Self::Ask(_)
            | Self::Shutdown => false,
        }
    }

    /// Means the session that is open, or the engine itself, at this very moment; all else is work that can wait for the
    /// next session.
    pub fn is_for_now(&self) -> bool {
        match self {
            Self::Open(_)
            | Self::Trust
            | Self::Shutdown
            | Self::Interrupt
            | Self::Answer { .. }
            | Self::AnswerTrust { .. } => true,
            Self::Prompt(_)
            | Self::Shell(_)
            | Self::Compact
            | Self::SetModel(_)
            | Self::KeepModel
            | Self::SetAgent(_)
            | Self::Revert { .. }
            | Self::Redo
            | Self::Retry
            | Self::SetApproval(_)
            | Self::Revoke { .. }
            | Self::Check(_)
            | Self::AddFolder { .. }
            | Self::Export { .. }
            | Self::Remember { .. }
            | Self::Ask(_) => false,
        }
    }
}
