//! `glob`: files by the pattern of their name.
//! Shows the first by path and says how many there are.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use zdx_protocol::facts::GLOB;
use zdx_protocol::{Action, Target, ToolError, ToolSpec};

use super::input::ToolInput;
use super::walk::{self, FileKind, FileTree, FirstEntries, GlobPatterns, SortKey, WalkStep};
use super::{PreparedCall, Tool, ToolContext, ToolRunContext};
use zdx_workspace::text::LIMIT;
use zdx_workspace::workspace::Workspace;

const SHOWN: usize = 200;
const MOST_SHOWN: u64 = 2000;

pub(super) struct GlobTool {
    spec: ToolSpec,
}

impl Default for GlobTool {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(GLOB.name),
            description: Cow::Borrowed(
                "Find files by name: `*.rs` at any depth, `src/**/*.rs` from the folder on, `src/` for folders. Sorted by \
                 path; what .gitignore names and dot files are left out.",
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "path": {"type": "string", "description": "Folder to look in; the working folder if absent."},
                    "hidden": {"type": "boolean", "description": "Dot files too."}
                },
                "required": ["pattern"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for GlobTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let mut input = ToolInput::new(&GLOB, input);
        let pattern = input.text("pattern")?;
        let path = input.optional_text("path")?;
        let hidden = input.flag("hidden")?.unwrap_or_else(|| names_hidden(&pattern));
        let most = input.count("limit")?.map_or(SHOWN, |limit| limit.min(MOST_SHOWN) as usize);
        let (folder, rest) = walk::split(&pattern);
        let named = folder.map(str::to_owned).or(path).unwrap_or_else(|| ".".to_owned());
        let target = cx.workspace.resolve(&named)?;
        let pattern = GlobPatterns::new(&target.path, &[rest.to_owned()])?;
        let action = Action::Read { tool: GLOB.permission.key.to_owned(), targets: vec![target.clone()] };
        let cx = cx.clone();
        let run = move |run: ToolRunContext| {
            let work = move |workspace: &Workspace, stop: &CancellationToken| {
                glob(workspace, &target, pattern, hidden, most, stop)
            };
            walk::search(cx, run, work).boxed()
        };
        Ok(PreparedCall::looking(action, Box::new(run)))
    }
}

/// `.github/*.yml` asks for dot files by naming one.
fn names_hidden(pattern: &str) -> bool {
    pattern.split('/').any(|part| part.starts_with('.') && part != "." && part != "..")
}

fn glob(
    workspace: &Workspace,
    target: &Target,
    pattern: GlobPatterns,
    hidden: bool,
    most: usize,
    stop: &CancellationToken,
) -> Result<Value, ToolError> {
    walk::folder(target)?;
    let found = Mutex::new(FirstEntries::new(most));
    FileTree::new(workspace, target, hidden).walk(stop, || {
        |entry| {
            let folder = entry.kind == FileKind::Folder;
            if pattern.matches(entry.path, folder) {
                let item = (SortKey::new(entry.relative), folder);
                found.lock().unwrap_or_else(PoisonError::into_inner).add(item);
            }
            match folder && pattern.excludes(entry.path, true) {
                true => WalkStep::Skip,
                false => WalkStep::Continue,
            }
        }
    });
    let (items, total) = found.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
    let mut bytes = 0;
    let paths: Vec<String> = items
        .into_iter()
        .map(|(key, folder)| {
            let path = walk::shown(workspace, &target.path.join(key.path()));
            if folder { format!("{path}/") } else { path }
        })
        .take_while(|path| {
            bytes += path.len() + 3;
            bytes <= LIMIT
        })
        .collect();
    let truncated = paths.len() < total;
    let mut data = json!({"paths": paths, "total": total, "truncated": truncated});
    if truncated {
        let shown = paths.len();
        data["note"] = json!(format!("the first {shown} of {total} by path: narrow the pattern or `path`"));
    }
    Ok(data)
}
