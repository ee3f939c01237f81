//! What a grant covers, in words: at the question before it is given, and in lists of what was given.

use super::Part;
use super::page::{INDENT, Page};
use crate::policy::{Action, ApprovalRequest, Granting};
use crate::typeset::visible_line;

/// A grant as a list names it. What it covers exactly is its own name.
pub fn grant_words(grant: &str) -> String {
    match Granting::of(grant) {
        Granting::Exactly(grant) => visible_line(grant),
        wider @ (Granting::Commands(_) | Granting::Edits) => covered(wider),
    }
}

/// Whether this is meant: named by itself, by what a list shows of it, or commands by their text alone.
pub fn names_grant(typed: &str, grant: &str) -> bool {
    let text = match Granting::of(grant) {
        Granting::Exactly(grant) => grant.strip_prefix("bash "),
        Granting::Commands(words) => Some(words),
        Granting::Edits => None,
    };
    typed == grant || typed == visible_line(grant) || typed == grant_words(grant) || text == Some(typed)
}

/// What it covers, and what it does not although one might think so.
pub(super) fn covered(granting: Granting<'_>) -> String {
    match granting {
        Granting::Exactly(grant) => visible_line(grant),
        Granting::Commands(words) => format!("every command that begins with `{}`", visible_line(words)),
        Granting::Edits => "every change that a tool makes to a file of this workspace".to_owned(),
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
            "made, changed, moved or deleted by write, edit and patch; protected files, AGENTS.md and CLAUDE.md are \
             still asked about",
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
            Action::Task { .. } => self.labelled(Part::Grant, "always", "allows every task for this agent"),
            Action::Skill { .. } => self.labelled(Part::Grant, "always", "allows this skill, and no other"),
            Action::Mcp { .. } => {
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
            Action::Write { targets, .. } => {
                for target in targets {
                    let text = format!("every change to {}", self.view.path(&target.path));
                    self.wrapped(Part::Grant, INDENT, &text);
                }
            }
            Action::Task { agent } => {
                self.wrapped(Part::Grant, INDENT, &format!("every task for the agent {agent}"));
            }
            Action::Mcp { server, tool, .. } => {
                self.wrapped(
                    Part::Grant,
                    INDENT,
                    &format!("every call of {tool} of the MCP server {server}"),
                );
            }
            Action::Read { .. } | Action::Skill { .. } | Action::Todo => {
                self.wrapped(Part::Grant, INDENT, grant);
            }
        }
    }
}
