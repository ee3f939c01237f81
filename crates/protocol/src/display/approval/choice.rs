//! Answers spelled out, for a front end that shows each on a row of its own.

use super::{Answer, files, granted};
use crate::policy::{Action, ApprovalRequest, Granting};
use crate::typeset::visible_line;

/// What an answer to this request does, in a few words.
pub fn choice(request: &ApprovalRequest, answer: Answer) -> String {
    match answer {
        Answer::AllowOnce => "yes, once".to_owned(),
        Answer::Always => format!("always: {}", exactly(&request.action)),
        Answer::Wider => match request.wider.as_deref().map(Granting::of) {
            Some(Granting::Commands(family)) => {
                format!("always: every `{} …`{}", visible_line(family.words), granted::bounds(family))
            }
            Some(Granting::Folder(path)) => format!("yes, and add the folder {}", visible_line(path)),
            Some(wider @ (Granting::Exactly(_) | Granting::Edits)) => {
                format!("always: {}", granted::covered(wider))
            }
            None => "always, and more than this".to_owned(),
        },
        Answer::AllEdits => "every edit this session, except of protected files".to_owned(),
        Answer::AddFolder => {
            format!("{} for this session", choice(request, Answer::Wider))
        }
        Answer::Preset => match request.approval {
            Some(now) => format!("change the approval mode (now {})", now.name()),
            None => "change the approval mode".to_owned(),
        },
        Answer::Switch(preset) => format!("{}: {}", preset.name(), preset.meaning()),
        Answer::Session => "for this session".to_owned(),
        Answer::Project => "for this project, until it is revoked".to_owned(),
        Answer::Back => "back".to_owned(),
        Answer::Deny => "no".to_owned(),
        Answer::DenyWithWord => "no, and tell the model why".to_owned(),
        Answer::Whole => "show all of it".to_owned(),
    }
}

fn exactly(action: &Action) -> &'static str {
    match action {
        Action::Command { .. } => "exactly this command",
        Action::Read { tool, targets } => files::looked_at(tool, targets),
        Action::Write { targets, .. } => match targets.as_slice() {
            [only] if !only.exists => "this file, and every later change to it",
            [_] => "every change to this file",
            _ => "every change to these files together",
        },
        Action::Mcp { .. } | Action::Fetch { .. } | Action::Remote { .. } => "every call of this tool",
        Action::Skill { .. } => "this skill",
        Action::Task { .. } => "every task for this agent",
        Action::Todo => "every change of the list",
    }
}
