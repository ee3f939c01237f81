//! A call in one line for a person: `Ran cargo test`, how it ended, and what it brought. What is particular to a tool is
//! said by its row of [`crate::facts`]; one without a row is told by its name and fields.
//! Everything returned is safe to print; only [`brought`] has line breaks.

use std::path::Path;

use serde_json::Value;

use super::approval::grant_words;
use super::labels;
use crate::code::ToolCode;
use crate::facts::{self, ToolFacts};
use crate::policy::{Decision, GrantScope};
use crate::record::{Shell, ShellEnd};
use crate::tool::{ToolError, ToolOutput};
use crate::typeset::text::one_line_ends;
use crate::typeset::{plain, visible_line};

/// Why a call failed is told whole; only an absurd message loses its middle.
const MESSAGE_COLUMNS: usize = 2_000;

const REMOTE: &str = "Remote:";
/// Behind what is done by another agent's own program.
const REMOTELY: &str = " (remote)";

/// A call as a sentence without an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    pub doing: &'static str,
    pub done: &'static str,
    /// Of what was not carried out.
    pub plain: &'static str,
    pub subject: String,
    /// Several in a row may be told as one, counted in these.
    pub folds: Option<&'static str>,
}

impl Title {
    /// What it is about, whoever does it.
    pub fn about(&self) -> &str {
        self.subject.strip_suffix(REMOTELY).unwrap_or(&self.subject)
    }
}

/// How a call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    pub well: bool,
    /// It did not even begin, or was stopped: nobody can say that it was done.
    pub undone: bool,
    /// `exit 0`, `12 matches in 4 files`, `denied`; empty when there is nothing to say.
    pub words: String,
    /// Why it failed, and what to do.
    pub message: Option<String>,
}

/// Paths below the root are named from there.
pub fn title(name: &str, input: &Value, root: Option<&Path>) -> Title {
    let title = about(name, input, root);
    // Whose arguments cannot be read is named at least.
    let subject = if title.subject.is_empty() { labels::call(name, &Value::Null) } else { title.subject };
    Title { subject, ..title }
}

fn about(name: &str, input: &Value, root: Option<&Path>) -> Title {
    match facts::called(name, input.as_object()) {
        Some(facts) => {
            let subject = (facts.title.subject)(&facts.given(input));
            let subject = subject.unwrap_or_else(|| without(&labels::call(name, input), facts.name));
            let verb = &facts.title.verb;
            let subject = from_root(subject, root);
            Title { doing: verb.doing, done: verb.done, plain: verb.plain, subject, folds: facts.title.folds }
        }
        None => {
            let subject = labels::call(name, input);
            Title { doing: "Calling", done: "Called", plain: "Call", subject, folds: None }
        }
    }
}

/// Of a call that another agent makes with a tool of its own: in our words where it is one of ours by name and says what it is
/// about, else in its own.
pub fn remote(name: &str, input: &Value, root: Option<&Path>) -> Title {
    let ours = facts::called(name, input.as_object()).map(|_| about(name, input, root));
    match ours.filter(|title| !title.subject.is_empty()) {
        // By the agent's own program, not by us.
        Some(title) => Title { subject: format!("{}{REMOTELY}", title.subject), ..title },
        None => {
            let subject = own_words(&visible_line(name), root);
            Title { doing: REMOTE, done: REMOTE, plain: REMOTE, subject, folds: None }
        }
    }
}

/// How another agent calls what it does, without the marks of markdown and with paths from the root: `Edit src/a.rs` of
/// ``Edit `/w/src/a.rs` ``.
pub fn own_words(title: &str, root: Option<&Path>) -> String {
    let words = title.replace('`', "");
    let Some(root) = root.and_then(Path::to_str).filter(|root| root.len() > 1) else { return words };
    let below = |word: &str| match word.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) {
        Some(below) if !below.is_empty() => below.to_owned(),
        Some(_) | None => word.to_owned(),
    };
    words.split(' ').map(below).collect::<Vec<_>>().join(" ")
}

fn without(call: &str, name: &str) -> String {
    call.strip_prefix(name).unwrap_or(call).trim_start().to_owned()
}

fn from_root(subject: String, root: Option<&Path>) -> String {
    let Some(root) = root.and_then(Path::to_str).filter(|root| root.len() > 1) else { return subject };
    match subject.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) {
        Some(below) if !below.is_empty() => below.to_owned(),
        Some(_) | None => subject,
    }
}

