//! Codes: why a tool failed (`ToolCode`), why a verdict is what it is (`ReasonCode`), what a failure is about (`ErrorKind`),
//! how strict a verdict is (`Level`). They are spelled here and nowhere else; everything that decides, decides on the type.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// An enum whose variants are words of a contract, one row a word. It is written as that word.
macro_rules! spelled {
    (
        $(#[$about:meta])*
        $name:ident {
            $($(#[$note:meta])* $variant:ident = $text:literal,)+
            $(.. $(#[$rest:meta])* $other:ident($held:ty))?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$note])* $variant,)+
            $($(#[$rest])* $other($held),)?
        }

        impl $name {
            /// Every word of ours.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    $(Self::$other(text) => text.as_str(),)?
                }
            }

            /// The one of ours that is spelled so.
            pub fn find(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}
pub(crate) use spelled;

spelled! {
    /// Why a call has an error for a result: a contract with models and with whoever reads sessions and events.
    ToolCode {
        // Any tool.
        InvalidInput = "invalid_input",
        UnknownTool = "unknown_tool",
        DuplicateId = "duplicate_id",
        Interrupted = "interrupted",
        /// The turn was interrupted before it began.
        NotRun = "not_run",
        Timeout = "timeout",
        /// A defect of zdx.
        Internal = "internal",

        // The guard, and whoever was asked.
        /// A person said no.
        Rejected = "rejected",
        Denied = "denied",
        Forbidden = "forbidden",
        ApprovalRequired = "approval_required",
        PathEscape = "path_escape",
        ProtectedPath = "protected_path",

        // Files, by the system's own names where it has one.
        Enoent = "ENOENT",
        Enotdir = "ENOTDIR",
        Eacces = "EACCES",
        Eio = "EIO",
        Eloop = "ELOOP",
        Enametoolong = "ENAMETOOLONG",
        NotRegular = "not_regular",
        SymlinkEscape = "symlink_escape",
        TooLarge = "too_large",
        PathError = "path_error",
        ReadError = "read_error",
        WriteError = "write_error",
        MkdirError = "mkdir_error",
        /// The file is not what it was when the call was prepared.
        ChangedSince = "changed_since",
        OldNotFound = "old_not_found",
        ReplacementCountMismatch = "replacement_count_mismatch",
        PatchRejected = "patch_rejected",

        // Commands, agents, skills.
        ExecError = "exec_error",
        UnknownAgent = "unknown_agent",
        ModelError = "model_error",
        TaskFailed = "task_failed",
        UnknownSkill = "unknown_skill",
        SkillError = "skill_error",

        // Tools of other programs.
        /// Their server is not there: it did not start, has ended, or does not answer.
        McpUnavailable = "mcp_unavailable",
        /// The tool itself says that it failed.
        McpError = "mcp_error",

        ..
        /// Somebody else's word: of a remote tool, or of a zdx that is newer than this one.
        Other(Foreign)
    }
}

/// A code that is none of ours. Made by reading one, so that a word of ours is never hidden in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign(Arc<str>);

impl Foreign {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ToolCode {
    fn from(text: &str) -> Self {
        Self::find(text).unwrap_or_else(|| Self::Other(Foreign(text.into())))
    }
}

impl<'de> Deserialize<'de> for ToolCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| text.as_str().into())
    }
}

spelled! {
    /// Why the guard decided as it did.
    #[derive(Copy)]
    ReasonCode {
        // By rules, presets and who is there.
        Allowed = "allowed",
        ApprovalRequired = "approval_required",
        Denied = "denied",
        /// The guard broke down.
        Internal = "internal",

        // By floors, which no rule lifts.
        Forbidden = "forbidden",
        PathEscape = "path_escape",
        /// A link of the workspace leads out of it.
        SymlinkEscape = "symlink_escape",
        ProtectedPath = "protected_path",
        /// It changes what agents are told.
        Instructions = "instructions",
        ListedCommand = "listed_command",
        Destructive = "destructive",
        Overwrite = "overwrite",
        /// It makes a program run another one.
        Helper = "helper",

        // By what cannot be read from the text.
        /// What it does is known only when it runs.
        Opaque = "opaque",
        Unreadable = "unreadable",
        HiddenCharacters = "hidden_characters",
        TooLarge = "too_large",
        TooDeep = "too_deep",
    }
}

impl<'de> Deserialize<'de> for ReasonCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one_of_ours(deserializer, Self::find)
    }
}

impl ToolCode {
    /// A rule or a person said no; nothing was tried.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Rejected
                | Self::Denied
                | Self::Forbidden
                | Self::ApprovalRequired
                | Self::PathEscape
                | Self::SymlinkEscape
                | Self::ProtectedPath
        )
    }
}

impl ReasonCode {
    /// It is about a path outside the workspace.
    pub fn is_outside(self) -> bool {
        matches!(self, Self::PathEscape | Self::SymlinkEscape)
    }
}

/// A denial as the result of the call that was denied.
impl From<ReasonCode> for ToolCode {
    fn from(code: ReasonCode) -> Self {
        match code {
            ReasonCode::ApprovalRequired => Self::ApprovalRequired,
            ReasonCode::Denied => Self::Denied,
            ReasonCode::Internal => Self::Internal,
            ReasonCode::Forbidden => Self::Forbidden,
            ReasonCode::PathEscape => Self::PathEscape,
            ReasonCode::SymlinkEscape => Self::SymlinkEscape,
            ReasonCode::ProtectedPath => Self::ProtectedPath,
            ReasonCode::TooLarge => Self::TooLarge,
            // These ask and never deny: with nobody to ask, the denial is `approval_required`. A model that got one
            // of them all the same has been denied, which is all that it can act on.
            ReasonCode::Allowed
            | ReasonCode::Instructions
            | ReasonCode::ListedCommand
            | ReasonCode::Destructive
            | ReasonCode::Overwrite
            | ReasonCode::Helper
            | ReasonCode::Opaque
            | ReasonCode::Unreadable
            | ReasonCode::HiddenCharacters
            | ReasonCode::TooDeep => Self::Denied,
        }
    }
}

/// Reads a word that must be known.
pub(crate) fn one_of_ours<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    find: fn(&str) -> Option<T>,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    find(&text).ok_or_else(|| D::Error::custom(format_args!("unknown word `{text}`")))
}

/// What a failure is about, for a front end and for a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The model's server could not be reached, refused, or broke off.
    Provider,
    /// The model's server wants a key, or another one.
    Auth,
    Tool,
    Session,
    Config,
    Limit,
    /// What was made does not pass its check.
    Check,
    Internal,
    /// It was not begun, because the user interrupted what it waited for.
    Interrupted,
}

/// The bare strictness of a verdict, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Allow,
    Ask,
    Confirm,
    Deny,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Confirm => "confirm",
            Self::Deny => "deny",
        }
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
