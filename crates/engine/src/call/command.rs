//! Commands that no model called for: what a user typed with `!`, what a slash command wants, what checks the work.
//! They pass the same gate and live the same life as a model's calls; only who asked differs.

use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use zdx_protocol::facts::BASH;
use zdx_protocol::record::{Shell, ShellEnd, millis};
use zdx_protocol::{
    Action, Arguments, CallOrigin, Event, Origin, Outcome, Preview, ToolCall, ToolCode, ToolError, ToolOutput,
};

use super::PROGRESS_QUEUE;
use super::approve::{Gate, Proposed, gate};
use super::life::{self, Finish, Start};
use crate::call::{TurnIo, TurnResult};
use zdx_tools::shell::CapturedStream;
use zdx_tools::{BesideResult, CommandEnd, CommandOutput, RunOptions, ShellError, command_result};

/// A command and who wants it.
pub(crate) struct Wanted<'a> {
    pub id: String,
    pub command: &'a str,
    pub by: CallOrigin,
    /// Whose word it is to the guard: what a user configured or typed counts as his own.
    pub word: Origin,
    pub timeout: Option<Duration>,
}

/// Why a command did not run.
pub(crate) enum NotRun {
    /// The guard, or a fault on the way: the user has to be told why.
    Denied(ToolError),
    Failed(ToolError),
    /// Whoever said no, or stopped it, knows.
    Rejected(ToolError),
    Interrupted,
}

impl NotRun {
    fn error(&self) -> ToolError {
        match self {
            Self::Denied(error) | Self::Failed(error) | Self::Rejected(error) => error.clone(),
            Self::Interrupted => ToolError::new(ToolCode::NotRun, "interrupted"),
        }
    }

    /// Counts among what was refused.
    fn is_denied(&self) -> bool {
        matches!(self, Self::Denied(_) | Self::Failed(_))
    }

    pub(crate) fn message(&self) -> String {
        self.error().message
    }
}

/// Runs a user's `!command` within its turn.
pub(crate) async fn run_for_user(command: &str, io: &TurnIo) -> TurnResult {
    let wanted = Wanted {
        id: format!("shell-{}", io.session.events.transcript().turns),
        command,
        by: CallOrigin::User,
        word: Origin::User,
        timeout: io.session.state.tools.timeout,
    };
    let (text, shell, denied) = match run_gated(wanted, io).await {
        Ok((output, took)) => (report(command, &output), ran(command, &output, took), 0),
        Err(not_run) => {
            let ToolError { code, message: why } = not_run.error();
            let text = format!("$ {command}\nnot run: {why}");
            let end = ShellEnd::NotRun { why, code: Some(code) };
            let shell = Shell { command: command.to_owned(), end, duration_ms: None, order: Vec::new() };
            (text, shell, u32::from(not_run.is_denied()))
        }
    };
    io.session.events.emit(Event::ShellFinished { text: text.clone(), shell }).await;
    let outcome = if io.cancel.is_cancelled() { Outcome::Interrupted } else { Outcome::Completed };
    TurnResult { text, denied, ..TurnResult::from(outcome) }
}

/// A command that was not run.
pub(crate) struct Refused {
    /// Stands in its place.
    pub text: String,
    /// By the guard; not by a person who was asked.
    pub denied: bool,
}

/// What a slash command's own command says, to be put in its place.
pub(crate) async fn output_of(id: String, command: &str, io: &TurnIo) -> Result<String, Refused> {
    let timeout = io.session.state.tools.timeout;
    let wanted = Wanted { id, command, by: CallOrigin::Command, word: Origin::Model, timeout };
    match run_gated(wanted, io).await {
        Ok((output, _)) if output.end == CommandEnd::Exited(0) => Ok(output.stdout.text),
        Ok((output, _)) => Ok(report(command, &output)),
        Err(not_run) => {
            let text = format!("(`{command}` was not run: {})", not_run.message());
            Err(Refused { text, denied: not_run.is_denied() })
        }
    }
}

/// Judged, asked about where needed, run with its output told as it comes.
pub(crate) async fn run_gated(wanted: Wanted<'_>, io: &TurnIo) -> Result<(CommandOutput, Duration), NotRun> {
    let by = wanted.by;
    let command = Value::String(wanted.command.to_owned());
    let call = ToolCall {
        id: wanted.id.clone(),
        name: BASH.name.to_owned(),
        arguments: Arguments::Object(Map::from_iter([("command".to_owned(), command)])),
        signature: None,
    };
    life::requested(&call, by, io).await;
    let result = admitted(wanted, &call, io).await;
    let (output, took) = match &result {
        Ok((output, took)) => (command_result(Ok(output.clone())), *took),
        Err(not_run) => (ToolOutput::Err(not_run.error()), Duration::ZERO),
    };
    let beside = BesideResult::default();
    if let Ok((output, _)) = &result {
        beside.set(|beside| beside.order = output.order());
    }
    let finish = Finish { output, content: Vec::new(), diff: None, took, reads: None, beside: beside.take() };
    life::finished(&call, by, finish, io).await;
    result
}

