//! `patch`: several changes to several files, all or none.
//! Applies a hunk where it belongs without a doubt, and nowhere else.

use std::borrow::Cow;
use std::fmt::Write as _;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use zdx_protocol::display::diff::CUT;
use zdx_protocol::facts::PATCH;
use zdx_protocol::redact::MASK;
use zdx_protocol::{Action, Operation, Preview, ToolError, ToolSpec};

use super::change::{LineChange, UNSEEN, changed_since};
use super::input::{ToolInput, invalid};
use super::walk::shown;
use super::{PreparedCall, Tool, ToolContext, off_thread_locked};
use crate::patch_format::parse;
use zdx_workspace::text::first;
use zdx_workspace::workspace::Workspace;

mod commit;
mod place;
mod plan;

use plan::{PatchPlan, PatchTargets, PlannedFile};
use zdx_workspace::ContentVersion;

const PREVIEW: usize = 32 * 1024;

pub(super) struct PatchTool {
    spec: ToolSpec,
}

impl Default for PatchTool {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(PATCH.name),
            description: Cow::Borrowed(
                "Change several places or files at once, all or none. `patch` is a unified diff, or *** Begin Patch, *** \
                 Update File: p (or Add File, Delete File; *** Move to: q), @@ with a line above the place, lines with ' ', \
                 '-', '+', *** End Patch. Old lines must match one place; give 3 lines of context.",
            ),
            schema: json!({
                "type": "object",
                "properties": {"patch": {"type": "string"}},
                "required": ["patch"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for PatchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let text = ToolInput::new(&PATCH, input).text("patch")?;
        if text.trim().is_empty() {
            return Err(invalid("`patch` is empty"));
        }
        let sections = parse(&text)?;
        let names = PatchTargets::resolve(&cx.workspace, &sections)?;
        let targets = names.targets();
        // Where it does not fit, a mask in it is the likeliest reason.
        let mut added = text.contains(MASK);
        let (states, preview, doomed) = match PatchPlan::make(&cx.workspace, &sections, &names) {
            Ok(plan) => {
                added = plan.adds_mask();
                (
                    Some(plan.files.iter().map(|file| state(&plan, file)).collect()),
                    preview(&cx.workspace, &plan),
                    None,
                )
            }
            Err(fault) => (None, Preview::None, Some(fault.plainly)),
        };
        let workspace = std::sync::Arc::clone(&cx.workspace);
        let paths = targets.iter().map(|target| target.path.clone()).collect();
        let run = move |run| {
            let work = move |workspace: &Workspace| {
                let plan =
                    PatchPlan::make(workspace, &sections, &names).map_err(plan::PlanError::helpfully)?;
                unchanged(workspace, &plan, states)?;
                commit::commit(workspace, &plan)?;
                note_seen(workspace, &plan);
                Ok(result(workspace, &plan))
            };
            off_thread_locked(run, workspace, paths, work).boxed()
        };
        let action = Action::Write { tool: PATCH.permission.key.to_owned(), targets };
        Ok(PreparedCall { action, preview, doomed, line: None, adds_mask: added, run: Box::new(run) })
    }
}

/// A file when the patch was looked at, and the lines of it that were shown to come and go.
struct ShownState {
    version: ContentVersion,
    lines: Option<Vec<String>>,
}

fn state(plan: &PatchPlan, file: &PlannedFile) -> ShownState {
    let change = plan.change(file).map(|(_, lines)| lines);
    let lines = change.as_ref().and_then(LineChange::shown_lines);
    let lines = lines.map(|lines| lines.into_iter().map(str::to_owned).collect());
    ShownState { version: ContentVersion::of(file.before.as_deref()), lines }
}

/// `states` is none when there was no plan then: what was not shown is not done. Files that other calls of this session
/// changed meanwhile are patched if the lines that come and go are the ones that were shown.
fn unchanged(
    workspace: &Workspace,
    plan: &PatchPlan,
    states: Option<Vec<ShownState>>,
) -> Result<(), ToolError> {
    let states = states.unwrap_or_default();
    let holds = |at: usize, file: &PlannedFile| {
        let now = ContentVersion::of(file.before.as_deref());
        states.get(at).is_some_and(|shown| {
            shown.version == now
                || (workspace.ledger().leads(&file.target.path, shown.version, now)
                    && plan.change(file).is_some_and(|(_, lines)| lines.is_as_shown(shown.lines.as_deref())))
        })
    };
    match plan.files.iter().enumerate().find(|(at, file)| !holds(*at, file)) {
        Some((_, file)) => Err(changed_since(&file.target.path)),
        None => Ok(()),
    }
}

fn preview(workspace: &Workspace, plan: &PatchPlan) -> Preview {
    let mut changes = plan.files.iter().filter_map(|file| Some((file, plan.change(file)?)));
    let (Some((file, (operation, lines))), None) = (changes.next(), changes.next()) else {
        return Preview::Text { text: combined(workspace, plan) };
    };
    Preview::Change {
        path: file.target.path.clone(),
        operation,
        additions: lines.additions,
        deletions: lines.deletions,
        diff: lines.diff,
    }
}

/// The diffs of all files, as far as there is room; each file is at least named.
fn combined(workspace: &Workspace, plan: &PatchPlan) -> String {
    let mut text = String::new();
    for file in &plan.files {
        let Some((operation, lines)) = plan.change(file) else { continue };
        let path = shown(workspace, &file.target.path);
        let from = moved_from(workspace, plan, file, operation).map(|from| format!(" from {from}"));
        let from = from.unwrap_or_default();
        let _ = writeln!(text, "{path} ({operation}{from}, +{} -{})", lines.additions, lines.deletions);
        let room = PREVIEW.saturating_sub(text.len());
        text.push_str(first(&lines.diff, room));
        if lines.diff.len() > room {
            let _ = writeln!(text, "\n{CUT}");
        }
    }
    text
}

/// What a file was called before.
fn moved_from(
    workspace: &Workspace,
    plan: &PatchPlan,
    file: &PlannedFile,
    operation: Operation,
) -> Option<String> {
    let from = file.moved_from.filter(|_| operation == Operation::Renamed)?;
    Some(shown(workspace, &plan.files[from].target.path))
}

fn note_seen(workspace: &Workspace, plan: &PatchPlan) {
    for file in &plan.files {
        let seen = match (plan.is_overtaken(file), file.moved_from) {
            (false, _) => ContentVersion::of(file.after.as_deref()),
            // What came meanwhile the model still has not seen, wherever it lies now.
            (true, Some(_)) => ContentVersion::ABSENT,
            (true, None) => continue,
        };
        workspace.ledger().note_seen(&file.target.path, Some(seen));
    }
}

fn result(workspace: &Workspace, plan: &PatchPlan) -> Value {
    let file = |file: &PlannedFile| {
        let (operation, lines) = plan.change(file)?;
        let mut data = json!({
            "path": shown(workspace, &file.target.path),
            "operation": operation,
            "additions": lines.additions,
            "deletions": lines.deletions,
        });
        if let Some(from) = moved_from(workspace, plan, file, operation) {
            data["from"] = json!(from);
        }
        if plan.is_overtaken(file) {
            data["note"] = json!(UNSEEN);
        }
        Some(data)
    };
    json!({"files": plan.files.iter().filter_map(file).collect::<Vec<_>>()})
}