pub fn ended(name: &str, result: &ToolOutput) -> Ended {
    let data = match result {
        ToolOutput::Ok(data) => data,
        ToolOutput::Err(error) => return failed(error),
    };
    let told = |facts: &ToolFacts| (facts.title.ended)(data).or_else(|| (facts.label.outcome)(data));
    // What another program's tool says is in what it brought.
    let words = facts::facts(name).and_then(told).unwrap_or_default();
    let timed_out = data.get("timed_out").and_then(Value::as_bool) == Some(true);
    let code = data.get("exit_code").and_then(Value::as_i64).unwrap_or(0);
    Ended { well: code == 0 && !timed_out, undone: false, words: plain(&words).into_owned(), message: None }
}

fn failed(error: &ToolError) -> Ended {
    let (undone, words) = match &error.code {
        ToolCode::Rejected => (true, "denied".to_owned()),
        ToolCode::Denied => (true, "denied by a rule".to_owned()),
        ToolCode::Forbidden | ToolCode::ProtectedPath => (true, "forbidden".to_owned()),
        ToolCode::ApprovalRequired => (true, "not allowed unasked".to_owned()),
        ToolCode::PathEscape | ToolCode::SymlinkEscape => (true, "outside the workspace".to_owned()),
        ToolCode::Interrupted => (true, "interrupted".to_owned()),
        ToolCode::NotRun => (true, "not run: interrupted".to_owned()),
        ToolCode::Timeout => (false, "timed out".to_owned()),
        // It printed something, so it ran.
        ToolCode::ExecError if !printed(error).is_empty() => (false, "failed".to_owned()),
        _ => (true, "failed".to_owned()),
    };
    let message = one_line_ends(&error.message, MESSAGE_COLUMNS);
    let said = !printed(error).is_empty()
        || matches!(error.code, ToolCode::Interrupted | ToolCode::NotRun)
        || message.is_empty();
    Ended { well: false, undone, words, message: (!said).then_some(message) }
}

/// How a command that the user typed ended, where that is known from its record alone.
pub fn shell_ended(end: &ShellEnd) -> Ended {
    let ended = |well: bool, undone: bool, words: String| Ended { well, undone, words, message: None };
    match end {
        ShellEnd::Exited { exit_code } => ended(*exit_code == 0, false, format!("exit {exit_code}")),
        ShellEnd::Signalled { signal } => ended(false, false, format!("killed by signal {signal}")),
        ShellEnd::TimedOut { .. } => ended(false, false, "timed out".to_owned()),
        ShellEnd::Interrupted => ended(false, true, "interrupted".to_owned()),
        ShellEnd::NotRun { why, code: Some(code) } => failed(&ToolError::new(code.clone(), why.clone())),
        ShellEnd::NotRun { why, code: None } => {
            let message = Some(one_line_ends(why, MESSAGE_COLUMNS)).filter(|why| !why.is_empty());
            Ended { message, ..ended(false, true, "not run".to_owned()) }
        }
        ShellEnd::Unknown => ended(true, false, String::new()),
    }
}

/// What a command that the user typed printed, out of what the model reads of it.
pub fn shell_printed(text: &str, shell: &Shell) -> String {
    let (out, err) = ("stdout:\n", "stderr:\n");
    // The command as it was typed, and how it ended.
    let said = text.get("$ ".len() + shell.command.len() + 1..).and_then(|rest| rest.split_once('\n'));
    let Some((_, said)) = said else { return String::new() };
    let Some(rest) = said.strip_prefix(out) else {
        return said.strip_prefix(err).unwrap_or(said).to_owned();
    };
    let lines: u32 = shell.order.iter().step_by(2).sum();
    if lines == 0 {
        return rest.to_owned();
    }
    let end: usize = rest.split_inclusive('\n').take(lines as usize).map(str::len).sum();
    let (first, second) = rest.split_at(end);
    match second.strip_prefix(err) {
        Some(second) => printed_in_order(first, second, &shell.order),
        // Blank lines at its end are not told, so that the other stream begins earlier than counted.
        None => match rest.split_once("\nstderr:\n") {
            Some((first, second)) => printed_in_order(first, second, &shell.order),
            None => rest.to_owned(),
        },
    }
}

