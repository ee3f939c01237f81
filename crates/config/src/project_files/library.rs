//! Which of a project's commands and agents ask for more than to be read: shell spans, a model, files of the user's,
//! allow rules. They are read as a session reads them; a file in which nothing is found stays untrusted for good, so an
//! oversight here grants nothing.

use serde_json::Value;

use super::{ProjectFiles, Want};
use crate::library::places::{LibraryFile, LibraryFolders, LibraryKind};
use crate::library::{AgentProfile, CustomCommand, agents};
use crate::trust::CommandSource;
use zdx_protocol::mentions::{MentionTarget, mentions_in, trimmed};

/// `places` are the project's own.
pub(super) fn scan(project: &mut ProjectFiles, places: &LibraryFolders) {
    // What is wrong with a file, a session says when it loads it.
    for found in places.gather(LibraryKind::Commands, &[]).found {
        if let Ok(command) = CustomCommand::read(&found) {
            note(project, &found, &format!("/{}", command.name), command_wants(&command, &found));
            for (_, shell) in command.shells() {
                project.files.add_named(&CommandSource::shell(shell));
            }
        }
    }
    for found in places.gather(LibraryKind::Agents, &[]).found {
        if let Ok(agent) = AgentProfile::read(&found) {
            note(project, &found, &format!("agent {}", agent.name), agent_wants(&agent, &found));
        }
    }
}

/// What is wanted, by line.
type WantedLines = Vec<(usize, String)>;

fn note(project: &mut ProjectFiles, found: &LibraryFile, key: &str, mut wanted: WantedLines) {
    if wanted.is_empty() {
        return;
    }
    wanted.sort_by_key(|(line, _)| *line);
    let file = project.files.add(&found.document.path, found.document.digest);
    project.wants.extend(wanted.into_iter().map(|(line, what)| Want {
        file: file.clone(),
        line,
        key: key.to_owned(),
        what: format!("{key}: {what}"),
    }));
}

fn command_wants(command: &CustomCommand, found: &LibraryFile) -> WantedLines {
    let mut wanted: WantedLines =
        model_wanted(command.model.as_deref(), &["model"], found).into_iter().collect();
    let body = &found.document.body;
    let line = |at: usize| found.document.body_line + body[..at].matches('\n').count();
    wanted.extend(command.shells().map(|(at, shell)| (line(at), format!("run {}", shell.trim()))));
    for mention in mentions_in(body) {
        if let MentionTarget::Path { path, .. } = &mention.what
            && (path.starts_with(['/', '~']) || path.split('/').any(|part| part == ".."))
        {
            wanted.push((line(mention.span.start), format!("send the model {}", trimmed(path))));
        }
    }
    wanted
}

fn agent_wants(agent: &AgentProfile, found: &LibraryFile) -> WantedLines {
    let mut wanted: WantedLines =
        model_wanted(agent.model.as_deref(), &agents::MODEL, found).into_iter().collect();
    let line = found.document.fields.line(&["permission"]).unwrap_or(1);
    for table in &agent.permission {
        let mut allowed = Vec::new();
        collect_allowed(&table.value, &mut Vec::new(), &mut allowed);
        wanted.extend(allowed.into_iter().map(|what| (line, format!("allow without asking: {what}"))));
    }
    wanted
}

fn model_wanted(model: Option<&str>, spellings: &[&str], found: &LibraryFile) -> Option<(usize, String)> {
    let line = found.document.fields.line(spellings).unwrap_or(1);
    model.map(|model| (line, format!("have the model {model} answer")))
}

/// Every rule that says `allow`, by the keys that lead to it.
fn collect_allowed(value: &Value, keys: &mut Vec<String>, allowed: &mut Vec<String>) {
    match value {
        Value::String(word) if word.trim().eq_ignore_ascii_case("allow") => {
            let all = keys.iter().all(|key| key == "*");
            allowed.push(if all { "everything".to_owned() } else { keys.join(" ") });
        }
        Value::Object(table) => {
            for (key, value) in table {
                keys.push(key.clone());
                collect_allowed(value, keys, allowed);
                keys.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {}
    }
}
