//! `fs/read_text_file` and `fs/write_text_file`. A file is given whole or not at all, so that no agent writes back what was
//! cut without its knowing.

use std::io::Read;
use std::sync::Arc;

use serde_json::{Value, json};
use zdx_acp::{RpcError, code};
use zdx_protocol::{Target, ToolCode};

use super::Events;
use super::judged::{Judged, Touch};
use super::params::Params;

/// What an agent is given at once.
const MOST: usize = 8 << 20;
/// How far into a file its lines are counted.
const FARTHEST: u64 = 1 << 30;

pub(super) async fn read(judged: &Arc<Judged>, events: &Events, params: &Params) -> Result<Value, RpcError> {
    let named = params.text("path")?;
    let lines = Lines::of(params.count_if_any("line")?, params.count_if_any("limit")?);
    let target = allowed(judged, events, Touch::Read, named)?;
    let judged = Arc::clone(judged);
    let content = off_thread(move || content(&judged, &target, lines)).await?;
    Ok(json!({"content": content}))
}

pub(super) async fn write(
    judged: &Arc<Judged>,
    events: &Events,
    mut params: Params,
) -> Result<Value, RpcError> {
    let content = params.take_text("content")?;
    let target = allowed(judged, events, Touch::Write, params.text("path")?)?;
    let judged = Arc::clone(judged);
    off_thread(move || {
        let written = judged.workspace.replace(&target, content.as_bytes());
        written.map(|_| json!({})).map_err(|error| fault(&shown(&target), &error.code(), error.to_string()))
    })
    .await
}

/// The file that is meant, if it may be touched.
fn allowed(judged: &Judged, events: &Events, touch: Touch, named: &str) -> Result<Target, RpcError> {
    let target = judged.workspace.resolve(named);
    let target = target.map_err(|error| fault(named, &error.code(), error.to_string()))?;
    judged.files(touch, vec![target.clone()]).map_err(|why| {
        let what = match touch {
            Touch::Read => "read",
            Touch::Write => "write",
        };
        events.refused(format!("{what} {named}: {why}"));
        RpcError::new(code::INVALID_REQUEST, format!("not allowed: {why}"))
    })?;
    Ok(target)
}

/// A file system may hang.
async fn off_thread(
    work: impl FnOnce() -> Result<Value, RpcError> + Send + 'static,
) -> Result<Value, RpcError> {
    let failed = |_| RpcError::new(code::INTERNAL, "the file could not be handled");
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

/// As the protocol names it; `Resource not found` is what agents know a missing file by.
fn fault(path: &str, why: &ToolCode, words: String) -> RpcError {
    if *why == ToolCode::Enoent {
        return RpcError::new(code::NOT_FOUND, format!("Resource not found: {path}"))
            .with(json!({"uri": path}));
    }
    let code = if *why == ToolCode::InvalidInput { code::INVALID_PARAMS } else { code::INTERNAL };
    RpcError::new(code, words)
}

fn shown(target: &Target) -> String {
    target.path.display().to_string()
}

/// Which of them are wanted.
#[derive(Clone, Copy, Debug)]
struct Lines {
    skipped: u64,
    limit: Option<u64>,
}

impl Lines {
    /// The first is 1; some say 0.
    fn of(line: Option<u64>, limit: Option<u64>) -> Self {
        Self { skipped: line.unwrap_or(1).saturating_sub(1), limit }
    }
}

fn content(judged: &Judged, target: &Target, lines: Lines) -> Result<Value, RpcError> {
    let path = target.path.display();
    let opened = judged.workspace.open_file(target);
    let opened = opened.map_err(|error| fault(&shown(target), &error.code(), error.to_string()))?;
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
        Ok(text) if !text.contains('\0') => Ok(Value::String(text)),
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
