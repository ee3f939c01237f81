//! Commands that no model called for: what a user typed with `!`, what a slash command wants, what checks the work.
//! They pass the same gate and are shown live.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use zdx_protocol::record::{Shell, ShellEnd};
use zdx_protocol::{
    Action, Arguments, Event, NoticeLevel, Origin, Outcome, Preview, ToolCall, ToolCode, ToolError,
    TurnState, TurnSummary, Usage,
};

use super::TurnIo;
use super::approve::{Gate, Plan, gate};
use crate::tools::{CommandOutput, End, RunOptions, ShellError};

const PROGRESS_QUEUE: usize = 64;

/// `!command`: one user message with what was typed, one assistant message with what came of it.
pub async fn run_for_user(typed: &str, command: &str, io: &mut TurnIo<'_>) -> TurnSummary {
    let start = Instant::now();
    let turn = io.emit.transcript().turns + 1;
    io.emit.emit(Event::TurnStarted { turn, prompt: typed.to_owned() }).await;
    io.emit.emit(Event::StateChanged { state: TurnState::ToolRunning }).await;
    let id = format!("shell-{turn}");
    let (text, end, denied) = match run_gated(&id, command, Origin::User, io.tools.timeout, io).await {
        Ok(output) => {
            tell_ending(&output.end, io).await;
            (report(command, &output), shell_end(&output.end), 0)
        }
        Err(error) => {
            let denied = tell_refusal(None, &error, io).await;
            let text = format!("$ {command}\nnot run: {}", error.message);
            (text, ShellEnd::NotRun { why: error.message }, u32::from(denied))
        }
    };
    let shell = Shell { command: command.to_owned(), end };
    io.emit.emit(Event::ShellFinished { text: text.clone(), shell }).await;
    let outcome = if io.cancel.is_cancelled() { Outcome::Interrupted } else { Outcome::Completed };
    if outcome == Outcome::Interrupted {
        io.emit.emit(Event::Interrupted).await;
    }
    io.emit.emit(Event::StateChanged { state: TurnState::Done }).await;
    io.emit.sync().await;
    let duration_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    TurnSummary { outcome, text, usage: Usage::default(), denied, duration_ms }
}

/// A command that was not run.
pub struct Refused {
    /// Stands in its place.
    pub text: String,
    /// By the guard; not by a person who was asked.
    pub denied: bool,
}

/// What a slash command's own command says, to be put in its place.
pub async fn output_of(id: &str, command: &str, io: &mut TurnIo<'_>) -> Result<String, Refused> {
    match run_gated(id, command, Origin::Model, io.tools.timeout, io).await {
        Ok(output) if output.end == End::Exited(0) => Ok(output.stdout.text),
        Ok(output) => Ok(report(command, &output)),
        Err(error) => {
            let denied = tell_refusal(Some(command), &error, io).await;
            Err(Refused { text: format!("(`{command}` was not run: {})", error.message), denied })
        }
    }
}

/// Says why a command was not run, and whether it was denied: whoever said no himself, or stopped it, knows.
async fn tell_refusal(command: Option<&str>, error: &ToolError, io: &mut TurnIo<'_>) -> bool {
    let known = matches!(error.code, ToolCode::Rejected | ToolCode::Interrupted);
    if !known {
        let what = command.map(|command| format!("`{command}` was ")).unwrap_or_default();
        io.emit.notice(NoticeLevel::Warning, format!("{what}not run: {}", error.message)).await;
    }
    !known
}

/// The output was shown as it came; how it ended is told when it did not end well.
async fn tell_ending(end: &End, io: &mut TurnIo<'_>) {
    if !matches!(end, End::Exited(0) | End::Cancelled) {
        io.emit.notice(NoticeLevel::Info, ending(end)).await;
    }
}

/// Judged, asked about where needed, run with its output shown as it comes.
pub async fn run_gated(
    id: &str,
    command: &str,
    origin: Origin,
    timeout: Option<Duration>,
    io: &mut TurnIo<'_>,
) -> Result<CommandOutput, ToolError> {
    let cwd = io.tools.workspace.root().to_owned();
    let action = Action::Command { command: command.to_owned(), cwd: cwd.clone(), origin };
    let preview = Preview::Command { command: command.to_owned() };
    // What a question names; there is no call of a model behind it.
    let call = ToolCall {
        id: id.to_owned(),
        name: "bash".to_owned(),
        arguments: Arguments::Object(serde_json::Map::new()),
    };
    match gate(io, &call, Plan { action: &action, preview: &preview, doomed: None }).await {
        Gate::Run => {}
        Gate::Refused(error) | Gate::Failed(error) => return Err(error),
        Gate::Interrupted => return Err(ToolError::new(ToolCode::Interrupted, "interrupted")),
    }
    if !io.tools.workspace.is_in_place() {
        return Err(ToolError::new(ToolCode::ExecError, ShellError::Moved(cwd).to_string()));
    }
    io.emit.sync().await;
    io.emit.emit(Event::ToolStarted { id: id.to_owned(), name: "bash".to_owned() }).await;
    let (progress, mut chunks) = mpsc::channel(PROGRESS_QUEUE);
    let shell = std::sync::Arc::clone(&io.tools.shell);
    let options =
        RunOptions { id: id.to_owned(), cwd, timeout, cancel: io.cancel.clone(), progress: Some(progress) };
    let run = shell.run(command, options);
    tokio::pin!(run);
    let output = loop {
        tokio::select! {
            biased;
            Some(text) = chunks.recv() => io.emit.emit(Event::ShellOutput { text }).await,
            output = &mut run => break output,
        }
    };
    // What came with the end is shown too.
    while let Ok(text) = chunks.try_recv() {
        io.emit.emit(Event::ShellOutput { text }).await;
    }
    output.map_err(|error| ToolError::new(ToolCode::ExecError, error.to_string()))
}

/// Command, exit code and output as one text, for a model to read.
pub fn report(command: &str, output: &CommandOutput) -> String {
    let mut text = format!("$ {command}\n{}", ending(&output.end));
    for (name, captured) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !captured.text.is_empty() {
            text.push_str(&format!("\n{name}:\n{}", captured.text.trim_end_matches('\n')));
        }
    }
    text
}

/// The same for readers of the session.
fn shell_end(end: &End) -> ShellEnd {
    match end {
        End::Exited(code) => ShellEnd::Exited { exit_code: *code },
        End::Signalled(signal) => ShellEnd::Signalled { signal: *signal },
        End::TimedOut(after) => {
            ShellEnd::TimedOut { after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX) }
        }
        End::Cancelled => ShellEnd::Interrupted,
    }
}

fn ending(end: &End) -> String {
    match end {
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(signal) => format!("killed by signal {signal}"),
        End::TimedOut(after) => format!("stopped after {} s, the time limit", after.as_secs()),
        End::Cancelled => "interrupted".to_owned(),
    }
}
