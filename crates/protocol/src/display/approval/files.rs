//! Which files a question is about, and what its title and its diff say of them already: nothing is said twice.

use std::path::Path;

use super::View;
use crate::change::Operation;
use crate::facts;
use crate::policy::{Action, ApprovalRequest, Preview, Target};
use crate::typeset::diff::{self, Head};
use crate::typeset::format;

/// What a tool that only looks does, by its permission key, and what a yes for good would cover of it: the folder alone, or
/// what lies below it too.
fn look(tool: &str) -> (&'static str, &'static str) {
    let is = |facts: &facts::ToolFacts| tool == facts.permission.key;
    match () {
        () if is(&facts::LIST) => (facts::LIST.permission.key, "listing this folder, not what lies below it"),
        () if is(&facts::GREP) => ("search", "searches here and in what lies below"),
        () if is(&facts::GLOB) => ("find files in", "finding files here and below, by their names alone"),
        () => (facts::READ.permission.key, "exactly this file"),
    }
}

pub(super) fn looks(tool: &str) -> &'static str {
    look(tool).0
}

pub(super) fn looked_at(tool: &str, targets: &[Target]) -> &'static str {
    if targets.len() == 1 { look(tool).1 } else { "exactly these files" }
}

/// `4 files? (+5 -6)`: what the heads of the diffs say together.
pub(super) fn total(diffs: &str) -> Option<String> {
    let heads = diff::heads(diffs);
    let sum = |of: fn(&Head<'_>) -> usize| heads.iter().map(of).sum::<usize>();
    let (come, gone) = (sum(|head| head.additions), sum(|head| head.deletions));
    (!heads.is_empty()).then(|| format!("{}? (+{come} -{gone})", format::count(heads.len(), "file")))
}

/// What a file is called before the change that moves it.
pub(super) fn moved_from(request: &ApprovalRequest) -> Option<&Path> {
    match (&request.preview, &request.action) {
        (Preview::Change { path, operation: Operation::Renamed, .. }, Action::Write { targets, .. }) => {
            match targets.as_slice() {
                [one, other] if one.path == *path => Some(&other.path),
                [one, other] if other.path == *path => Some(&one.path),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The title or the diff names this file of the workspace, by the name that is written.
pub(super) fn is_said(
    request: &ApprovalRequest,
    targets: &[Target],
    target: &Target,
    view: View<'_>,
) -> bool {
    let named = match (&request.preview, &request.action) {
        (Preview::Change { path, .. }, _) => {
            *path == target.path || moved_from(request) == Some(&target.path)
        }
        (Preview::Text { text }, Action::Write { .. }) => {
            let name = view.path(&target.path);
            diff::heads(text).iter().any(|head| head.path == name || head.from == Some(name.as_str()))
        }
        (_, Action::Read { .. }) => targets.len() == 1 && target.exists,
        (Preview::None | Preview::Command { .. } | Preview::Text { .. }, _) => false,
    };
    named && target.inside
}
