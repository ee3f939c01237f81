//! What is written about one MCP server, in the spelling of zdx, Claude Code, Cursor, opencode or acpcli, read into what
//! starts it. Starts nothing.

use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde_json::{Map, Value};

use zdx_config::Environment;
use zdx_config::trust::{CommandSource, PinnedCommand};

/// To start, to answer the handshake and to list its tools; also what a call waits for its server.
const TIMEOUT_MS: u64 = 30_000;
/// A year is a slip of the pen, and no timer has to cope with it.
const LONGEST_TIMEOUT_MS: u64 = 3_600_000;

/// They mean something else in `@name:…`.
const RESERVED: [&str; 4] = ["file", "agent", "http", "https"];

/// What stands beside servers under `mcp`, and is none.
pub const SETTINGS: [&str; 5] =
    ["first_wait_ms", "max_tools", "max_schema_bytes", "total_tools", "total_schema_bytes"];

/// What a server's table may hold; the second half is of other programs, and means nothing here.
const KNOWN: [&str; 19] = [
    "enabled",
    "disabled",
    "command",
    "args",
    "environment",
    "env",
    "timeout_ms",
    "tools",
    "type",
    "name",
    "description",
    "url",
    "headers",
    "cwd",
    "alwaysAllow",
    "autoApprove",
    "transport",
    "title",
    "note",
];

/// A server that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// As it is configured.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Set beyond what every command gets, variables filled in.
    pub environment: Vec<(String, String)>,
    pub timeout: Duration,
    pub tools: ToolNameFilter,
    /// Set for a project's own server: it is started only as it was trusted.
    pub pinned: Option<PinnedCommand>,
}

/// What came of reading a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadEntry {
    Server(Box<ServerEntry>),
    Disabled,
    /// Why it cannot be used, and what to do.
    Refused(String),
}

/// Which of a server's tools are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolNameFilter {
    /// Empty: all of them.
    allow: Vec<String>,
    deny: Vec<String>,
}

impl ServerEntry {
    /// What is started, for the files that it names.
    pub fn source(&self) -> CommandSource {
        CommandSource::program(&self.command, self.environment.iter().cloned())
    }
}

impl ToolNameFilter {
    /// Nothing where a pattern is none; that was said when it was read.
    pub fn compiled(&self) -> Option<PinnedStart> {
        let allow = (!self.allow.is_empty()).then(|| globs(&self.allow)).transpose().ok()?;
        Some(PinnedStart { allow, deny: globs(&self.deny).ok()? })
    }
}

pub struct PinnedStart {
    allow: Option<GlobSet>,
    deny: GlobSet,
}

impl PinnedStart {
    pub fn has(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.is_match(tool)) && !self.deny.is_match(tool)
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern)?);
    }
    set.build()
}

/// Also what deserves a warning.
pub fn read(name: &str, value: &Value, env: &Environment) -> (ReadEntry, Vec<String>) {
    let Value::Object(table) = value else {
        return (ReadEntry::Refused("it must be a table with a command".to_owned()), Vec::new());
    };
    let off = table.get("enabled") == Some(&Value::Bool(false))
        || table.get("disabled") == Some(&Value::Bool(true));
    if off {
        return (ReadEntry::Disabled, Vec::new());
    }
    let unknown = table.keys().filter(|key| !KNOWN.contains(&key.as_str()));
    let warnings = unknown.map(|key| format!("mcp.{name}: unknown key {key} is ignored")).collect();
    let read = match server(name, table, env) {
        Ok(entry) => ReadEntry::Server(Box::new(entry)),
        Err(why) => ReadEntry::Refused(why),
    };
    (read, warnings)
}

/// Whether a server may have this name, and what is wrong with it if not.
pub fn check_name(name: &str) -> Result<(), String> {
    if RESERVED.contains(&name) {
        return Err(format!("`{name}` is taken (@{name}: means something else); call the server otherwise"));
    }
    if SETTINGS.contains(&name) {
        return Err(format!("`{name}` is taken (mcp.{name} is a setting); call the server otherwise"));
    }
    if name.trim().is_empty() || name == "?" {
        return Err("it has no name; give it one".to_owned());
    }
    Ok(())
}

fn server(name: &str, table: &Map<String, Value>, env: &Environment) -> Result<ServerEntry, String> {
    check_name(name)?;
    let kind = ["type", "transport"].iter().find_map(|key| table.get(*key)?.as_str());
    let is_remote = kind.is_some_and(|kind| !matches!(kind, "local" | "stdio"));
    if table.contains_key("url") || is_remote {
        return Err("it is a server elsewhere, and zdx talks to local ones only (over stdio): give it a \
                    `command` that starts one, or that connects to it"
            .to_owned());
    }
    let command = command(table)?.iter().map(|word| filled(word, env)).collect::<Result<_, _>>()?;
    Ok(ServerEntry {
        name: name.to_owned(),
        command,
        environment: environment(table, env)?,
        timeout: timeout(table)?,
        tools: filter(table)?,
        pinned: None,
    })
}

/// A list, or a program with a list of arguments beside it.
pub fn command(table: &Map<String, Value>) -> Result<Vec<String>, String> {
    let mut words = match table.get("command") {
        Some(Value::String(program)) => vec![program.clone()],
        Some(Value::Array(_)) => texts(table, "command")?,
        Some(_) => return Err("`command` must be a list of words".to_owned()),
        None => return Err("it has no `command`: say which program to start, as a list of words".to_owned()),
    };
    words.extend(texts(table, "args")?);
    match words.first() {
        Some(program) if !program.trim().is_empty() => Ok(words),
        Some(_) | None => Err("its `command` is empty: say which program to start".to_owned()),
    }
}

