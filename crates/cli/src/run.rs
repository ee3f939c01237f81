//! `zdx exec`: one prompt, one turn, one ending.

use zdx_protocol::{Command, ErrorKind, Event, NoticeLevel};

use crate::exit::{Ending, Failure};
use crate::front::{Closing, Front, Why};
use crate::pump::{Cause, ENGINE_GONE, Nobody, Stage, TurnEnd, unless_signalled};
use crate::settings::Settings;
use crate::signals::{Caught, Signals};
use crate::start::{self, Audience};
use crate::stdin::{self, Asked};

const NO_PROMPT: &str =
    "there is no prompt; give one with `zdx exec -p \"…\"`, or pipe it in: `echo \"…\" | zdx exec`";

pub async fn exec(settings: &Settings, asked: Result<Asked, Failure>) -> Result<Ending, Failure> {
    let mut signals = Signals::listen().map_err(Failure::runtime)?;
    let mut stage = Stage::new(Front::new(settings)).map_err(Failure::runtime)?;
    let end = match asked {
        Ok(asked) => one_turn(settings, asked, &mut stage, &mut signals).await,
        Err(failure) => Err(Stopped::Failure(failure)),
    };
    let error = match &end {
        Ok(end) => end.complaint(),
        // Nothing has begun: there is no result to tell.
        Err(Stopped::Failure(Failure::Usage(message))) => return Err(Failure::usage(message)),
        Err(Stopped::Failure(failure)) => failure.why(),
        Err(Stopped::Signal(_)) => None,
    };
    if let Some(error) = &error {
        stage.fail(&error.message);
    }
    let closing = Closing {
        summary: end.as_ref().ok().and_then(|end| end.summary.as_ref()),
        interrupted: matches!(&end, Err(Stopped::Signal(_)) | Ok(TurnEnd { cause: Cause::Signal(_), .. })),
        error,
    };
    let unwritten = stage.close(&closing, &mut signals).await;
    let ending = match end {
        Ok(end) => end.ending(),
        Err(Stopped::Failure(failure)) => failure.ending(),
        Err(Stopped::Signal(caught)) => Ending::Signalled(caught),
    };
    match (ending, unwritten) {
        (Ending::Completed, Some(error)) => Err(Failure::Output(error)),
        (ending, _) => Ok(ending),
    }
}

enum Stopped {
    Failure(Failure),
    Signal(Caught),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Caught> for Stopped {
    fn from(caught: Caught) -> Self {
        Self::Signal(caught)
    }
}

async fn one_turn(
    settings: &Settings,
    asked: Asked,
    stage: &mut Stage,
    signals: &mut Signals,
) -> Result<TurnEnd, Stopped> {
    let gathered =
        unless_signalled(signals, stdin::gather(asked, settings.terminal.stdin, NO_PROMPT)).await??;
    let mut engine = start::engine(settings, Audience::OnePrompt);
    let opening = engine.send(Command::Open(settings.open.clone())).await;
    match stage.until_over(opening, &mut engine, signals).await? {
        Some(Event::Error { kind, message, .. }) => return Err(Failure::Refused(kind, message).into()),
        Some(_) => {}
        None => return Err(Failure::runtime(ENGINE_GONE).into()),
    }
    for message in gathered.notices {
        stage.show(&Event::Notice { level: NoticeLevel::Warning, message, kept: false });
    }
    let prompt = engine.send(Command::Prompt(gathered.prompt)).await;
    let end = stage.turn(prompt, &mut engine, signals, &mut Nobody).await;
    if end.summary.is_some() {
        stage.shut_down(&mut engine, signals).await;
    }
    Ok(end)
}

impl TurnEnd {
    pub fn ending(&self) -> Ending {
        match (&self.cause, &self.summary) {
            (Cause::Finished | Cause::Signal(Caught::Interrupt), Some(summary)) => summary.outcome.into(),
            (Cause::Finished | Cause::EngineGone, _) => Ending::Failed,
            (Cause::Signal(caught), _) => Ending::Signalled(*caught),
            (Cause::Output(error), _) if error.kind() == std::io::ErrorKind::BrokenPipe => Ending::ReaderGone,
            (Cause::Output(_), _) => Ending::Failed,
        }
    }

    /// What the user is not told by the events themselves.
    pub fn complaint(&self) -> Option<Why> {
        match &self.cause {
            Cause::Finished => None,
            Cause::Signal(_) if self.summary.is_some() => None,
            Cause::Signal(_) => {
                let message = "left before the turn had stopped; the session may lack its end";
                Some(Why::new(ErrorKind::Interrupted, message))
            }
            Cause::Output(error) => Failure::Output(std::io::Error::from(error.kind())).why(),
            Cause::EngineGone => Some(Why::new(ErrorKind::Internal, ENGINE_GONE)),
        }
    }
}

impl Failure {
    pub fn why(&self) -> Option<Why> {
        self.message().map(|message| Why::new(self.kind(), message))
    }
}