/// What a call brought, as text to read: what was printed, found or reported. Nothing of a file that was read: that lies
/// where it lay. Foreign text, not yet cleaned.
pub fn brought(name: &str, result: &ToolOutput, order: &[u32]) -> String {
    let data = match result {
        ToolOutput::Ok(data) => data,
        ToolOutput::Err(error) => return printed(error),
    };
    let text = |key: &str| data.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let Some(facts) = facts::facts(name) else { return pretty(data) };
    if facts.name == facts::BASH.name {
        let (out, err) = (text("stdout").unwrap_or_default(), text("stderr").unwrap_or_default());
        return printed_in_order(out, err, order);
    }
    if let Some(paths) = data.get("paths").and_then(Value::as_array) {
        return paths.iter().filter_map(Value::as_str).map(|path| format!("{path}\n")).collect();
    }
    let shown = ["text", "entries", "report", "note"].into_iter().find_map(text);
    shown.unwrap_or_default().to_owned()
}

/// What a command printed in the order in which it came, where that is known: so many lines of one stream, then so many of
/// the other. Where the lines are not those that were counted, one stream stands behind the other.
pub fn printed_in_order(out: &str, err: &str, order: &[u32]) -> String {
    let mut streams = [out.split_inclusive('\n'), err.split_inclusive('\n')];
    let mut text = String::with_capacity(out.len() + err.len() + 1);
    for (at, lines) in order.iter().enumerate() {
        for line in streams[at % 2].by_ref().take(*lines as usize) {
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push('\n');
            }
        }
    }
    if !order.is_empty() && streams.iter_mut().all(|stream| stream.next().is_none()) {
        return text;
    }
    let gap = if out.is_empty() || err.is_empty() || out.ends_with('\n') { "" } else { "\n" };
    format!("{out}{gap}{err}")
}

/// What something that failed or was stopped had printed: lines, and not a sentence.
fn printed(error: &ToolError) -> String {
    match error.code {
        ToolCode::Interrupted => so_far(error),
        ToolCode::ExecError if error.message.trim().contains('\n') => error.message.clone(),
        _ => String::new(),
    }
}

/// What a command had printed when it was stopped.
fn so_far(error: &ToolError) -> String {
    let line = |line: &str| {
        let begins = ["stdout", "stderr"]
            .into_iter()
            .find_map(|name| line.strip_prefix(name)?.strip_prefix(facts::SO_FAR));
        begins.unwrap_or(line).to_owned()
    };
    error.message.lines().skip(1).map(line).collect::<Vec<_>>().join("\n")
}

fn pretty(data: &Value) -> String {
    match data {
        Value::String(text) => text.clone(),
        Value::Object(map) if map.len() == 1 => map.values().next().map(pretty).unwrap_or_default(),
        // What stands beside it is about it.
        Value::Object(map) if map.get("text").is_some_and(Value::is_string) => pretty(&map["text"]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(data).unwrap_or_default()
        }
    }
}

