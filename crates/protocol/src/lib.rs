//! The language all parts of zdx speak: commands in, events out, records on disk, and the plain data between.
//! Owns no I/O: nothing here opens a file, a socket or a terminal.

pub mod change;
pub mod check;
pub mod code;
pub mod command;
pub mod compaction;
pub mod compare;
pub mod content;
pub mod conversation;
pub mod display;
pub mod editor;
pub mod event;
pub mod facts;
pub mod handle;
pub mod image;
pub mod mcp;
pub mod mentions;
mod outcome;
pub mod packed;
pub mod path_text;
pub mod policy;
pub mod prompt_history;
pub mod query;
pub mod record;
pub mod redact;
pub mod retold;
pub mod slash;
mod time;
pub mod todo;
pub mod tool;
pub mod transcript;
pub mod trust;
mod typeset;

pub use change::{FileAccess, FileChange, FileState, LeftBehind, Operation};
pub use check::{CheckChoice, CheckGrant, CheckStanding, CheckState};
pub use code::{ErrorKind, Level, ReasonCode, ToolCode};
pub use command::{Command, CommandId, Open, Prompt, Sent, SessionPick};
pub use compaction::{Breakdown, Compacted, Compaction, ContextUsage};
pub use content::{
    AttachedContent, BlobRef, Content, ContentOrigin, FileRef, ImageCost, ImageRef, IncomingImage,
    ResourceRef,
};
pub use conversation::{Message, Part, Reasoning, Role, Usage};
pub use editor::EditorFiles;
pub use event::{
    CheckResult, Checked, CutShort, Event, LastTurn, NoticeLevel, Outcome, SessionInfo, TurnState,
    TurnSummary,
};
pub use handle::{EngineEnd, EngineHandle};
pub use image::{ImageFormat, ImageInfo};
pub use mcp::{McpServer, McpState};
pub use packed::Packed;
pub use policy::{
    Action, Approval, ApprovalRequest, CommandFamily, Danger, Decision, FamilyBinding, GrantScope, Granting,
    Origin, Preview, Reason, RequestId, Target, Verdict,
};
pub use query::{Query, Reply};
pub use record::{InputCut, Record, SCHEMA_VERSION};
pub use redact::Redactor;
pub use retold::Retold;
pub use todo::{Todo, TodoStatus};
pub use tool::{
    Arguments, CallKind, CallOrigin, Location, Signature, ToolCall, ToolError, ToolOutput, ToolSpec,
};
pub use transcript::Transcript;
pub use trust::{Standing, TrustRequest, TrustState, Want};
