//! What an agent wants to have run by `terminal/create`, as it says it. Whether it may, and how it is run, is not decided here.

use std::path::Path;

use serde_json::Value;
use zdx_acp::{Params, RpcError};

use super::command_line;

/// What is kept of a terminal's output if the agent does not say, and whatever it says.
const USUAL: u64 = 1 << 20;
const MOST: u64 = 8 << 20;

pub struct TerminalRequest {
    /// The program and its arguments.
    words: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Where, as it was named.
    pub cwd: Option<String>,
    /// Bytes of output that are kept.
    pub limit: usize,
}

impl TerminalRequest {
    pub fn read(params: &Params) -> Result<Self, RpcError> {
        let command = params.text("command")?;
        if command.trim().is_empty() {
            return Err(RpcError::invalid_params("`command` is empty"));
        }
        let cwd = params.text_if_any("cwd")?.map(str::to_owned);
        let args: Option<Vec<String>> =
            params.list("args")?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        let args = args.ok_or_else(|| RpcError::invalid_params("`args` must be texts"))?;
        let env = variables(params.list("env")?)?;
        let limit = params.count_if_any("outputByteLimit")?.unwrap_or(USUAL).min(MOST);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(Self { words: [vec![command.to_owned()], args].concat(), env, cwd, limit })
    }

    /// The whole command line, where it gives one in place of a program.
    fn line(&self, cwd: &Path) -> Option<&str> {
        match self.words.as_slice() {
            [line] if is_line(line) && !cwd.join(line).exists() => Some(line),
            _ => None,
        }
    }

    /// What is started in that folder: a command line by a shell.
    pub fn argv(&self, cwd: &Path) -> Vec<String> {
        match self.line(cwd) {
            Some(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), line.to_owned()],
            None => self.words.clone(),
        }
    }

    /// The same as a command line, with its variables.
    pub fn command(&self, cwd: &Path) -> String {
        if self.env.is_empty() {
            return command_line(&self.argv(cwd));
        }
        let set = self.env.iter().map(|(name, value)| format!("{name}={value}"));
        command_line(&["env".to_owned()].into_iter().chain(set).chain(self.argv(cwd)).collect::<Vec<_>>())
    }

    /// For a shell that begins in `root`: its folder comes first.
    pub fn script(&self, root: &Path, cwd: &Path) -> String {
        let command = match self.line(cwd) {
            Some(line) if self.env.is_empty() => line.to_owned(),
            Some(_) | None => self.command(cwd),
        };
        if cwd == root {
            return command;
        }
        let folder = command_line(&["cd".to_owned(), cwd.display().to_string()]);
        format!("{folder} && {command}")
    }

    /// For who reads along.
    pub fn shown(&self, cwd: &Path) -> String {
        self.line(cwd).map_or_else(|| command_line(&self.words), str::to_owned)
    }
}

/// Names that a shell could set: the guard is shown them as arguments of `env`, where others are options.
fn variables(given: &[Value]) -> Result<Vec<(String, String)>, RpcError> {
    let one = |variable: &Value| {
        let (name, value) = (variable["name"].as_str()?, variable["value"].as_str()?);
        let named = !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        named.then(|| (name.to_owned(), value.to_owned()))
    };
    let all: Option<Vec<_>> = given.iter().map(one).collect();
    all.ok_or_else(|| {
        RpcError::invalid_params(
            "`env` must hold names of letters, digits and underscores, and values that are texts",
        )
    })
}

/// Some agents give a whole command line where the protocol has a program.
fn is_line(command: &str) -> bool {
    command.contains(|c: char| c.is_whitespace() || "|&;<>()$`\"'*?".contains(c))
}
