//! One JSON line in, one decision out: how scripts and tests ask what would happen. Never runs anything.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;
use zdx_guard::{PolicyContext, Report, RowError, judge, locate};
use zdx_protocol::{Action, Level, Origin, ReasonCode, Target, Verdict};

use crate::tools::registry::Registry;

static TOOLS: LazyLock<Registry> = LazyLock::new(Registry::standard);

/// The answer to one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    pub verdict: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ReasonCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Self {
        let level = verdict.level();
        let (code, reason, rule) = match verdict {
            Verdict::Allow => (None, None, None),
            Verdict::Ask(why) | Verdict::Confirm(why) | Verdict::Deny(why) => {
                (Some(why.code), Some(why.message), why.rule)
            }
        };
        Self { verdict: level, code, reason, rule }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    #[error("not a JSON object: {0}")]
    Json(String),
    #[error("`{0}` is missing or is no text")]
    Missing(&'static str),
}

#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}:{source}")]
    Row { path: PathBuf, source: RowError },
}

/// Runs a case table, calls of tools included.
pub fn run_table(path: &Path, cx: &PolicyContext) -> Result<Report, TableError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| TableError::Read { path: path.to_owned(), source })?;
    let call = |call: &Value, cx: &PolicyContext| Some(judge(&action_of(call, cx).ok()?, cx));
    zdx_guard::run_table(&text, cx, call).map_err(|source| TableError::Row { path: path.to_owned(), source })
}

/// Judges `{"tool":"bash","input":{"command":"…"}}`.
pub fn check_line(line: &str, cx: &PolicyContext) -> Result<Answer, CheckError> {
    let value: Value = serde_json::from_str(line).map_err(|error| CheckError::Json(error.to_string()))?;
    Ok(judge(&action_of(&value, cx)?, cx).into())
}

