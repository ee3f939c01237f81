//! Judges calls for scripts and tests: one JSON line in, one decision out. The tool itself prepares the call, on the files
//! that the context shows. Never runs anything.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde::Serialize;
use serde_json::{Map, Value};
use zdx_guard::{PolicyContext, Report, RowError, judge};
use zdx_protocol::facts::{self, ToolFacts};
use zdx_protocol::redact::{RedactError, Redactor};
use zdx_protocol::{Action, Level, Reason, ReasonCode, ToolCode, ToolError, Verdict};

use zdx_tools::registry::ToolRegistry;
use zdx_tools::{Shell, ShellSettings, TodoList, ToolContext, task};
use zdx_workspace::Workspace;

static TOOLS: LazyLock<ToolRegistry> = LazyLock::new(ToolRegistry::standard);

type ActionOf = fn(Map<String, Value>) -> Result<Action, ToolError>;

/// Tools that a session has only with skills or agents; their calls can be judged without any.
static SOMETIMES: [(&ToolFacts, ActionOf); 2] =
    [(&facts::SKILL, crate::skill_tool::action), (&facts::TASK, task::action)];

/// The answer to one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    pub verdict: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ReasonCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

impl From<Verdict> for Judged {
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
    /// The tool refuses the call, whatever the guard would say.
    #[error("{}", .0.message)]
    Refused(ToolError),
}

impl CheckError {
    pub fn code(&self) -> ToolCode {
        match self {
            Self::Json(_) | Self::Missing(_) => ToolCode::InvalidInput,
            Self::Refused(error) => error.code.clone(),
        }
    }
}

/// Answers for one place and its rules.
pub struct Checker {
    cx: PolicyContext,
    tools: ToolContext,
}

impl Checker {
    pub fn new(cx: PolicyContext) -> Result<Self, RedactError> {
        // There to be complete: what is only prepared starts nothing.
        let shell = Shell::new(ShellSettings {
            supervisor: PathBuf::new(),
            env: Vec::new(),
            env_pass: Vec::new(),
            spill_dir: None,
            redactor: Arc::new(Redactor::new::<&str>([])?),
        });
        let tools = ToolContext {
            workspace: seen(&cx),
            shell: Arc::new(shell),
            todos: Arc::new(TodoList::new(Vec::new())),
            content: Arc::default(),
            timeout: None,
        };
        Ok(Self { cx, tools })
    }

    /// The same elsewhere, or on other files.
    fn within(&self, cx: &PolicyContext) -> Self {
        Self { cx: cx.clone(), tools: ToolContext { workspace: seen(cx), ..self.tools.clone() } }
    }

    /// Judges `{"tool":"bash","input":{"command":"…"}}`.
    pub fn line(&self, line: &str) -> Result<Judged, CheckError> {
        let call: Value = serde_json::from_str(line).map_err(|error| CheckError::Json(error.to_string()))?;
        Ok(judge(&self.action(&call)?, &self.cx).into())
    }

    /// The action that a session would judge.
    fn action(&self, call: &Value) -> Result<Action, CheckError> {
        let name = call.get("tool").and_then(Value::as_str).ok_or(CheckError::Missing("tool"))?;
        let given = call.get("input").and_then(Value::as_object);
        let input = given.cloned().unwrap_or_default();
        if let Some(tool) = TOOLS.called(name, given) {
            let prepared = tool.prepare(input, &self.tools).map_err(CheckError::Refused)?;
            return Ok(prepared.action);
        }
        if let Some((_, action)) = SOMETIMES.iter().find(|(facts, _)| facts.is(name)) {
            return action(input).map_err(CheckError::Refused);
        }
        // As a model calls it, or as rules name it.
        let named = name.strip_prefix("mcp__").unwrap_or(name);
        Ok(match named.split_once("__") {
            Some((server, tool)) => {
                Action::Mcp { server: server.to_owned(), tool: tool.to_owned(), digest: String::new() }
            }
            None => Action::Remote { title: named.to_owned() },
        })
    }
}

fn seen(cx: &PolicyContext) -> Arc<Workspace> {
    Arc::new(Workspace::seen(&cx.root, Arc::clone(&cx.files)).with_home(cx.home.clone()))
}

#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}:{source}")]
    Row { path: PathBuf, source: RowError },
    #[error(transparent)]
    Redact(#[from] RedactError),
}

