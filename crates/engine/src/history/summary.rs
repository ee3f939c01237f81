//! A session in a few lines: the model's, or those that the session can tell of itself.

use std::fmt::Write as _;
use std::path::Path;

use zdx_protocol::path_text;
use zdx_protocol::todo::checklist;

use super::ask::{Asker, NoAnswer};
use crate::activity::SessionActivity;
use zdx_workspace::text::first;

/// What the model is shown of a session: it must fit a small context.
const SHOWN: usize = 10 << 10;
const LISTED: usize = 20;
const EXCERPT: usize = 600;

const SYSTEM: &str = "You summarise a coding session for the person who ran it. Say what was asked for, what was done, \
which files matter, and what is left to do. Plain text, at most fifteen short lines, no preamble. Say nothing that \
the material does not show.";

pub struct Summary {
    pub text: String,
    /// Why it is not the model's.
    pub fallback: Option<NoAnswer>,
}

pub async fn summarize(activity: &SessionActivity, asker: &Asker) -> Summary {
    match asker.ask(activity.model.as_deref(), SYSTEM, &material(activity, None)).await {
        Ok(answer) => Summary { text: answer.trim().to_owned(), fallback: None },
        Err(why) => Summary { text: from_session(activity), fallback: Some(why) },
    }
}

/// The session as a model is shown it; paths as seen from `root`, or from where the session worked.
pub(super) fn material(activity: &SessionActivity, root: Option<&Path>) -> String {
    let root = root.or(activity.root.as_deref());
    let mut text = String::new();
    if let Some(prompt) = activity.first_prompt() {
        let _ = writeln!(text, "FIRST REQUEST:\n{}\n", first(prompt, 2 * EXCERPT));
    }
    section(&mut text, "FILES CHANGED", activity.changed().iter().map(|path| relative(path, root)));
    section(&mut text, "FILES READ OR CHANGED", activity.files().iter().map(|path| relative(path, root)));
    section(&mut text, "COMMANDS THAT SUCCEEDED", activity.commands().into_iter());
    section(&mut text, "TODO LIST", activity.todos.iter().map(ToString::to_string));
    let left = SHOWN.saturating_sub(text.len());
    let _ = write!(text, "THE LAST TURNS:\n{}", activity.recent(left));
    text
}

fn section(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.take(LISTED).collect();
    if !items.is_empty() {
        let _ = writeln!(
            text,
            "{title}:\n{}\n",
            items.iter().map(|item| first(item, 200)).collect::<Vec<_>>().join("\n")
        );
    }
}

fn from_session(activity: &SessionActivity) -> String {
    let root = activity.root.as_deref();
    let mut text = String::new();
    let _ = writeln!(text, "First request: {}", excerpt(activity.first_prompt().unwrap_or("(none)")));
    if let Some(last) = activity.last_prompt() {
        let _ = writeln!(text, "Last request: {}", excerpt(last));
    }
    let changed: Vec<String> =
        activity.changed().iter().take(LISTED).map(|path| relative(path, root)).collect();
    if !changed.is_empty() {
        let _ = writeln!(text, "Files changed: {}", changed.join(", "));
    }
    if !activity.todos.is_empty() {
        let _ = writeln!(text, "Todos:\n{}", checklist(&activity.todos));
    }
    if let Some(answer) = activity.last_answer() {
        let _ = writeln!(text, "Last answer: {}", excerpt(answer));
    }
    text.trim_end().to_owned()
}

/// The beginning of a text, on one line.
pub(super) fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let cut = first(&line, EXCERPT);
    if cut.len() < line.len() { format!("{cut}…") } else { line }
}

/// A path as seen from `root`, with `..` where it lies elsewhere.
pub(super) fn relative(path: &Path, root: Option<&Path>) -> String {
    let Some(root) = root else { return path_text::shown(path).into_owned() };
    let shared = path.components().zip(root.components()).take_while(|(one, other)| one == other).count();
    if shared <= 1 {
        return path_text::shown(path).into_owned();
    }
    let up = root.components().skip(shared).map(|_| Path::new("..").as_os_str());
    let down = path.components().skip(shared).map(|part| part.as_os_str());
    path_text::shown(&up.chain(down).collect::<std::path::PathBuf>()).into_owned()
}
