//! What a grant covers, in words: at the question before it is given, and in lists of what was given.

use std::path::Path;

use super::page::{INDENT, Page};
use super::{Part, files};
use crate::check::CheckGrant;
use crate::facts::{self, ToolFacts};
use crate::policy::{Action, ApprovalRequest, CommandFamily, Granting};
use crate::typeset::format::path_from;
use crate::typeset::visible_line;

/// A grant as lists and questions name it: files of the workspace from there, where it is known.
pub fn grant_words(grant: &str, root: Option<&Path>) -> String {
    if let Some(check) = CheckGrant::of(grant) {
        return check_words(&check);
    }
    match Granting::of(grant) {
        Granting::Exactly(grant) => exactly(grant, root),
        Granting::Folder(path) => format!("the folder {}", path_from(Path::new(path), root)),
        wider @ (Granting::Commands(_) | Granting::Edits) => covered(wider),
    }
}

fn check_words(check: &CheckGrant<'_>) -> String {
    match check {
        CheckGrant::Always { command, files } => {
            let names: Vec<String> = files.iter().map(|(path, _)| visible_line(path)).collect();
            let command = visible_line(command);
            match names.as_slice() {
                [] => format!("the check {command} after each turn that edits code"),
                names => format!(
                    "the check {command} after each turn that edits code, with {} as it is",
                    names.join(", ")
                ),
            }
        }
        CheckGrant::Never { command } => format!("never offering the check {}", visible_line(command)),
    }
}

/// That a folder outside was added, as a notice.
pub fn folder_added(path: &Path) -> String {
    format!("added for this session: {}", path_from(path, None))
}

fn exactly(grant: &str, root: Option<&Path>) -> String {
    let Some((key, what)) = grant.split_once(' ') else { return visible_line(grant) };
    let is = |tools: &[&ToolFacts]| tools.iter().any(|tool| tool.permission.key == key);
    let files =
        || what.split('\n').map(|file| path_from(Path::new(file), root)).collect::<Vec<_>>().join(", ");
    let name = visible_line(what);
    if is(&[&facts::BASH]) {
        format!("the command {name}")
    } else if is(&[&facts::WRITE]) {
        format!("changes to {}", files())
    } else if is(&[&facts::PATCH]) {
        format!("patches of {}", files())
    } else if is(&[&facts::READ, &facts::LIST, &facts::GLOB, &facts::GREP]) {
        format!("{key} of {}", files())
    } else if is(&[&facts::SKILL]) {
        format!("the skill {name}")
    } else if is(&[&facts::TASK]) {
        format!("tasks for the agent {name}")
    } else if let Some((server, tool)) = name.split_once("__").filter(|_| key == Action::MCP_KEY) {
        let tool = tool.split_once(" #").map_or(tool, |(tool, _)| tool);
        format!("calls of {tool} of the MCP server {server}")
    } else {
        visible_line(grant)
    }
}

/// What needs no question where somebody begins or goes on, a row for what holds how long; /policy has all of it.
pub fn allowed_rows(session: &[String], project: &[String], root: &Path) -> Vec<String> {
    const SHOWN: usize = 3;
    let row = |(head, place, grants): (&str, &str, &[String])| match grants {
        [] => None,
        few if few.len() <= SHOWN => {
            let words: Vec<String> = few.iter().map(|grant| grant_words(grant, Some(root))).collect();
            Some(format!("{head} in this {place}: {} · /policy, /revoke", words.join(" · ")))
        }
        many => Some(format!("{} things {head} in this {place} · /policy, /revoke", many.len())),
    };
    let never = |grant: &str| matches!(CheckGrant::of(grant), Some(CheckGrant::Never { .. }));
    let project: Vec<String> = project.iter().filter(|grant| !never(grant)).cloned().collect();
    let rows = [("still allowed", "session", session), ("allowed", "project", project.as_slice())];
    rows.into_iter().filter_map(row).collect()
}

/// Whether this is meant: named by itself, by what a list shows of it, or commands by their text alone.
pub fn names_grant(typed: &str, grant: &str, root: Option<&Path>) -> bool {
    if let Some(check) = CheckGrant::of(grant) {
        return typed == grant || typed == check_words(&check) || typed == visible_line(check.command());
    }
    let text = match Granting::of(grant) {
        Granting::Exactly(grant) => grant.strip_prefix("bash "),
        Granting::Commands(family) => Some(family.words),
        Granting::Folder(path) => Some(path),
        Granting::Edits => None,
    };
    typed == grant || typed == visible_line(grant) || typed == grant_words(grant, root) || text == Some(typed)
}