/// The action that a call of this tool would be.
pub fn action_of(call: &Value, cx: &PolicyContext) -> Result<Action, CheckError> {
    let tool = call.get("tool").and_then(Value::as_str).ok_or(CheckError::Missing("tool"))?;
    let input = call.get("input").unwrap_or(&Value::Null);
    let text = |keys: &[&'static str]| keys.iter().find_map(|key| input.get(key).and_then(Value::as_str));
    // By the names that a model may use, as a session takes them.
    let known = TOOLS.find(tool);
    let tool = known.as_ref().map_or(tool, |known| known.spec().name.as_ref());
    Ok(match tool {
        "bash" => Action::Command {
            command: command_text(input).ok_or(CheckError::Missing("input.command"))?,
            cwd: cx.root.clone(),
            origin: Origin::Model,
        },
        "write" | "edit" => {
            let path = text(&["path", "file_path", "filePath"]).ok_or(CheckError::Missing("input.path"))?;
            Action::Write { tool: "write".to_owned(), targets: vec![target(path, cx)] }
        }
        "patch" => {
            let patch = text(&["patch", "diff", "input"]).ok_or(CheckError::Missing("input.patch"))?;
            Action::Write { tool: "patch".to_owned(), targets: patch_targets(patch, cx) }
        }
        "read" | "list" | "grep" | "glob" => {
            let path = text(&["path", "file_path", "filePath"]).unwrap_or(".");
            Action::Read { tool: tool.to_owned(), targets: vec![target(path, cx)] }
        }
        "todo" | "todoread" | "todowrite" => Action::Todo,
        "skill" => {
            Action::Skill { name: text(&["name"]).ok_or(CheckError::Missing("input.name"))?.to_owned() }
        }
        "task" => Action::Task {
            agent: text(&["agent", "subagent_type"]).ok_or(CheckError::Missing("input.agent"))?.to_owned(),
        },
        other => match other.split_once("__") {
            Some((server, tool)) => Action::Mcp { server: server.to_owned(), tool: tool.to_owned() },
            None => Action::Mcp { server: String::new(), tool: other.to_owned() },
        },
    })
}

/// A command as text, or as a list of words that a shell must see quoted.
pub fn command_text(input: &Value) -> Option<String> {
    match input.get("command")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(quote)).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

/// One word that a shell reads back as itself.
pub fn quote(word: &str) -> String {
    let plain =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn target(path: &str, cx: &PolicyContext) -> Target {
    if path.contains('\0') {
        // No file can have this name: it leads nowhere inside.
        return Target { path: PathBuf::from(path.replace('\0', "\u{fffd}")), inside: false, exists: false };
    }
    // File tools expand nothing: a variable in a path is somebody's mistake or trick.
    let expands = path.starts_with('$') || path.starts_with('~');
    let located = locate(cx.files.as_ref(), &cx.root, &cx.root, Path::new(path));
    let inside = located.path.starts_with(&cx.root) && !expands;
    Target { exists: located.exists(), path: located.path, inside }
}

/// Every file a unified diff names, old and new, renames too.
fn patch_targets(patch: &str, cx: &PolicyContext) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for line in patch.lines() {
        let name = ["+++ ", "--- ", "rename from ", "rename to ", "copy from ", "copy to "]
            .iter()
            .find_map(|prefix| line.strip_prefix(prefix));
        let Some(name) = name.map(|name| name.split('\t').next().unwrap_or(name).trim()) else { continue };
        if name == "/dev/null" {
            continue;
        }
        let headers = line.starts_with("+++") || line.starts_with("---");
        let name = if headers {
            name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
        } else {
            name
        };
        let target = target(name, cx);
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zdx_guard::{Entry, MapView};
    use zdx_protocol::Approval;

    use super::*;

    fn cx() -> PolicyContext {
        let mut disk = MapView::default();
        disk.insert("/w/sub/a", Entry::File);
        disk.insert("/w/escape", Entry::Link("/etc".into()));
        PolicyContext { files: Arc::new(disk), ..PolicyContext::new("/w", Approval::Balanced) }
    }

    fn level(line: &str) -> Level {
        check_line(line, &cx()).unwrap().verdict
    }

    #[test]
    fn every_tool_has_its_action() {
        for (line, expected) in [
            (r#"{"tool":"bash","input":{"command":"ls"}}"#, Level::Allow),
            (r#"{"tool":"bash","input":{"command":["rm","a b"]}}"#, Level::Confirm),
            (r#"{"tool":"read","input":{"path":"sub/a"}}"#, Level::Allow),
            (r#"{"tool":"read","input":{"path":"escape/passwd"}}"#, Level::Deny),
            (r#"{"tool":"grep","input":{"pattern":"x"}}"#, Level::Allow),
            (r#"{"tool":"write","input":{"path":"new"}}"#, Level::Ask),
            (r#"{"tool":"edit","input":{"file_path":"../x"}}"#, Level::Deny),
            (r#"{"tool":"write","input":{"path":"a\u0000b"}}"#, Level::Deny),
            (r#"{"tool":"patch","input":{"patch":"--- a/sub/a\n+++ b/sub/a\n"}}"#, Level::Ask),
            (r#"{"tool":"patch","input":{"patch":"rename from sub/a\nrename to ../b\n"}}"#, Level::Deny),
            (r#"{"tool":"todowrite","input":{}}"#, Level::Allow),
            (r#"{"tool":"github__search","input":{}}"#, Level::Ask),
        ] {
            assert_eq!(level(line), expected, "{line}");
        }
    }

    #[test]
    fn an_answer_is_one_object_and_a_mistake_is_told() {
        let answer = check_line(r#"{"tool":"bash","input":{"command":"rm x"}}"#, &cx()).unwrap();
        let json = serde_json::to_value(answer).unwrap();
        assert_eq!((&json["verdict"], &json["code"]), (&"confirm".into(), &"listed_command".into()));
        assert!(json["reason"].is_string());
        assert_eq!(check_line("{}", &cx()), Err(CheckError::Missing("tool")));
        assert_eq!(check_line(r#"{"tool":"bash"}"#, &cx()), Err(CheckError::Missing("input.command")));
        assert!(matches!(check_line("rm x", &cx()), Err(CheckError::Json(_))));
    }

    #[test]
    fn words_are_quoted_so_that_a_shell_reads_them_back() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote("plain-1.txt"), "plain-1.txt");
        assert_eq!(quote(""), "''");
    }
}
