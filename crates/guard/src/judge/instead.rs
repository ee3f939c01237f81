//! The tool that would do what a command was refused for, so that a model goes on instead of trying other spellings.
//! Only words: a tool that would be held back as much is not named.

use zdx_protocol::facts::{self, ToolFacts};
use zdx_protocol::{Level, ReasonCode};

use super::{PartFinding, Weigher};

/// Programs, and the tool that does what they do.
static TOOLS: [(&[&str], &ToolFacts); 6] = [
    (&["cat", "head", "tail", "less", "more", "nl", "bat", "sed", "awk"], &facts::READ),
    (&["ls", "tree", "du"], &facts::LIST),
    (&["grep", "egrep", "fgrep", "rg", "ag", "ack"], &facts::GREP),
    (&["find", "fd", "locate"], &facts::GLOB),
    (&["touch", "tee", "mkdir"], &facts::WRITE),
    (&["rm", "unlink", "mv"], &facts::PATCH),
];

impl Weigher<'_> {
    /// "use the read tool instead", if there is such a tool for everything that stands against the command.
    pub(super) fn instead(&self, findings: &[PartFinding], level: Level) -> Option<String> {
        let mut tools: Vec<&str> = Vec::new();
        for finding in findings.iter().filter(|finding| finding.verdict == level) {
            let tool = tool_for(finding)?;
            let milder = match self.under_mode(self.cx.rules.tool(tool.permission.key).level) {
                Level::Allow => true,
                // Not confirmed every time, at least.
                Level::Ask => level == Level::Confirm,
                Level::Confirm | Level::Deny => false,
            };
            if !milder {
                return None;
            }
            if !tools.contains(&tool.name) {
                tools.push(tool.name);
            }
        }
        match tools.as_slice() {
            [] => None,
            [tool] => Some(format!("use the {tool} tool instead")),
            several => Some(format!("use the tools {} instead", several.join(" and "))),
        }
    }
}

fn tool_for(finding: &PartFinding) -> Option<&'static ToolFacts> {
    match finding.code {
        ReasonCode::Overwrite => return Some(&facts::WRITE),
        ReasonCode::ApprovalRequired
        | ReasonCode::Denied
        | ReasonCode::ListedCommand
        | ReasonCode::Destructive => {}
        // What is wrong with these is not the program: no other one may do it either.
        ReasonCode::Allowed
        | ReasonCode::Internal
        | ReasonCode::PathEscape
        | ReasonCode::SymlinkEscape
        | ReasonCode::ProtectedPath
        | ReasonCode::Instructions
        | ReasonCode::Forbidden
        | ReasonCode::Helper
        | ReasonCode::Opaque
        | ReasonCode::Unreadable
        | ReasonCode::HiddenCharacters
        | ReasonCode::TooLarge
        | ReasonCode::TooDeep => return None,
    }
    if ["it creates ", "it appends to "].iter().any(|effect| finding.reason.starts_with(effect)) {
        return Some(&facts::WRITE);
    }
    let mut words = finding.text.split_whitespace();
    let program = words.next()?;
    let option = |letters: &str| {
        let short = |word: &str| {
            word.starts_with('-') && !word.starts_with("--") && word.contains(|c| letters.contains(c))
        };
        finding.text.split_whitespace().skip(1).any(short)
    };
    match program {
        "sed" | "perl" if option("i") => return Some(&facts::EDIT),
        // Whole folders are not for that tool.
        "rm" if option("rR") => return None,
        _ => {}
    }
    TOOLS.iter().find(|(programs, _)| programs.contains(&program)).map(|(_, tool)| *tool)
}
