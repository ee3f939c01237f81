//! How a run of zdx ends, and the one `match` that turns it into an exit code. Prints nothing.

use std::io;

use zdx_protocol::{ErrorKind, Outcome};

use crate::signals::Caught;

#[derive(Debug)]
pub enum Ending {
    Completed,
    /// It went wrong, and the user has been told why.
    Failed,
    /// The command line makes no sense, and the user has been told why.
    Usage,
    Signalled(Caught),
    /// Whoever read our stdout has enough of it: what every filter treats as a normal end.
    ReaderGone,
}

impl Ending {
    pub fn code(&self) -> u8 {
        match self {
            Self::Completed | Self::ReaderGone => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Signalled(Caught::Interrupt) => 130,
            Self::Signalled(Caught::Terminate) => 143,
            Self::Signalled(Caught::HangUp) => 129,
        }
    }
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Interrupted => Self::Signalled(Caught::Interrupt),
            Outcome::MaxSteps | Outcome::RepeatedCalls | Outcome::CheckFailed | Outcome::Error => {
                Self::Failed
            }
        }
    }
}

/// Why a command could not do its work; the message is still to be shown.
#[derive(Debug)]
pub enum Failure {
    Usage(String),
    Runtime(String),
    /// The engine could not do it, and said what kind of thing was in the way.
    Refused(ErrorKind, String),
    /// stdout could not be written.
    Output(io::Error),
}

impl Failure {
    pub fn usage(message: impl ToString) -> Self {
        Self::Usage(message.to_string())
    }

    pub fn runtime(message: impl ToString) -> Self {
        Self::Runtime(message.to_string())
    }

    pub fn ending(&self) -> Ending {
        match self {
            Self::Usage(_) => Ending::Usage,
            Self::Runtime(_) | Self::Refused(..) => Ending::Failed,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Ending::ReaderGone,
            Self::Output(_) => Ending::Failed,
        }
    }

    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Usage(_) => ErrorKind::Config,
            Self::Refused(kind, _) => *kind,
            Self::Runtime(_) | Self::Output(_) => ErrorKind::Internal,
        }
    }

    /// What to tell the user, or nothing when silence is right.
    pub fn message(&self) -> Option<String> {
        match self {
            Self::Usage(message) | Self::Runtime(message) | Self::Refused(_, message) => {
                Some(message.clone())
            }
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
            Self::Output(error) => Some(format!("cannot write to stdout: {}", reason(error))),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// An error's own words without the number that only programmers read.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

impl From<Ending> for std::process::ExitCode {
    fn from(ending: Ending) -> Self {
        ending.code().into()
    }
}
