//! What a project's own files ask for before they are trusted, as a front end shows it. Decides nothing: what may they
//! change is the engine's `policy::trust`.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::path_text;
use crate::policy::RequestId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Trusted,
    /// It was trusted, with other content.
    Changed,
    Unknown,
}

/// One thing that a project's file asks for and does not get before it is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Want {
    /// Relative to the project's folder.
    #[serde(serialize_with = "path_text::serialize")]
    pub file: PathBuf,
    pub line: usize,
    /// A short name for it: a key, a command, an agent.
    pub key: String,
    /// What it would do, for a person to judge. Foreign text: show it with control characters visible.
    pub what: String,
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// How a folder's own files stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrustState {
    #[serde(serialize_with = "path_text::serialize")]
    pub root: PathBuf,
    pub standing: Standing,
    /// Which files are others than those that were trusted, as far as that is known.
    #[serde(serialize_with = "path_text::list::serialize")]
    pub changed: Vec<PathBuf>,
    pub wants: Vec<Want>,
}

/// Asked before anything of these files is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrustRequest {
    pub request: RequestId,
    #[serde(flatten)]
    pub state: TrustState,
}
