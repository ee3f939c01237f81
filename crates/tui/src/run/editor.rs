//! A text in the user's own editor.

use std::io::Write;
use std::process::Stdio;

use tokio::process::Command;
use tokio::sync::mpsc;

use super::{Front, Stop};
use crate::app::Effect;
use crate::term::TermInput;

/// Without one of his own, what every system has.
const ANY: &str = "vi";

impl Front {
    /// The text as an editor leaves it. The conversation goes on behind it; who stops the editor stops us too, and what ends
    /// us ends the wait.
    pub(super) async fn edited<S: Stop>(
        &mut self,
        text: &str,
        stops: &mut mpsc::Receiver<S>,
    ) -> Result<Result<String, String>, S> {
        let editor = self.editor.clone();
        let edit = edit(editor.as_deref(), text);
        tokio::pin!(edit);
        loop {
            self.send_waiting();
            tokio::select! {
                edited = &mut edit => return Ok(edited),
                Some(input) = self.typed.recv() => {
                    if input == TermInput::Stop {
                        self.screen.stop_here();
                    }
                }
                Some(event) = self.engine.events.recv() => {
                    for effect in self.take_in(event) {
                        if let Effect::Send(purpose, command) = effect {
                            self.unsent.push_back((purpose, command));
                        }
                    }
                }
                Some(stop) = stops.recv() => {
                    if !stop.is_interrupt() {
                        return Err(stop);
                    }
                }
            }
        }
    }
}

/// What the text was made into, or why it stays as it is.
async fn edit(editor: Option<&str>, text: &str) -> Result<String, String> {
    let editor = editor.filter(|editor| !editor.trim().is_empty()).unwrap_or(ANY);
    let failed = |error: std::io::Error| format!("cannot hand the text to {editor}: {error}");
    // Markdown, so that editors wrap and colour it; only for our eyes.
    let mut file = tempfile::Builder::new().prefix("zdx-").suffix(".md").tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    // By a shell: people set `code --wait`.
    let ended = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sh")
        .arg(file.path())
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status()
        .await
        .map_err(failed)?;
    if !ended.success() {
        return Err(format!(
            "{editor} ended with {ended}; the text is as it was (set $VISUAL or $EDITOR to yours)"
        ));
    }
    let written =
        std::fs::read(file.path()).map_err(|error| format!("cannot read what {editor} wrote: {error}"))?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}