fn texts(table: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` must be a list of texts");
    match table.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

pub fn environment(table: &Map<String, Value>, env: &Environment) -> Result<Vec<(String, String)>, String> {
    let Some((key, given)) = ["environment", "env"].iter().find_map(|key| Some((*key, table.get(*key)?)))
    else {
        return Ok(Vec::new());
    };
    let wrong = || format!("`{key}` must be a table of texts");
    let given = match given {
        Value::Null => return Ok(Vec::new()),
        Value::Object(given) => given,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return Err(wrong()),
    };
    let one = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => filled(text, env)?,
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return Err(wrong()),
        };
        Ok((name.clone(), value))
    };
    given.iter().map(one).collect()
}

pub fn filled(text: &str, env: &Environment) -> Result<String, String> {
    env.filled(text)
        .map_err(|name| format!("it wants ${{{name}}}, which is not set: export it, and start zdx anew"))
}

fn timeout(table: &Map<String, Value>) -> Result<Duration, String> {
    let millis = match table.get("timeout_ms") {
        None | Some(Value::Null) => TIMEOUT_MS,
        Some(value) => value
            .as_u64()
            .filter(|millis| (1..=LONGEST_TIMEOUT_MS).contains(millis))
            .ok_or_else(|| format!("`timeout_ms` must be a whole number from 1 to {LONGEST_TIMEOUT_MS}"))?,
    };
    Ok(Duration::from_millis(millis))
}

/// A list of those that are wanted, or a table with `allow` and `deny`.
fn filter(table: &Map<String, Value>) -> Result<ToolNameFilter, String> {
    let filter = match table.get("tools") {
        Some(Value::Object(lists)) => {
            ToolNameFilter { allow: texts(lists, "allow")?, deny: texts(lists, "deny")? }
        }
        _ => ToolNameFilter { allow: texts(table, "tools")?, deny: Vec::new() },
    };
    match filter.compiled() {
        Some(_) => Ok(filter),
        None => Err("`tools` holds a pattern that is none".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn env() -> Environment {
        Environment::from_pairs([("TOKEN", "s3cret"), ("EMPTY", "")])
    }

    fn entry(value: Value) -> ServerEntry {
        match read("db", &value, &env()).0 {
            ReadEntry::Server(entry) => *entry,
            other => panic!("{other:?}"),
        }
    }

    fn refused(name: &str, value: Value) -> String {
        match read(name, &value, &env()).0 {
            ReadEntry::Refused(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_spelling_comes_to_the_same() {
        let ours = entry(json!({"command": ["db", "--x"], "environment": {"A": "${TOKEN}", "B": "b"}}));
        for other in [
            json!({"command": "db", "args": ["--x"], "env": {"A": "${TOKEN}", "B": "b"}}),
            json!({"type": "stdio", "command": "db", "args": ["--x"], "env": {"A": "${TOKEN}", "B": "${NONE:-b}"}}),
            json!({"name": "db", "command": "db", "args": ["--x"], "env": {"A": "s3cret", "B": "b"}}),
            json!({"type": "local", "command": ["db", "--x"], "environment": {"A": "${TOKEN}", "B": "b"}, "enabled": true}),
        ] {
            assert_eq!(entry(other.clone()), ours, "{other}");
        }
        assert_eq!(ours.environment[0], ("A".into(), "s3cret".into()));
        assert_eq!(ours.timeout, Duration::from_secs(30));
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        for (name, value, why) in [
            ("db", json!({"url": "http://x/mcp"}), "local ones only"),
            ("db", json!({"type": "sse"}), "local ones only"),
            ("db", json!({}), "no `command`"),
            ("db", json!({"command": []}), "empty"),
            ("db", json!({"command": [1]}), "list of texts"),
            ("db", json!({"command": ["x"], "env": {"A": "${NONE}"}}), "${NONE}, which is not set"),
            ("db", json!({"command": ["x"], "env": {"A": "${EMPTY}"}}), "not set"),
            ("db", json!({"command": ["x"], "timeout_ms": 0}), "from 1 to"),
            ("db", json!({"command": ["x"], "tools": ["[a"]}), "pattern"),
            ("file", json!({"command": ["x"]}), "taken"),
            ("db", json!("x"), "table"),
        ] {
            let said = refused(name, value.clone());
            assert!(said.contains(why), "{value}: {said}");
        }
        assert_eq!(read("db", &json!({"enabled": false, "url": "x"}), &env()).0, ReadEntry::Disabled);
        let (_, warnings) = read("db", &json!({"command": ["x"], "timeout": 3}), &env());
        assert_eq!(warnings, ["mcp.db: unknown key timeout is ignored"]);
    }

    #[test]
    fn tools_are_chosen_by_patterns() {
        let wanted =
            entry(json!({"command": ["x"], "tools": {"allow": ["get_*", "put"], "deny": ["*_all"]}}));
        let wanted = wanted.tools.compiled().unwrap();
        let has = ["get_one", "put", "get_all", "drop"].map(|tool| wanted.has(tool));
        assert_eq!(has, [true, true, false, false]);
        let all = entry(json!({"command": ["x"]})).tools.compiled().unwrap();
        assert!(all.has("anything"));
    }
}
