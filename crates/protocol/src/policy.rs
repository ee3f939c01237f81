//! What a call will really do (`Action`) and what was decided about it (`Verdict`).
//! The decision itself is made in one place only, the engine's `policy::judge`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::change::Operation;
use crate::code::{Level, ReasonCode};
use crate::facts;
use crate::path_text;
use crate::tool::{CallKind, Location};

/// Who wants the command run. A floor that is final for a model is a question for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Model,
    User,
}

/// A path after resolution: what would really be opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// Below the workspace root after every link was followed.
    pub inside: bool,
    pub exists: bool,
    /// Named inside, and led out by a link.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub led_out: bool,
}

/// What a tool call will do, resolved before anything is judged, shown or run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Action {
    /// Looks at files or folders; `tool` is the permission key (`read`, `list`, `grep`, `glob`).
    Read {
        tool: String,
        targets: Vec<Target>,
    },
    /// Changes files; `tool` is the permission key (`write`, `patch`).
    Write {
        tool: String,
        targets: Vec<Target>,
    },
    /// Runs a command line in `cwd`.
    Command {
        command: String,
        #[serde(with = "path_text")]
        cwd: PathBuf,
        origin: Origin,
    },
    Mcp {
        server: String,
        tool: String,
        /// Of what the server said of the tool: who allowed it for good allowed this, and nothing that comes in its place.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        digest: String,
    },
    /// Fetches something from the network. The title is that of the agent that fetches it.
    Fetch {
        title: String,
    },
    /// Something that another program does itself and describes with a title alone.
    Remote {
        title: String,
    },
    Skill {
        name: String,
    },
    Task {
        agent: String,
    },
    /// Reads or changes the session's own todo list.
    Todo,
}

impl Action {
    /// The key of permission rules for all tools of MCP servers, and for what other programs do themselves.
    pub const MCP_KEY: &str = facts::MCP.key;

    /// Calls that may run side by side: those without effect, and agents, who look after themselves.
    pub fn runs_alongside(&self) -> bool {
        self.is_read_only() || matches!(self, Self::Task { .. })
    }

    /// In an editor's words; a preview tells whether a change takes a file away.
    pub fn kind(&self, preview: &Preview) -> CallKind {
        match self {
            Self::Read { tool, .. } => facts::kind_of_key(tool).unwrap_or(CallKind::Read),
            Self::Skill { .. } => facts::SKILL.kind,
            Self::Write { .. } => match preview {
                Preview::Change { operation: Operation::Deleted, .. } => CallKind::Delete,
                Preview::Change { operation: Operation::Renamed, .. } => CallKind::Move,
                Preview::None | Preview::Command { .. } | Preview::Change { .. } | Preview::Text { .. } => {
                    CallKind::Edit
                }
            },
            Self::Command { .. } => facts::BASH.kind,
            Self::Task { .. } => facts::TASK.kind,
            Self::Todo => facts::TODOWRITE.kind,
            Self::Fetch { .. } => CallKind::Fetch,
            Self::Mcp { .. } | Self::Remote { .. } => CallKind::Other,
        }
    }

    /// What permission rules call it.
    pub fn key(&self) -> &str {
        match self {
            Self::Read { tool, .. } | Self::Write { tool, .. } => tool,
            Self::Command { .. } => facts::BASH.permission.key,
            Self::Mcp { .. } | Self::Fetch { .. } | Self::Remote { .. } => Self::MCP_KEY,
            Self::Skill { .. } => facts::SKILL.permission.key,
            Self::Task { .. } => facts::TASK.permission.key,
            Self::Todo => facts::TODOWRITE.permission.key,
        }
    }

