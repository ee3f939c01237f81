//! `write`: a whole file, in one step.
//! Content that is there already is left alone, and what the model has not seen is not overwritten.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use zdx_protocol::facts::WRITE;
use zdx_protocol::{Action, Operation, Preview, Target, ToolCode, ToolError, ToolSpec, path_text};

use super::change::{
    LineChange, PreparedFile, adds_mask, changed_since, is_unseen, look, lost_bytes, replace, unseen,
};
use super::input::ToolInput;
use super::{PreparedCall, Tool, ToolContext, off_thread_locked};
use zdx_workspace::text::loses_bytes;
use zdx_workspace::workspace::{FileError, Workspace};
use zdx_workspace::{ContentHash, ContentVersion, SeenVersions};

pub(super) struct WriteTool {
    spec: ToolSpec,
}

impl Default for WriteTool {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(WRITE.name),
            description: Cow::Borrowed(
                "Write a whole file: creates it and its folders, or replaces what it held. To change part of a file use \
                 edit.",
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Absolute, or relative to the working folder."},
                    "content": {"type": "string", "description": "All of the new content."}
                },
                "required": ["path", "content"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for WriteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let mut input = ToolInput::new(&WRITE, input);
        let (path, content) = (input.text("path")?, input.text("content")?);
        let target = cx.workspace.resolve(&path).map_err(FileError::not_written)?;
        let action = Action::Write { tool: WRITE.permission.key.to_owned(), targets: vec![target.clone()] };
        let mut added = adds_mask(&[], content.as_bytes());
        // As of now: what a call before this one reads, the model has not read yet.
        let known = cx.workspace.ledger().seen(&target.path);
        let (before, preview, doomed) = match look(&cx.workspace, &target) {
            Ok((before, old)) => {
                added = adds_mask(old.as_deref().unwrap_or_default(), content.as_bytes());
                let change = LineChange::between(old.as_deref().unwrap_or_default(), content.as_bytes());
                let operation = operation(&before, old.as_deref(), &content);
                let lost = operation != Operation::Unchanged && is_unseen(&known, &before);
                let doomed = lost.then(|| unseen(&target.path));
                let doomed = doomed.or_else(|| keeps_bytes(&target, old.as_deref(), &content).err());
                (Some(before), change.preview(&target.path, operation), doomed)
            }
            Err(error) => (None, Preview::None, Some(error.not_written())),
        };
        let workspace = Arc::clone(&cx.workspace);
        let run = move |run| {
            let paths = vec![target.path.clone()];
            let work = move |workspace: &Workspace| write(workspace, &target, before, &known, &content);
            off_thread_locked(run, workspace, paths, work).boxed()
        };
        Ok(PreparedCall { action, preview, doomed, line: None, adds_mask: added, run: Box::new(run) })
    }
}

fn operation(before: &PreparedFile, old: Option<&[u8]>, content: &str) -> Operation {
    match before {
        PreparedFile::Version(ContentVersion::ABSENT) => Operation::Created,
        PreparedFile::Version(_) if old == Some(content.as_bytes()) => Operation::Unchanged,
        PreparedFile::Version(_) | PreparedFile::Large(_) => Operation::Updated,
    }
}

fn keeps_bytes(target: &Target, old: Option<&[u8]>, content: &str) -> Result<(), ToolError> {
    match loses_bytes(old.unwrap_or_default(), content.as_bytes()) {
        true => Err(ToolError::new(ToolCode::WriteError, lost_bytes(&target.path))),
        false => Ok(()),
    }
}

/// `prepared` is what the file was then; none if it could not be told, which must still be so.
fn write(
    workspace: &Workspace,
    target: &Target,
    prepared: Option<PreparedFile>,
    known: &SeenVersions,
    content: &str,
) -> Result<Value, ToolError> {
    let (before, old) = look(workspace, target).map_err(FileError::not_written)?;
    if prepared.as_ref() != Some(&before) {
        return Err(changed_since(&target.path));
    }
    let operation = operation(&before, old.as_deref(), content);
    if operation != Operation::Unchanged {
        if is_unseen(known, &before) {
            return Err(unseen(&target.path));
        }
        replace(workspace, target, &before, content.as_bytes())?;
    }
    workspace.ledger().note_seen(&target.path, Some(ContentHash::of(content.as_bytes()).into()));
    let change = LineChange::between(old.as_deref().unwrap_or_default(), content.as_bytes());
    let mut data = json!({
        "path": path_text::encode(&target.path),
        "bytes": content.len(),
        "created": operation == Operation::Created,
        "operation": operation,
        "additions": change.additions,
    });
    // Nobody counted the lines of a file too large to read.
    if !matches!(before, PreparedFile::Large(_)) {
        data["deletions"] = json!(change.deletions);
    }
    Ok(data)
}
