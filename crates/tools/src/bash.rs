//! `bash`: a command line, run by `sh` in the working folder.
//! Turns what the shell says into the envelope; how processes live and die is the shell's business.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use zdx_protocol::facts::{BASH, SO_FAR};
use zdx_protocol::{Action, Origin, Preview, ToolCode, ToolError, ToolOutput, ToolSpec, path_text};

use super::input::{ToolInput, invalid};
use super::shell::{CapturedStream, CommandEnd, CommandOutput, RunOptions, ShellError};
use super::{PreparedCall, Tool, ToolContext, ToolRunContext};
use zdx_workspace::text::last;

/// What an interrupted command's error repeats of its output.
const MOST_SO_FAR: usize = 2 * 1024;

pub(super) struct BashTool {
    spec: ToolSpec,
}

impl Default for BashTool {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(BASH.name),
            description: Cow::Borrowed(
                "Run a command line in the working folder with `sh -c`: POSIX sh, often dash, so no bashisms. Nothing \
                 can be typed into it. Each call starts anew: no cd or variable lasts. Long output comes back as its \
                 beginning and end, with the name of a file that holds all of it. What is started with & goes on \
                 running after the call.",
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "timeout_secs": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "Stop it after this long; never longer than the configured limit."
                    }
                },
                "required": ["command"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for BashTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let mut input = ToolInput::new(&BASH, input);
        let command = input.text("command")?;
        if command.trim().is_empty() {
            return Err(invalid("`command` is empty"));
        }
        let asked = input.count("timeout_secs")?.map(Duration::from_secs);
        let timeout = [asked, cx.timeout].into_iter().flatten().min();
        let cwd = cx.workspace.root().to_owned();
        let action = Action::Command { command: command.clone(), cwd: cwd.clone(), origin: Origin::Model };
        let preview = Preview::Command { command: command.clone() };
        let (shell, workspace) = (Arc::clone(&cx.shell), Arc::clone(&cx.workspace));
        let run = move |run: ToolRunContext| {
            let ToolRunContext { id, cancel, progress, beside, .. } = run;
            let options = RunOptions { id, cwd, timeout, cancel, progress: Some(progress) };
            async move {
                if !workspace.is_in_place() {
                    return envelope(Err(ShellError::Moved(options.cwd)));
                }
                let ran = shell.run(&command, options).await;
                if let Ok(output) = &ran {
                    beside.set(|beside| beside.order = output.order());
                }
                envelope(ran)
            }
            .boxed()
        };
        Ok(PreparedCall { action, preview, doomed: None, line: None, adds_mask: false, run: Box::new(run) })
    }
}

/// How a command ended, as its result tells it.
pub fn envelope(result: Result<CommandOutput, ShellError>) -> ToolOutput {
    let output = match result {
        Ok(output) => output,
        Err(error) => {
            let code = match error {
                ShellError::TooLong(_) | ShellError::Nul => ToolCode::InvalidInput,
                ShellError::NoFolder(_)
                | ShellError::Moved(_)
                | ShellError::Start { .. }
                | ShellError::Lost => ToolCode::ExecError,
            };
            return ToolOutput::error(code, error.to_string());
        }
    };
    let CommandOutput { stdout, mut stderr, end, background, .. } = output;
    let (exit_code, timed_out) = match end {
        CommandEnd::Exited(code) => (code, false),
        CommandEnd::Signalled(signal) => (128 + signal, false),
        CommandEnd::TimedOut(limit) => {
            append_line(&mut stderr.text, &timeout_message(limit));
            (-1, true)
        }
        CommandEnd::Cancelled => {
            return ToolOutput::error(ToolCode::Interrupted, interrupted_message(&stdout, &stderr));
        }
    };
    let mut data = json!({
        "stdout": stdout.text,
        "stderr": stderr.text,
        "exit_code": exit_code,
        "timed_out": timed_out,
    });
    // The rest is told only when there is something to tell.
    for (field, is_so) in [
        ("truncated", stdout.truncated || stderr.truncated),
        ("binary", stdout.binary || stderr.binary),
        ("background", background),
    ] {
        if is_so {
            data[field] = json!(true);
        }
    }
    let mut cut = Vec::new();
    for (field, stream) in [("stdout_file", stdout), ("stderr_file", stderr)] {
        if let Some(file) = &stream.file {
            data[field] = json!(path_text::encode(file));
        }
        cut.extend(stream.is_file_cut.then_some(field));
    }
    if !cut.is_empty() {
        let (files, have) = (cut.join(" and "), if cut.len() == 1 { "has" } else { "have" });
        data["not_kept"] = json!(format!("{files} {have} no more than the first 64 MiB"));
    }
    ToolOutput::Ok(data)
}

fn timeout_message(limit: Duration) -> String {
    let seconds = limit.as_secs_f64();
    format!("zdx: timed out after {seconds} s; the command and everything it started were stopped")
}

fn append_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
    text.push('\n');
}

fn interrupted_message(stdout: &CapturedStream, stderr: &CapturedStream) -> String {
    let mut message = "the command was interrupted and everything it started was stopped".to_owned();
    for (name, stream) in [("stdout", stdout), ("stderr", stderr)] {
        if !stream.text.is_empty() {
            message.push_str(&format!("\n{name}{SO_FAR}{}", last(&stream.text, MOST_SO_FAR)));
        }
    }
    message
}