/// An answered question: whether it was allowed, and in which words.
pub fn answered(
    decision: &Decision,
    grant: Option<&str>,
    by: Option<&str>,
    what: &str,
    root: Option<&Path>,
) -> (bool, String) {
    match decision {
        Decision::AllowOnce => match by {
            Some(by) => (true, format!("allowed by {}: {what}", visible_line(by))),
            None => (true, format!("allowed: {what}")),
        },
        Decision::AllowAlways { scope, .. } => {
            let long = match scope {
                GrantScope::Session => "this session",
                GrantScope::Project => "this project",
            };
            (
                true,
                format!(
                    "allowed for {long}: {}",
                    grant.map_or_else(|| what.to_owned(), |grant| grant_words(grant, root))
                ),
            )
        }
        Decision::Deny { word: Some(word) } => (false, format!("denied: {what} ({})", visible_line(word))),
        Decision::Deny { word: None } => (false, format!("denied: {what}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_another_agent_does_is_told_in_its_own_words_unless_they_are_ours() {
        let told = |name: &str, input: Value| {
            let title = remote(name, &input, Some(Path::new("/w")));
            format!("{} {}", title.done, title.subject)
        };
        assert_eq!(told("bash", json!({"command": "make"})), "Ran make (remote)");
        assert_eq!(told("Read a.txt", json!({"path": "a.txt"})), "Remote: Read a.txt");
        assert_eq!(told("sh", json!({})), "Remote: sh");
        assert_eq!(told("Edit `/w/src/a.rs` and /wide", json!({})), "Remote: Edit src/a.rs and /wide");
    }

    #[test]
    fn every_tool_reads_as_a_sentence() {
        let root = Some(Path::new("/w"));
        for (name, input, data, line) in [
            ("bash", json!({"cmd": "cargo test"}), json!({"exit_code": 101}), "Ran cargo test · exit 101"),
            (
                "bash",
                json!({"command": "cd web\nmake\n"}),
                json!({"exit_code": 0}),
                "Ran cd web ⏎ make · exit 0",
            ),
            (
                "read_file",
                json!({"path": "/w/src/a.rs"}),
                json!({"content": "a\nb\n"}),
                "Read src/a.rs · 2 lines",
            ),
            (
                "grep",
                json!({"pattern": "foo", "path": "src"}),
                json!({"matches": 12, "files": 4}),
                "Searched \"foo\" in src · 12 matches in 4 files",
            ),
            (
                "edit",
                json!({"path": "src/a.rs"}),
                json!({"replacements": 1, "additions": 3, "deletions": 1}),
                "Edited src/a.rs · +3 −1",
            ),
            (
                "write",
                json!({"path": "a"}),
                json!({"created": true, "additions": 3, "deletions": 0}),
                "Wrote a · new, +3 −0",
            ),
            (
                "patch",
                json!({"patch": "*** Begin Patch\n*** Update File: a\n*** Add File: b\n"}),
                json!({"files": [{"additions": 1, "deletions": 0}, {}]}),
                "Patched a and 1 more · 2 files, +1 −0",
            ),
            ("list", json!({}), json!({"total": 3}), "Listed . · 3 entries"),
            (
                "todowrite",
                json!({"items": []}),
                json!({"checklist": "[x] a\n[ ] b"}),
                "Updated the todo list · 1 of 2 done",
            ),
            (
                "task",
                json!({"agent": "explore", "prompt": "find\nit"}),
                json!({"report": "x"}),
                "Task explore: find it · ",
            ),
            ("skill", json!({"name": "pdf"}), json!({"name": "pdf"}), "Loaded skill pdf · "),
            ("github__search", json!({"q": "x"}), json!({"hits": 3}), "Called github__search q=\"x\" · "),
        ] {
            let title = title(name, &input, root);
            let ended = ended(name, &ToolOutput::Ok(data));
            assert_eq!(format!("{} {} · {}", title.done, title.subject, ended.words), line);
            assert_eq!(ended.well, !line.contains("101"));
        }
    }

    #[test]
    fn what_was_not_done_is_worded() {
        let error = |code| ended("bash", &ToolOutput::error(code, "no\nway"));
        let denied = error(ToolCode::Rejected);
        assert_eq!((denied.well, denied.undone, denied.words.as_str()), (false, true, "denied"));
        assert_eq!(denied.message.as_deref(), Some("no way"));
        assert_eq!(error(ToolCode::Interrupted).message, None);
        let stopped = ToolOutput::error(
            ToolCode::Interrupted,
            "it was stopped\nstdout so far: one\ntwo\nstderr so far: three",
        );
        assert_eq!(brought("bash", &stopped, &[]), "one\ntwo\nthree");
        // A sentence is said, lines are shown.
        let failed = ToolOutput::error(ToolCode::ExecError, "no\nway");
        assert_eq!(
            (brought("bash", &failed, &[]).as_str(), ended("bash", &failed).message),
            ("no\nway", None)
        );
        let failed = ToolOutput::error(ToolCode::ExecError, "no way");
        assert_eq!(brought("bash", &failed, &[]), "");
        assert_eq!(ended("bash", &failed).message.as_deref(), Some("no way"));
    }

    #[test]
    fn an_answer_says_what_was_granted() {
        let always = Decision::AllowAlways { scope: GrantScope::Session, wider: true };
        assert_eq!(
            answered(&always, Some("every cargo test #ab12 Cargo.toml ."), None, "cargo test --all", None).1,
            "allowed for this session: commands that begin with cargo test here, until Cargo.toml changes"
        );
        assert_eq!(answered(&Decision::AllowOnce, None, None, "ls", None), (true, "allowed: ls".to_owned()));
    }
}
