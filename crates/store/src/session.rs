//! Session files: one JSONL file a session, appended to, recovered, listed and deleted here.
//! Knows nothing of turns or models; what a line means is the protocol's `Record` and `Transcript`.

mod export;
mod file;
mod fork;
mod head;
mod list;
mod load;
mod log;
mod tail;

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use file::ignore_sigxfsz;
pub use fork::SessionForkError;
pub use list::{Kind as SessionKind, SessionStore};
pub use list::{SessionFindError, is_same_root};
pub use load::ResumedSession;
pub use load::SessionOpenError;
pub use log::SessionLog;

/// A random UUID, hyphenated and lower-case. It names a file, so nothing else is ever accepted as an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(uuid::Uuid);

impl SessionId {
    pub fn random() -> Self {
        Self(zdx_workspace::random_id())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no session id: expected a form like 550e8400-e29b-41d4-a716-446655440000")]
pub struct InvalidSessionId(pub String);

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, InvalidSessionId> {
        // The parser also reads braced, URN and unhyphenated forms: none of them is a file name of ours.
        match uuid::Uuid::try_parse(text) {
            Ok(uuid) if text.len() == uuid::fmt::Hyphenated::LENGTH => Ok(Self(uuid)),
            _ => Err(InvalidSessionId(text.chars().take(60).collect())),
        }
    }
}

/// The reason of a failed file operation in words; the rest of an error's text is for programmers.
fn reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::StorageFull => "no space is left on the disk".to_owned(),
        ErrorKind::QuotaExceeded => "the disk quota is used up".to_owned(),
        ErrorKind::FileTooLarge => "the limit on file sizes (ulimit -f) is reached".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::NotADirectory => "a part of the path is a file, not a folder".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}