    /// The files it is about; where there is just one, `line` says where in it.
    pub fn locations(&self, line: Option<u64>) -> Vec<Location> {
        let targets = match self {
            Self::Read { targets, .. } | Self::Write { targets, .. } => targets.as_slice(),
            Self::Command { .. }
            | Self::Mcp { .. }
            | Self::Fetch { .. }
            | Self::Remote { .. }
            | Self::Skill { .. }
            | Self::Task { .. }
            | Self::Todo => &[],
        };
        let line = line.filter(|_| targets.len() == 1);
        targets.iter().map(|target| Location { path: target.path.clone(), line }).collect()
    }

    /// What will be different in files, line by line.
    pub fn diff<'a>(&self, preview: &'a Preview) -> Option<&'a str> {
        let shown = match (self, preview) {
            (Self::Write { .. }, Preview::Change { diff: text, .. } | Preview::Text { text }) => text,
            _ => return None,
        };
        Some(shown.as_str()).filter(|diff| !diff.is_empty())
    }

    /// Nothing is changed by it.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Read { .. } | Self::Skill { .. } => true,
            Self::Write { .. }
            | Self::Command { .. }
            | Self::Mcp { .. }
            | Self::Fetch { .. }
            | Self::Remote { .. }
            | Self::Task { .. }
            | Self::Todo => false,
        }
    }
}

/// What a person is shown before saying yes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Preview {
    None,
    Command {
        command: String,
    },
    Change {
        #[serde(with = "path_text")]
        path: PathBuf,
        operation: Operation,
        additions: usize,
        deletions: usize,
        /// Unified diff, bounded.
        diff: String,
    },
    Text {
        text: String,
    },
}

/// Why a verdict is what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub code: ReasonCode,
    pub message: String,
    /// The rule that fired and where it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// Ordered by strictness: a script's verdict is the maximum over its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask(Reason),
    Confirm(Reason),
    Deny(Reason),
}

impl Verdict {
    pub fn level(&self) -> Level {
        match self {
            Self::Allow => Level::Allow,
            Self::Ask(_) => Level::Ask,
            Self::Confirm(_) => Level::Confirm,
            Self::Deny(_) => Level::Deny,
        }
    }

    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Allow => None,
            Self::Ask(reason) | Self::Confirm(reason) | Self::Deny(reason) => Some(reason),
        }
    }
}

/// How an action must be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Danger {
    /// May be remembered.
    Ask,
    /// Allow once or deny, never remembered.
    Confirm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

/// How the id of a call begins that checks the work of a turn: it is zdx that wants it, not the model.
pub const CHECK: &str = "check-";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    pub request: RequestId,
    /// The subagent that asks; none: the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What that one works on, in a few words: two of the same agent may ask at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The tool call it is about.
    pub id: String,
    pub tool: String,
    pub action: Action,
    pub preview: Preview,
    pub danger: Danger,
    pub reason: Reason,
    /// Exactly what "always" would allow; absent when it cannot be remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// What else it may be granted with, where that can be said safely; [`Granting`] reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wider: Option<String>,
    /// The preset by which it is asked; absent where another one would change nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// What a grant covers, as its spelling says. Every other reader asks here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granting<'a> {
    /// One command, one set of files, one name.
    Exactly(&'a str),
    /// Every command of a family.
    Commands(CommandFamily<'a>),
    /// Every change that a tool makes to a file of the workspace.
    Edits,
    /// This folder outside the workspace counts like the workspace, with all that lies below it.
    Folder(&'a str),
}

/// Commands that begin with the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandFamily<'a> {
    pub words: &'a str,
    /// The place it holds for; absent in grants of earlier versions, which hold nowhere any more.
    pub binding: Option<FamilyBinding<'a>>,
}

/// Where a family of commands was granted, and by which project files: in another folder, or once one of these files is
/// made, changed or removed, it is asked about again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyBinding<'a> {
    /// The folder it runs in, from the workspace; `.` is the workspace itself.
    pub folder: &'a str,
    /// Names of the files that say what it runs, with commas between; empty when there are none.
    pub files: &'a str,
    /// SHA-256 over these files.
    pub hash: &'a str,
}

