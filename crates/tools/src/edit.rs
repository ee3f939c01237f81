//! `edit`: one exact replacement in an existing file.
//! Guesses nothing: what is not there byte for byte, line ends aside, is an error that helps to find it. Knows bytes, not
//! text: a file that is not all UTF-8 keeps what is not replaced.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use zdx_protocol::facts::EDIT;
use zdx_protocol::redact::MASK;
use zdx_protocol::{Action, Operation, Preview, Target, ToolCode, ToolError, ToolSpec, path_text};

use super::change::{
    LineChange, MOST, PreparedFile, UNSEEN, adds_mask, changed_since, is_utf16, lost_bytes, put,
};
use super::input::{ToolInput, invalid};
use super::{PreparedCall, Tool, ToolContext, off_thread_locked};
use zdx_workspace::text;
use zdx_workspace::workspace::{FileError, FilePermissions, Workspace, near_names};

pub(super) mod nearest;
mod replacement;

use replacement::{EditedContent, Replacement, ReplacementError};
use zdx_workspace::{ContentVersion, SeenVersions};

pub(super) struct EditTool {
    spec: ToolSpec,
}

impl Default for EditTool {
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

/// The file as it was when the edit was prepared, and what was shown of the edit.
struct EditSnapshot {
    before: Option<ContentVersion>,
    /// The lines that were to come and go.
    shown: Option<Vec<String>>,
    known: SeenVersions,
}

impl EditSnapshot {
    /// Other calls of this session may have changed the file meanwhile. The edit is applied to what they left if it replaces
    /// the very lines that were shown; after anybody else's change it is not.
    fn holds(&self, workspace: &Workspace, target: &Target, content: &[u8], change: &LineChange) -> bool {
        let now = ContentVersion::of(Some(content));
        self.before.is_some_and(|before| {
            before == now
                || (workspace.ledger().leads(&target.path, before, now)
                    && change.is_as_shown(self.shown.as_deref()))
        })
    }
}

impl Tool for EditTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let mut input = ToolInput::new(&EDIT, input);
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
        let before = content.as_deref().ok().map(|content| ContentVersion::of(Some(content)));
        let known = cx.workspace.ledger().seen(&target.path);
        // Of text that is not found, a mask in it is the likeliest reason.
        let mut added = replacement.old.contains(MASK) || replacement.new.contains(MASK);
        let mut shown = None;
        let (preview, doomed) = match content.map(|content| (replacement.apply(&content), content)) {
            Ok((Ok(EditedContent { content: new, .. }), old)) => {
                added = adds_mask(&old, &new);
                let change = LineChange::between(&old, &new);
                shown = change.shown_lines().map(|lines| lines.into_iter().map(str::to_owned).collect());
                let doomed = keeps_bytes(&target, &old, &replacement).err();
                (change.preview(&target.path, Operation::Updated), doomed)
            }
            Ok((Err(fault), _)) => (Preview::None, Some(fault.plainly(&target, &replacement))),
            Err(error) => (Preview::None, Some(error)),
        };
        let action = Action::Write { tool: EDIT.permission.key.to_owned(), targets: vec![target.clone()] };
        let workspace = Arc::clone(&cx.workspace);
        let seen = EditSnapshot { before, shown, known };
        let run = move |run| {
            let paths = vec![target.path.clone()];
            let work = move |workspace: &Workspace| edit(workspace, &target, &seen, &replacement);
            off_thread_locked(run, workspace, paths, work).boxed()
        };
        Ok(PreparedCall { action, preview, doomed, line: None, adds_mask: added, run: Box::new(run) })
    }
}