/// Runs a case table, calls of tools included.
pub fn run_table(path: &Path, cx: &PolicyContext) -> Result<Report, TableError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| TableError::Read { path: path.to_owned(), source })?;
    let checker = Checker::new(cx.clone())?;
    let call = |call: &Value, cx: &PolicyContext| match checker.within(cx).action(call) {
        Ok(action) => Some(judge(&action, cx)),
        Err(CheckError::Refused(error)) => Some(refused(error)),
        Err(CheckError::Json(_) | CheckError::Missing(_)) => None,
    };
    zdx_guard::run_table(&text, cx, call).map_err(|source| TableError::Row { path: path.to_owned(), source })
}

/// A call that the tool refuses does not run either.
fn refused(error: ToolError) -> Verdict {
    Verdict::Deny(Reason { code: ReasonCode::Denied, message: error.message, rule: None })
}

#[cfg(test)]
mod tests {
    use zdx_guard::{FileEntry, MapView};
    use zdx_protocol::Approval;

    use super::*;

    fn cx() -> PolicyContext {
        let mut disk = MapView::default();
        disk.insert("/w/sub/a", FileEntry::File);
        disk.insert("/w/escape", FileEntry::Link("/etc".into()));
        PolicyContext { files: Arc::new(disk), ..PolicyContext::new("/w", Approval::Balanced) }
    }

    fn checked(line: &str) -> Result<Judged, CheckError> {
        Checker::new(cx()).unwrap().line(line)
    }

    #[test]
    fn every_tool_has_its_action() {
        for (line, expected) in [
            (r#"{"tool":"bash","input":{"command":"ls"}}"#, Level::Allow),
            (r#"{"tool":"bash","input":{"command":["rm","a b"]}}"#, Level::Confirm),
            (r#"{"tool":"read","input":{"path":"sub/a"}}"#, Level::Allow),
            (r#"{"tool":"read","input":{"path":"escape/passwd"}}"#, Level::Ask),
            (r#"{"tool":"grep","input":{"pattern":"x"}}"#, Level::Allow),
            (r#"{"tool":"glob","input":{"pattern":"/etc/*"}}"#, Level::Ask),
            (r#"{"tool":"write","input":{"path":"new","content":""}}"#, Level::Ask),
            (r#"{"tool":"edit","input":{"file_path":"../x","old":"a","new":"b"}}"#, Level::Ask),
            (
                r#"{"tool":"patch","input":{"patch":"--- a/sub/a\n+++ b/sub/a\n@@ -1 +1 @@\n-a\n+b\n"}}"#,
                Level::Ask,
            ),
            (
                r#"{"tool":"patch","input":{"patch":"*** Begin Patch\n*** Add File: ../../etc/x\n+x\n*** End Patch"}}"#,
                Level::Confirm,
            ),
            (r#"{"tool":"todowrite","input":{"todos":[]}}"#, Level::Allow),
            (r#"{"tool":"skill","input":{"skill":"/x"}}"#, Level::Ask),
            (r#"{"tool":"task","input":{"agent":"a","prompt":"b"}}"#, Level::Ask),
            (r#"{"tool":"load_skill","input":{"skill_name":"x"}}"#, Level::Ask),
            (r#"{"tool":"use_skill","input":{}}"#, Level::Allow),
            (r#"{"tool":"subagent","input":{"agent":"a","prompt":"b"}}"#, Level::Ask),
            (r#"{"tool":"todo","input":{"items":["x"]}}"#, Level::Allow),
            (r#"{"tool":"todo"}"#, Level::Allow),
            (r#"{"tool":"github__search","input":{}}"#, Level::Ask),
            (r#"{"tool":"mcp__github__search","input":{}}"#, Level::Ask),
        ] {
            assert_eq!(checked(line).map(|answer| answer.verdict), Ok(expected), "{line}");
        }
    }

    #[test]
    fn an_answer_is_one_object_and_a_mistake_is_told() {
        let answer = checked(r#"{"tool":"bash","input":{"command":"rm x"}}"#).unwrap();
        let json = serde_json::to_value(answer).unwrap();
        assert_eq!((&json["verdict"], &json["code"]), (&"confirm".into(), &"listed_command".into()));
        assert!(json["reason"].is_string());
        assert_eq!(checked("{}"), Err(CheckError::Missing("tool")));
        assert!(matches!(checked("rm x"), Err(CheckError::Json(_))));
        for line in [
            r#"{"tool":"bash"}"#,
            r#"{"tool":"write","input":{"path":"a"}}"#,
            r#"{"tool":"write","input":{"path":"a\u0000b","content":""}}"#,
        ] {
            let error = checked(line).unwrap_err();
            assert!(
                matches!(error, CheckError::Refused(_)) && error.code() == ToolCode::InvalidInput,
                "{line}"
            );
        }
    }
}
