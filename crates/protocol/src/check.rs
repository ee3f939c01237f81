//! The check of a session's edits: whether it runs after each turn that edited code, is offered, or is left alone, and
//! what a session's records say of the checks so far.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::outcome::{CheckResult, Checked, Outcome};

/// The checks of a session and the changes since, as far as its records tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckHistory {
    /// The last check that came to a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<CheckVerdict>,
    /// Code was edited and no check has come to a verdict since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited_code: bool,
    /// The end of no turn has dealt with the last changes: it was interrupted, or zdx was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsettled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckVerdict {
    pub command: String,
    pub passed: bool,
}

impl CheckHistory {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Notes that a tool changed this file.
    pub fn note_change(&mut self, path: &Path) {
        let code = !is_prose(path);
        self.edited_code |= code;
        self.unsettled |= code;
    }

    pub fn note_checked(&mut self, checked: &Checked) {
        let passed = match checked.result {
            CheckResult::Passed => true,
            CheckResult::Failed | CheckResult::GivenUp => false,
            CheckResult::NotRun { .. } => return,
        };
        self.last = Some(CheckVerdict { command: checked.command.clone(), passed });
        (self.edited_code, self.unsettled) = (false, false);
    }

    pub fn note_turn_end(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Completed | Outcome::CheckFailed => self.unsettled = false,
            Outcome::Interrupted | Outcome::MaxSteps | Outcome::RepeatedCalls | Outcome::Error => {}
        }
    }

    /// Notes that files were put back to an earlier state, or a later one.
    pub fn note_files_restored(&mut self) {
        self.unsettled = true;
    }
}

/// Prose and notes need no compiler.
pub fn is_prose(path: &Path) -> bool {
    let prose = ["md", "markdown", "txt", "rst", "adoc", "log"];
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| prose.contains(&ending))
}

/// An answer to the offer of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckChoice {
    /// Once, now.
    Run,
    /// After each turn that edits code, in this folder.
    Always,
    Never,
}

impl CheckChoice {
    pub const ALL: [Self; 3] = [Self::Run, Self::Always, Self::Never];

    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Always => "always",
            Self::Never => "never",
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Run => "once, now",
            Self::Always => "after each turn that edits code in this folder",
            Self::Never => "do not offer it in this folder again",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStanding {
    /// By `validation.command`: it runs after each turn that edited code.
    Configured,
    /// Guessed from the folder: it runs when the user says so.
    Offered,
    Always,
    Never,
}

/// How the check of a session stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckState {
    pub command: String,
    pub standing: CheckStanding,
    /// Files that it runs and that are not as they were when the user said always.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

/// An answer that is remembered for a folder, as it stands among its grants. No tool has a name with which one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckGrant<'a> {
    Always {
        command: &'a str,
        /// The files that the command names, each with its hash.
        files: Vec<(&'a str, &'a str)>,
    },
    Never {
        command: &'a str,
    },
}

impl<'a> CheckGrant<'a> {
    const ALWAYS: &'static str = "check ";
    const NEVER: &'static str = "nocheck ";

    pub fn of(grant: &'a str) -> Option<Self> {
        if let Some(command) = grant.strip_prefix(Self::NEVER) {
            return Some(Self::Never { command });
        }
        let mut lines = grant.strip_prefix(Self::ALWAYS)?.split('\n');
        let command = lines.next()?;
        let files = lines.map(|line| line.rsplit_once(' ')).collect::<Option<_>>()?;
        Some(Self::Always { command, files })
    }

    pub fn spelled(&self) -> String {
        match self {
            Self::Always { command, files } => {
                let files: String = files.iter().map(|(path, hash)| format!("\n{path} {hash}")).collect();
                format!("{}{command}{files}", Self::ALWAYS)
            }
            Self::Never { command } => format!("{}{command}", Self::NEVER),
        }
    }

    pub fn command(&self) -> &'a str {
        match self {
            Self::Always { command, .. } | Self::Never { command } => command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remembered_answer_is_read_as_it_was_spelled() {
        for grant in [
            CheckGrant::Never { command: "cargo check" },
            CheckGrant::Always { command: "cargo check", files: Vec::new() },
            CheckGrant::Always { command: "npm test", files: vec![("my web/package.json", "sha256:00")] },
        ] {
            assert_eq!(CheckGrant::of(&grant.spelled()), Some(grant.clone()), "{}", grant.spelled());
        }
        for other in ["bash cargo check", "every cargo", "edits", "check npm test\nhashless"] {
            assert_eq!(CheckGrant::of(other), None, "{other}");
        }
    }
}
