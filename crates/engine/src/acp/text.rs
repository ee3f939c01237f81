//! What an agent reads of a file by `fs/read_text_file`: whole or not at all, so that none writes back what was cut without
//! its knowing.

use std::io::Read;

use serde_json::json;
use zdx_acp::{RpcError, code};
use zdx_protocol::{Target, ToolCode};

use zdx_workspace::Workspace;

/// What an agent is given at once.
const MOST: usize = 8 << 20;
/// How far into a file its lines are counted.
const FARTHEST: u64 = 1 << 30;

/// As the protocol names it; `Resource not found` is what agents know a missing file by.
pub fn file_fault(path: &str, why: &ToolCode, words: String) -> RpcError {
    if *why == ToolCode::Enoent {
        return RpcError::new(code::NOT_FOUND, format!("Resource not found: {path}"))
            .with(json!({"uri": path}));
    }
    let code = if *why == ToolCode::InvalidInput { code::INVALID_PARAMS } else { code::INTERNAL };
    RpcError::new(code, words)
}

/// Which of them are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    skipped: u64,
    limit: Option<u64>,
}

impl Lines {
    /// The first is 1; some say 0.
    pub fn of(line: Option<u64>, limit: Option<u64>) -> Self {
        Self { skipped: line.unwrap_or(1).saturating_sub(1), limit }
    }
}

pub fn text_of(workspace: &Workspace, target: &Target, lines: Lines) -> Result<String, RpcError> {
    let path = target.path.display();
    let opened = workspace.open_file(target);
    let opened = opened
        .map_err(|error| file_fault(&target.path.display().to_string(), &error.code(), error.to_string()))?;
    let bytes = slice(opened.file, lines).map_err(|error| match error {
        Unfit::Broken(error) => RpcError::new(code::INTERNAL, format!("{path}: {error}")),
        Unfit::TooMuch => {
            let words = format!(
                "{path} has more than {} MiB to give at once, and a part would pass for the whole: ask for lines by \
                 `line` and `limit`",
                MOST >> 20
            );
            RpcError::new(code::INTERNAL, words).with(json!({"size": opened.size}))
        }
        Unfit::TooFar => {
            let words = format!("{path} is too long for its lines to be counted that far");
            RpcError::new(code::INTERNAL, words)
        }
    })?;
    let no_text = || RpcError::new(code::INTERNAL, format!("{path} is no text file"));
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        Ok(_) | Err(_) => Err(no_text()),
    }
}

enum Unfit {
    Broken(std::io::Error),
    TooMuch,
    TooFar,
}

/// The wanted lines with their ends; what lies behind the last is nothing.
fn slice(mut from: impl Read, lines: Lines) -> Result<Vec<u8>, Unfit> {
    let (mut kept, mut passed, mut seen) = (Vec::new(), 0, 0);
    let behind = lines.limit.map(|limit| lines.skipped.saturating_add(limit));
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(kept),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Unfit::Broken(error)),
        };
        for line in buffer[..count].split_inclusive(|&byte| byte == b'\n') {
            if behind.is_some_and(|behind| passed >= behind) {
                return Ok(kept);
            }
            if passed >= lines.skipped {
                kept.extend_from_slice(line);
            }
            passed += u64::from(line.ends_with(b"\n"));
        }
        if kept.len() > MOST {
            return Err(Unfit::TooMuch);
        }
        seen += count as u64;
        if seen > FARTHEST {
            return Err(Unfit::TooFar);
        }
    }
}
