//! `list`: a folder as a tree, to a depth.
//! When there is too much to show, what lies deepest is left out first.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use zdx_protocol::facts::LIST;
use zdx_protocol::{Action, Target, ToolError, ToolSpec};

use super::input::ToolInput;
use super::walk::{self, FileKind, FileTree, FirstEntries, SortKey, WalkStep};
use super::{PreparedCall, Tool, ToolContext, ToolRunContext};
use zdx_workspace::workspace::Workspace;

const DEPTH: u64 = 2;
const MOST_ENTRIES: usize = 400;

pub(super) struct ListTool {
    spec: ToolSpec,
}

impl Default for ListTool {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(LIST.name),
            description: Cow::Borrowed(
                "List a folder as an indented tree, folders with a trailing slash. What .gitignore names and dot files are \
                 left out.",
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The working folder if absent."},
                    "depth": {"type": "integer", "minimum": 1, "default": DEPTH},
                    "hidden": {"type": "boolean", "description": "Dot files too."}
                },
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for ListTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let mut input = ToolInput::new(&LIST, input);
        let path = input.optional_text("path")?.unwrap_or_else(|| ".".to_owned());
        let depth = usize::try_from(input.count("depth")?.unwrap_or(DEPTH)).unwrap_or(usize::MAX);
        let hidden = input.flag("hidden")?.unwrap_or(false);
        let target = cx.workspace.resolve(&path)?;
        let action = Action::Read { tool: LIST.permission.key.to_owned(), targets: vec![target.clone()] };
        let cx = cx.clone();
        let run = move |run: ToolRunContext| {
            let work = move |workspace: &Workspace, stop: &CancellationToken| {
                list(workspace, &target, depth, hidden, stop)
            };
            walk::search(cx, run, work).boxed()
        };
        Ok(PreparedCall::looking(action, Box::new(run)))
    }
}

/// Shallow entries come first, so that they are what is kept; and whose folder is kept, as it lies above.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ListedFile {
    depth: usize,
    key: SortKey,
    kind: FileKind,
}

fn list(
    workspace: &Workspace,
    target: &Target,
    depth: usize,
    hidden: bool,
    stop: &CancellationToken,
) -> Result<Value, ToolError> {
    walk::folder(target)?;
    let found = Mutex::new(FirstEntries::new(MOST_ENTRIES));
    let unreadable = FileTree::new(workspace, target, hidden).depth(depth).walk(stop, || {
        |entry| {
            let entry =
                ListedFile { depth: entry.depth, key: SortKey::new(entry.relative), kind: entry.kind };
            found.lock().unwrap_or_else(PoisonError::into_inner).add(entry);
            WalkStep::Continue
        }
    });
    let (mut entries, total) = found.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
    entries.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    let mut text = String::new();
    for entry in &entries {
        draw(&mut text, entry, &target.path);
    }
    let truncated = entries.len() < total;
    if truncated {
        let left = total - entries.len();
        let _ = writeln!(text, "[{left} more entries, the deepest, are not shown: list a folder of these]");
    }
    let mut data = json!({
        "path": walk::shown(workspace, &target.path),
        "entries": text,
        "total": total,
        "truncated": truncated,
    });
    if unreadable > 0 {
        data["unreadable"] = json!(unreadable);
    }
    Ok(data)
}

fn draw(text: &mut String, entry: &ListedFile, root: &Path) {
    let path = entry.key.path();
    let name = path.file_name().map(walk::shown_name).unwrap_or_default();
    let indent = "  ".repeat(entry.depth - 1);
    let _ = match entry.kind {
        FileKind::Folder => writeln!(text, "{indent}{name}/"),
        FileKind::File => writeln!(text, "{indent}{name}"),
        FileKind::Link => {
            let to = root.join(&path).read_link().map(|to| walk::shown_name(to.as_os_str()));
            writeln!(text, "{indent}{name} -> {}", to.unwrap_or_default())
        }
        FileKind::Other => writeln!(text, "{indent}{name} (no regular file)"),
    };
}