fn load(workspace: &Workspace, target: &Target) -> Result<Vec<u8>, ToolError> {
    let content = workspace.read_file(target, MOST).map_err(|error| match error {
        FileError::Missing(_) => missing(target),
        other => other.or_code(ToolCode::ReadError),
    })?;
    let path = &target.path;
    let unfit = if text::is_utf16(&content) {
        is_utf16(path)
    } else if content.contains(&0) && std::str::from_utf8(&content).is_err() {
        format!("{} is a binary file and cannot be edited this way", path.display())
    } else {
        return Ok(content);
    };
    Err(ToolError::new(ToolCode::ReadError, unfit))
}

/// An edit keeps every byte around its place, so only U+FFFD that comes in can be meant for other bytes.
fn keeps_bytes(target: &Target, content: &[u8], replacement: &Replacement) -> Result<(), ToolError> {
    let count = |text: &str| text.matches('\u{fffd}').count();
    let adds = count(&replacement.new) > count(&replacement.old);
    match adds && (content.contains(&0) || std::str::from_utf8(content).is_err()) {
        true => Err(ToolError::new(ToolCode::WriteError, lost_bytes(&target.path))),
        false => Ok(()),
    }
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
    seen: &EditSnapshot,
    replacement: &Replacement,
) -> Result<Value, ToolError> {
    let content = load(workspace, target)?;
    let EditedContent { content: new, count, crlf } = match replacement.apply(&content) {
        Ok(edited) => edited,
        Err(_) if seen.shown.is_some() => return Err(changed_since(&target.path)),
        Err(fault) => return Err(fault.helpfully(target, replacement, &content)),
    };
    let change = LineChange::between(&content, &new);
    if !seen.holds(workspace, target, &content, &change) {
        return Err(changed_since(&target.path));
    }
    keeps_bytes(target, &content, replacement)?;
    let staged = workspace.stage(target, &new, FilePermissions::Keep);
    let now = ContentVersion::of(Some(&content));
    put(workspace, target, &PreparedFile::Version(now), staged, &new)?;
    let written = workspace.read_file(target, new.len() as u64);
    if !written.is_ok_and(|written| written == new) {
        let message = format!("{} does not hold what was written: read it again", target.path.display());
        return Err(ToolError::new(ToolCode::WriteError, message));
    }
    let overtaken = seen.known.is_overtaken_by(now);
    // What came meanwhile the model still has not seen.
    if !overtaken {
        workspace.ledger().note_seen(&target.path, Some(ContentVersion::of(Some(&new))));
    }
    let mut data = json!({
        "path": path_text::encode(&target.path),
        "replacements": count,
        "additions": change.additions,
        "deletions": change.deletions,
    });
    let crlf = crlf.then_some("the lines there end with CRLF: `old` was found so, and `new` was written so");
    let notes: Vec<&str> = crlf.into_iter().chain(overtaken.then_some(UNSEEN)).collect();
    if !notes.is_empty() {
        data["note"] = json!(notes.join("; "));
    }
    Ok(data)
}

impl ReplacementError {
    /// For before anybody allowed a look into the file.
    fn plainly(&self, target: &Target, replacement: &Replacement) -> ToolError {
        let path = target.path.display();
        match self {
            Self::NotFound => {
                ToolError::new(ToolCode::OldNotFound, format!("`old` is not in {path}: read the file again"))
            }
            Self::Count(count, _) => {
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
    fn helpfully(&self, target: &Target, replacement: &Replacement, content: &[u8]) -> ToolError {
        let mut error = self.plainly(target, replacement);
        match self {
            Self::NotFound => {
                let path = target.path.display();
                if let Some(near) = nearest::region(&String::from_utf8_lossy(content), &replacement.old) {
                    error.message = format!("`old` is not in {path}. {near}");
                }
                if replacement.old.contains('\u{fffd}') && std::str::from_utf8(content).is_err() {
                    error.message.push_str(
                        "\nU+FFFD stands for bytes there that are not UTF-8: leave it out of `old`, and name the text \
                         around it",
                    );
                }
            }
            Self::Count(_, starts) => {
                error.message = format!("{} (lines {})", error.message, nearest::lines_of(content, starts));
            }
        }
        error
    }
}