impl<'a> CommandFamily<'a> {
    /// `words #hash files folder`. Neither the words nor the names of files hold a `#` or a blank too many.
    fn of(text: &'a str) -> Self {
        let bound = text.split_once(" #").and_then(|(words, rest)| {
            let mut parts = rest.splitn(3, ' ');
            let (hash, files, folder) = (parts.next()?, parts.next()?, parts.next()?);
            let files = if files == "-" { "" } else { files };
            Some(Self { words, binding: Some(FamilyBinding { folder, files, hash }) })
        });
        bound.unwrap_or(Self { words: text, binding: None })
    }

    fn spelled(self) -> String {
        match self.binding {
            None => self.words.to_owned(),
            Some(FamilyBinding { folder, files, hash }) => {
                let files = if files.is_empty() { "-" } else { files };
                format!("{} #{hash} {files} {folder}", self.words)
            }
        }
    }
}

impl<'a> Granting<'a> {
    const COMMANDS: &'static str = "every ";
    const EDITS: &'static str = "edits";
    const FOLDER: &'static str = "folder ";

    pub fn of(grant: &'a str) -> Self {
        if grant == Self::EDITS {
            return Self::Edits;
        }
        let folder = || grant.strip_prefix(Self::FOLDER).filter(|path| path.starts_with('/'));
        match (grant.strip_prefix(Self::COMMANDS), folder()) {
            (Some(family), _) => Self::Commands(CommandFamily::of(family)),
            (None, Some(path)) => Self::Folder(path),
            (None, None) => Self::Exactly(grant),
        }
    }

    /// How it is remembered. No tool has the name that a wider one begins with.
    pub fn spelled(self) -> String {
        match self {
            Self::Exactly(grant) => grant.to_owned(),
            Self::Commands(family) => format!("{}{}", Self::COMMANDS, family.spelled()),
            Self::Edits => Self::EDITS.to_owned(),
            Self::Folder(path) => format!("{}{path}", Self::FOLDER),
        }
    }

    /// Whether a newer grant takes the place of this one: the same family in the same folder.
    pub fn is_replaced_by(self, newer: Granting<'_>) -> bool {
        let (Self::Commands(old), Granting::Commands(new)) = (self, newer) else { return false };
        let folder = |family: CommandFamily<'_>| family.binding.map(|binding| binding.folder.to_owned());
        old.words == new.words && (old.binding.is_none() || folder(old) == folder(new))
    }

    /// How long it may hold. Nobody means to say yes to all edits, or to a folder outside, for ever.
    pub fn longest(self) -> GrantScope {
        match self {
            Self::Exactly(_) | Self::Commands(_) => GrantScope::Project,
            Self::Edits | Self::Folder(_) => GrantScope::Session,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    Session,
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    AllowOnce,
    AllowAlways {
        scope: GrantScope,
        /// Not exactly this, but the wider grant that was offered beside it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wider: bool,
    },
    Deny {
        /// A word to the model about why, or what to do instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        word: Option<String>,
    },
}

/// How much may happen without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    #[serde(alias = "god_mode")]
    Yolo,
    Balanced,
    Paranoid,
}

impl Approval {
    pub const NAMES: [&'static str; 3] = ["yolo", "balanced", "paranoid"];

    pub fn name(self) -> &'static str {
        match self {
            Self::Yolo => "yolo",
            Self::Balanced => "balanced",
            Self::Paranoid => "paranoid",
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Yolo => "all runs unasked but what is dangerous",
            Self::Balanced => "what only reads runs unasked",
            Self::Paranoid => "nothing runs unasked but what you allowed",
        }
    }

    /// By its name, or by the one that Agent Zero has for it.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "yolo" | "god_mode" => Some(Self::Yolo),
            "balanced" => Some(Self::Balanced),
            "paranoid" => Some(Self::Paranoid),
            _ => None,
        }
    }
}