/// What came of it, and how long it ran: the time that somebody took to answer is not the command's.
async fn admitted(
    wanted: Wanted<'_>,
    call: &ToolCall,
    io: &TurnIo,
) -> Result<(CommandOutput, Duration), NotRun> {
    let Wanted { id, command, by, word, timeout } = wanted;
    let cwd = io.session.root().to_owned();
    let action = Action::Command { command: command.to_owned(), cwd: cwd.clone(), origin: word };
    let preview = Preview::Command { command: command.to_owned() };
    match gate(io, call, Proposed { action: &action, preview: &preview, doomed: None }).await {
        Gate::Run { .. } => {}
        Gate::Denied(error) => return Err(NotRun::Denied(error)),
        Gate::Rejected(error) => return Err(NotRun::Rejected(error)),
        Gate::Failed(error) => return Err(NotRun::Failed(error)),
        Gate::Interrupted => return Err(NotRun::Interrupted),
    }
    let failed = |error: ShellError| NotRun::Failed(ToolError::new(ToolCode::ExecError, error.to_string()));
    if !io.session.workspace().is_in_place() {
        return Err(failed(ShellError::Moved(cwd)));
    }
    io.session.events.sync().await;
    life::started(call, by, Start { action: &action, preview: &preview, line: None }, io).await;
    let begun = Instant::now();
    let (progress, mut chunks) = mpsc::channel(PROGRESS_QUEUE);
    let shell = std::sync::Arc::clone(&io.session.state.tools.shell);
    let options =
        RunOptions { id: id.clone(), cwd, timeout, cancel: io.cancel.clone(), progress: Some(progress) };
    let run = shell.run(command, options);
    tokio::pin!(run);
    let tell = |chunk: String| io.session.events.emit(Event::ToolProgress { id: id.clone(), chunk });
    let output = loop {
        tokio::select! {
            biased;
            Some(chunk) = chunks.recv() => tell(chunk).await,
            output = &mut run => break output,
        }
    };
    // What came with the end is shown too.
    while let Ok(chunk) = chunks.try_recv() {
        tell(chunk).await;
    }
    output.map(|output| (output, begun.elapsed())).map_err(failed)
}

/// Command, exit code and output as one text, for a model to read.
pub(crate) fn report(command: &str, output: &CommandOutput) -> String {
    let mut text = format!("$ {command}\n{}", ending(&output.end));
    for (name, captured) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !captured.text.is_empty() {
            text.push_str(&format!("\n{name}:\n{}", captured.text.trim_end_matches('\n')));
        }
    }
    text
}

/// The same for readers of the session.
fn ran(command: &str, output: &CommandOutput, took: Duration) -> Shell {
    let lines = |captured: &CapturedStream| u32::try_from(captured.text.lines().count()).unwrap_or(u32::MAX);
    let mut order = output.order();
    // Where one stream ends and the other begins must be known all the same.
    if order.is_empty() && !output.stdout.text.is_empty() && !output.stderr.text.is_empty() {
        order = vec![lines(&output.stdout), lines(&output.stderr)];
    }
    let duration_ms = Some(millis(took));
    Shell { command: command.to_owned(), end: shell_end(&output.end), duration_ms, order }
}

fn shell_end(end: &CommandEnd) -> ShellEnd {
    match end {
        CommandEnd::Exited(code) => ShellEnd::Exited { exit_code: *code },
        CommandEnd::Signalled(signal) => ShellEnd::Signalled { signal: *signal },
        CommandEnd::TimedOut(after) => ShellEnd::TimedOut { after_ms: millis(*after) },
        CommandEnd::Cancelled => ShellEnd::Interrupted,
    }
}

pub(crate) fn ending(end: &CommandEnd) -> String {
    match end {
        CommandEnd::Exited(code) => format!("exit code {code}"),
        CommandEnd::Signalled(signal) => format!("killed by signal {signal}"),
        CommandEnd::TimedOut(after) => format!("stopped after {} s, the time limit", after.as_secs()),
        CommandEnd::Cancelled => "interrupted".to_owned(),
    }
}
