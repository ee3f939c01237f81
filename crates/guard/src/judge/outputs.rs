//! Spilled outputs of the session: the model was told of them, so it may read them whatever approval mode and rules for paths say.

use std::path::Path;

use zdx_protocol::facts::{GREP, READ};
use zdx_protocol::{Level, ReasonCode};

use super::{PartFinding, Weigher, finding};
use crate::rules::Ruling;

/// Endings of the names of spilled files: streams of commands, texts of a prompt, answers of MCP servers.
const KINDS: [&str; 5] = [".stdout", ".stderr", ".input", ".content", ".structured"];

impl Weigher<'_> {
    /// Allows `read` and `grep` a spilled output, unless a rule denies the tool itself. The path is resolved: a link that
    /// leads out of the folder names another file.
    pub(super) fn spilled_output(&self, key: &str, ruling: &Ruling, path: &Path) -> Option<PartFinding> {
        let reads = [READ.permission.key, GREP.permission.key].contains(&key);
        let is_open = reads && ruling.level != Level::Deny && self.is_output(path);
        let reason = "it reads an output of this session that was too long to show";
        let shown = path.display().to_string();
        is_open.then(|| finding(&shown, Level::Allow, ReasonCode::Allowed, reason, None))
    }

    /// Nothing else that lies there. The second file of a name has a number behind it.
    pub(super) fn is_output(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let name =
            name.rsplit_once('.').filter(|(_, number)| is_number(number)).map_or(name, |(name, _)| name);
        self.cx.outputs.as_deref().is_some_and(|folder| path.parent() == Some(folder))
            && KINDS.iter().any(|kind| name.ends_with(kind))
    }
}