/// Those of a list that are meant: named by themselves, by number, or all together; else the one whose words hold what was typed.
pub fn meant_grants(named: &str, all: &[String], root: &Path) -> Result<Vec<String>, String> {
    let exact: Vec<String> =
        all.iter().filter(|grant| names_grant(named, grant, Some(root))).cloned().collect();
    if !exact.is_empty() {
        return Ok(exact);
    }
    if named == "all" {
        return Ok(all.to_vec());
    }
    if let Ok(number) = named.parse::<usize>() {
        return Ok(number.checked_sub(1).and_then(|at| all.get(at)).into_iter().cloned().collect());
    }
    let (words, typed) = (|grant: &String| grant_words(grant, Some(root)), named.to_lowercase());
    let mut like: Vec<String> =
        all.iter().filter(|grant| words(grant).to_lowercase().contains(&typed)).cloned().collect();
    like.sort_unstable();
    like.dedup();
    match like.as_slice() {
        [] | [_] => Ok(like),
        several => {
            let words: Vec<String> = several.iter().map(words).collect();
            Err(format!("{named:?} may mean: {}; say more of it", words.join(" · ")))
        }
    }
}

/// What it covers, and what it does not although one might think so.
pub(super) fn covered(granting: Granting<'_>) -> String {
    match granting {
        Granting::Exactly(grant) => visible_line(grant),
        Granting::Commands(family) => {
            format!("commands that begin with {}{}", visible_line(family.words), bounds(family))
        }
        Granting::Edits => "every edit, except of protected files".to_owned(),
        Granting::Folder(path) => format!("this once, and adds the folder {}", visible_line(path)),
    }
}

/// Where a family of commands is granted, and until when.
pub(super) fn bounds(family: CommandFamily<'_>) -> String {
    let Some(binding) = family.binding else {
        return " (granted by an earlier version; asked about again)".to_owned();
    };
    let place = match binding.folder {
        "." => " here".to_owned(),
        folder => format!(" in {}", visible_line(folder)),
    };
    match binding.files {
        "" => place,
        files => format!("{place}, until {} changes", visible_line(&files.replace(',', " or "))),
    }
}

/// The small print of a wider grant.
pub(super) fn limits(granting: Granting<'_>) -> Option<&'static str> {
    match granting {
        Granting::Exactly(_) => None,
        Granting::Commands(_) => Some(
            "with other arguments too, and whatever code of the workspace that runs; not with files outside, other \
             programs, redirections, or options that zdx does not know to be harmless",
        ),
        Granting::Edits => Some(
            "files of this workspace and of added folders made, changed, moved or deleted by write, edit and patch; \
             protected files, AGENTS.md and CLAUDE.md are still asked about",
        ),
        Granting::Folder(_) => Some(
            "for this session it counts like the workspace: reading is not asked about again, changes are as usual",
        ),
    }
}

/// A command is remembered under the name of its tool.
fn granted_command(grant: &str) -> &str {
    grant.strip_prefix("bash ").unwrap_or(grant)
}

impl Page<'_> {
    pub(super) fn grant(&mut self, request: &ApprovalRequest, grant: &str) {
        match &request.action {
            Action::Command { command, .. } if command == granted_command(grant) => {
                self.labelled(Part::Grant, "always", "allows exactly this command, nothing wider");
            }
            Action::Write { targets, .. } if targets.len() == 1 => {
                let new = targets.iter().all(|target| !target.exists);
                let what =
                    if new { "this file and every later change to it" } else { "every change to this file" };
                self.labelled(Part::Grant, "always", &format!("allows {what}, and to no other"));
            }
            Action::Read { tool, targets } if targets.len() == 1 => {
                let what = files::looked_at(tool, targets);
                self.labelled(Part::Grant, "always", &format!("allows {what}"));
            }
            Action::Task { .. } => self.labelled(Part::Grant, "always", "allows every task for this agent"),
            Action::Skill { .. } => self.labelled(Part::Grant, "always", "allows this skill, and no other"),
            Action::Mcp { .. } | Action::Fetch { .. } | Action::Remote { .. } => {
                self.labelled(
                    Part::Grant,
                    "always",
                    "allows every call of this tool as it describes itself now",
                );
            }
            Action::Command { .. } | Action::Read { .. } | Action::Write { .. } | Action::Todo => {
                self.labelled(Part::Grant, "always", "allows exactly, and nothing wider:");
                self.granted(request, grant);
            }
        }
    }

    /// What would be remembered, word for word.
    pub(super) fn granted(&mut self, request: &ApprovalRequest, grant: &str) {
        match &request.action {
            Action::Command { .. } => self.exact(Part::Grant, granted_command(grant)),
            Action::Read { .. }
            | Action::Write { .. }
            | Action::Mcp { .. }
            | Action::Fetch { .. }
            | Action::Remote { .. }
            | Action::Skill { .. }
            | Action::Task { .. }
            | Action::Todo => {
                self.wrapped(Part::Grant, INDENT, &grant_words(grant, self.view.root));
            }
        }
    }
}
