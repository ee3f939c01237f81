//! `edit`: one exact replacement in an existing file.
//! Guesses nothing: what is not there byte for byte, line ends aside, is an error that helps to find it.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use zdx_protocol::facts::EDIT;
use zdx_protocol::redact::MASK;
use zdx_protocol::{Action, Operation, Preview, Target, ToolCode, ToolError, ToolSpec, path_text};

use super::change::{Before, LineChange, MOST, UNSEEN, adds_mask, changed_since, replace};
use super::input::{Input, invalid};
use super::{Prepared, Tool, ToolContext, off_thread_locked};
use crate::files::sights::{Known, Sight};
use crate::files::workspace::{FileError, Workspace, near_names};

pub(super) mod nearest;

pub(super) struct Edit {
    spec: ToolSpec,
}

impl Default for Edit {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(EDIT.name),
            description: Cow::Borrowed(
                "Replace exact text in an existing file. `old` must match byte for byte, indentation included, and occur \
                 exactly `expected_replacements` times (1 unless given): add surrounding lines to make it unique.",
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Absolute, or relative to the working folder."},
                    "old": {"type": "string", "description": "The text to replace."},
                    "new": {"type": "string", "description": "What takes its place."},
                    "expected_replacements": {"type": "integer", "minimum": 1, "default": 1}
                },
                "required": ["path", "old", "new"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

/// What is to be replaced, as the model wrote it.
struct Replacement {
    old: String,
    new: String,
    expected: u64,
}

/// The file as it was when the edit was prepared, and what was shown of the edit.
struct SeenBefore {
    before: Option<[u8; 32]>,
    /// The lines that were to come and go.
    shown: Option<Vec<String>>,
    known: Known,
}

impl SeenBefore {
    /// Other calls of this session may have changed the file meanwhile. The edit is applied to what they left if it replaces
    /// the very lines that were shown; after anybody else's change it is not.
    fn holds(&self, workspace: &Workspace, target: &Target, content: &str, change: &LineChange) -> bool {
        let now = digest(content);
        self.before == Some(now)
            || (self.before.is_some()
                && workspace.locks().leads(&target.path, self.before, Some(now))
                && change.is_as_shown(self.shown.as_deref()))
    }
}

impl Tool for Edit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<Prepared, ToolError> {
        let mut input = Input::new(&EDIT, input);
        let path = input.text("path")?;
        let (old, new) = (input.text("old")?, input.text("new")?);
        let expected = input.count("expected_replacements")?.unwrap_or(1);
        if old.is_empty() {
            return Err(invalid("`old` is empty: name the text to replace, or use write for a new file"));
        }
        if old == new {
            return Err(invalid("`old` and `new` are the same: there is nothing to change"));
        }
        let target = cx.workspace.resolve(&path).map_err(|error| error.or_code(ToolCode::PathError))?;
        let replacement = Replacement { old, new, expected };
        // Whether a file is there, and what it is, is told only to those who may know: after the decision.
        let content = load(&cx.workspace, &target);
        let before = content.as_deref().ok().map(digest);
        let known = cx.workspace.sights().of(&target.path);
        // Of text that is not found, a mask in it is the likeliest reason.
        let mut added = replacement.old.contains(MASK) || replacement.new.contains(MASK);
        let mut shown = None;
        let (preview, doomed) = match content.map(|content| (replacement.apply(&content), content)) {
            Ok((Ok(Edited { text, .. }), content)) => {
                added = adds_mask(content.as_bytes(), text.as_bytes());
                let change = LineChange::between(content.as_bytes(), text.as_bytes());
                shown = change.shown_lines().map(|lines| lines.into_iter().map(str::to_owned).collect());
                (change.preview(&target.path, Operation::Updated), None)
            }
            Ok((Err(fault), _)) => (Preview::None, Some(fault.plainly(&target, &replacement))),
            Err(error) => (Preview::None, Some(error)),
        };
        let action = Action::Write { tool: EDIT.permission.key.to_owned(), targets: vec![target.clone()] };
        let workspace = Arc::clone(&cx.workspace);
        let seen = SeenBefore { before, shown, known };
        let run = move |run| {
            let paths = vec![target.path.clone()];
            let work = move |workspace: &Workspace| edit(workspace, &target, &seen, &replacement);
            off_thread_locked(run, workspace, paths, work).boxed()
        };
        Ok(Prepared { action, preview, doomed, line: None, adds_mask: added, run: Box::new(run) })
    }
}

fn digest(content: &str) -> [u8; 32] {
    Sha256::digest(content).into()
}

fn load(workspace: &Workspace, target: &Target) -> Result<String, ToolError> {
    let content = workspace.read_file(target, MOST).map_err(|error| match error {
        FileError::Missing(_) => missing(target),
        other => other.or_code(ToolCode::ReadError),
    })?;
    String::from_utf8(content).map_err(|_| {
        let message = format!("{} is not UTF-8 text and cannot be edited this way", target.path.display());
        ToolError::new(ToolCode::ReadError, message)
    })
}

/// Names beside it are told for the workspace alone: elsewhere nobody has allowed a look yet.
fn missing(target: &Target) -> ToolError {
    let near = if target.inside { near_names(&target.path) } else { Vec::new() };
    let hint = match near.is_empty() {
        true => "; use write to create it".to_owned(),
        false => format!("; near names here: {}", near.join(", ")),
    };
    ToolError::new(ToolCode::PathError, format!("{} does not exist{hint}", target.path.display()))
}

fn edit(
    workspace: &Workspace,
    target: &Target,
    seen: &SeenBefore,
    replacement: &Replacement,
) -> Result<Value, ToolError> {
    let content = load(workspace, target)?;
    let Edited { text, count, crlf } = match replacement.apply(&content) {
        Ok(edited) => edited,
        Err(_) if seen.shown.is_some() => return Err(changed_since(&target.path)),
        Err(fault) => return Err(fault.helpfully(target, replacement, &content)),
    };
    let change = LineChange::between(content.as_bytes(), text.as_bytes());
    if !seen.holds(workspace, target, &content, &change) {
        return Err(changed_since(&target.path));
    }
    replace(workspace, target, &Before::Content(digest(&content)), text.as_bytes())?;
    let written = workspace.read_file(target, text.len() as u64);
    if !written.is_ok_and(|written| written == text.as_bytes()) {
        let message = format!("{} does not hold what was written: read it again", target.path.display());
        return Err(ToolError::new(ToolCode::WriteError, message));
    }
    let overtaken = seen.known.is_overtaken_by(Some(content.as_bytes()));
    // What came meanwhile the model still has not seen.
    if !overtaken {
        workspace.sights().saw(&target.path, Some(Sight::of(Some(text.as_bytes()))));
    }
    let mut data = json!({
        "path": path_text::encode(&target.path),
        "replacements": count,
        "additions": change.additions,
        "deletions": change.deletions,
    });
    let crlf =
        crlf.then_some("the lines of this file end with CRLF: `old` was found so, and `new` was written so");
    let notes: Vec<&str> = crlf.into_iter().chain(overtaken.then_some(UNSEEN)).collect();
    if !notes.is_empty() {
        data["note"] = json!(notes.join("; "));
    }
    Ok(data)
}

/// A file's content after the replacement.
struct Edited {
    text: String,
    count: usize,
    /// By the file's own line ends, not those of `old`.
    crlf: bool,
}

enum Fault {
    NotFound,
    Count(usize),
}

impl Replacement {
    /// Exact bytes first. A file with CRLF line ends may be named with plain ones, and then gets its own back.
    fn apply(&self, content: &str) -> Result<Edited, Fault> {
        let mut pair = (Cow::Borrowed(&*self.old), Cow::Borrowed(&*self.new));
        let mut count = content.matches(&*pair.0).count();
        let crlf =
            count == 0 && self.old.contains('\n') && !self.old.contains('\r') && content.contains("\r\n");
        if crlf {
            pair = (with_crlf(&self.old).into(), with_crlf(&self.new).into());
            count = content.matches(&*pair.0).count();
        }
        match count {
            0 => Err(Fault::NotFound),
            _ if count as u64 != self.expected => Err(Fault::Count(count)),
            _ => Ok(Edited { text: content.replace(&*pair.0, &pair.1), count, crlf }),
        }
    }
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

impl Fault {
    /// For before anybody allowed a look into the file.
    fn plainly(&self, target: &Target, replacement: &Replacement) -> ToolError {
        let path = target.path.display();
        match self {
            Self::NotFound => {
                ToolError::new(ToolCode::OldNotFound, format!("`old` is not in {path}: read the file again"))
            }
            Self::Count(count) => {
                let expected = replacement.expected;
                let message = format!(
                    "`old` occurs {count} times in {path}, not {expected}: add surrounding lines to `old`, or set \
                     `expected_replacements` to {count}"
                );
                ToolError::new(ToolCode::ReplacementCountMismatch, message)
            }
        }
    }

    /// With what helps to get it right.
    fn helpfully(&self, target: &Target, replacement: &Replacement, content: &str) -> ToolError {
        let mut error = self.plainly(target, replacement);
        match self {
            Self::NotFound => {
                if let Some(near) = nearest::region(content, &replacement.old) {
                    error.message = format!("`old` is not in {}. {near}", target.path.display());
                }
            }
            Self::Count(_) => {
                let lines = nearest::lines_of(content, &replacement.old);
                if !lines.is_empty() {
                    error.message = format!("{} (lines {lines})", error.message);
                }
            }
        }
        error
    }
}
