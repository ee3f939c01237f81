//! `acp.json`: the agents and MCP servers of an ACP client's settings file. Starts nothing.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::path::Path;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};

use super::AgentCommand;

const MAX_BYTES: u64 = 1 << 20;

/// The contents of a settings file.
#[derive(Debug)]
pub(super) struct AgentsFile {
    /// In written order.
    pub(super) agents: Vec<AgentCommand>,
    pub(super) servers: Vec<McpServerEntry>,
}

/// An MCP server for the agent to connect to.
#[derive(Clone, Debug, PartialEq)]
pub struct McpServerEntry {
    pub name: String,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// The server as `session/new` wants it.
    pub value: Value,
}

impl AgentsFile {
    /// Reads the file, or returns what is wrong with it, with file and line.
    pub(super) fn read(file: &Path) -> Result<Self, String> {
        let place = file.display();
        let text = read_text(file).map_err(|why| format!("cannot read {place}: {why}"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let written: Written = serde_json::from_str(text).map_err(|error| {
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or_default();
            format!("{place}:{}: {said}", error.line())
        })?;
        if written.agent_servers.0.is_empty() {
            return Err(format!("{place}: agent_servers names no agent; add one"));
        }
        let command = |(name, agent): (String, WrittenAgent)| AgentCommand {
            name,
            program: agent.command.0,
            args: agent.args,
            env: agent.env.0,
            pinned: None,
        };
        let servers = written.mcp_servers.into_iter().map(WrittenServer::read).collect::<Result<_, _>>();
        Ok(Self {
            agents: written.agent_servers.0.into_iter().map(command).collect(),
            servers: servers.map_err(|why| format!("{place}: {why}"))?,
        })
    }
}

fn read_text(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let opened = File::open(file).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    let read = opened.and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| reason(&error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err("it is larger than 1 MiB, which no settings need".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        format!("line {} is not UTF-8", good.iter().filter(|byte| **byte == b'\n').count() + 1)
    })
}

/// The error's own words without its number.
fn reason(error: &io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase()
}

#[derive(Deserialize)]
struct Written {
    agent_servers: Ordered<WrittenAgent>,
    #[serde(default)]
    mcp_servers: Vec<WrittenServer>,
}

#[derive(Deserialize)]
struct WrittenAgent {
    command: Program,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Ordered<String>,
}

/// A text that is not empty; who checks it while reading knows the line.
struct Program(String);

impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.trim().is_empty() {
            true => Err(de::Error::custom("`command` is empty: say which program to start")),
            false => Ok(Self(text)),
        }
    }
}

#[derive(Deserialize)]
struct WrittenServer {
    name: String,
    #[serde(rename = "type")]
    transport: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Pairs,
    url: Option<String>,
    #[serde(default)]
    headers: Pairs,
}

impl WrittenServer {
    /// As the protocol wants it: `args` and `env` are there, and lists, though empty.
    fn read(self) -> Result<McpServerEntry, String> {
        let Self { name, transport, command, args, env, url, headers } = self;
        let wrong = |why: &str| Err(format!("mcp_servers: {name}: {why}"));
        let (transport, value) = match (transport.as_deref(), command, url) {
            (None | Some("stdio" | "local"), Some(command), _) => {
                ("stdio", json!({"name": name, "command": command, "args": args, "env": env.to_value()}))
            }
            (Some("sse"), _, Some(url)) => {
                ("sse", json!({"type": "sse", "name": name, "url": url, "headers": headers.to_value()}))
            }
            (None | Some("http" | "streamable-http"), _, Some(url)) => {
                ("http", json!({"type": "http", "name": name, "url": url, "headers": headers.to_value()}))
            }
            (None | Some("stdio" | "local"), None, _) => return wrong("it has neither a command nor a url"),
            (Some("sse" | "http" | "streamable-http"), _, None) => return wrong("it has no url"),
            (Some(other), _, _) => return wrong(&format!("its type {other} is none of stdio, http and sse")),
        };
        Ok(McpServerEntry { name, transport, value })
    }
}

/// A table of texts, or the protocol's own list of names and values.
#[derive(Deserialize)]
#[serde(untagged)]
enum Pairs {
    Table(Ordered<String>),
    List(Vec<Pair>),
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    value: String,
}

impl Default for Pairs {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Pairs {
    fn to_value(&self) -> Value {
        let one = |name: &str, value: &str| json!({"name": name, "value": value});
        match self {
            Self::Table(Ordered(table)) => table.iter().map(|(name, value)| one(name, value)).collect(),
            Self::List(list) => list.iter().map(|pair| one(&pair.name, &pair.value)).collect(),
        }
    }
}

/// A table in written order, each name once.
struct Ordered<T>(Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found: Vec<(String, T)> = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if found.iter().any(|(known, _)| *known == name) {
                        return Err(de::Error::custom(format!("{name:?} is written twice")));
                    }
                    found.push((name, map.next_value()?));
                }
                Ok(Ordered(found))
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AgentsFile, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.json");
        std::fs::write(&file, text).unwrap();
        AgentsFile::read(&file).map_err(|why| why.replace(dir.path().to_str().unwrap(), ""))
    }

    #[test]
    fn agents_stay_in_written_order_and_servers_have_all_their_lists() {
        let file = read(
            r#"{"agent_servers": {"z": {"command": "zz", "args": ["a"], "env": {"K": "v"}}, "a": {"command": "aa"}},
                "mcp_servers": [{"name": "s", "command": "srv", "env": {"C": "1"}}, {"name": "bare", "command": "b"},
                    {"name": "h", "type": "http", "url": "http://x", "headers": [{"name": "A", "value": "b"}]}]}"#,
        )
        .unwrap();
        let names: Vec<&str> = file.agents.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["z", "a"]);
        let values: Vec<&Value> = file.servers.iter().map(|server| &server.value).collect();
        assert_eq!(
            values,
            [
                &json!({"name": "s", "command": "srv", "args": [], "env": [{"name": "C", "value": "1"}]}),
                &json!({"name": "bare", "command": "b", "args": [], "env": []}),
                &json!({"type": "http", "name": "h", "url": "http://x", "headers": [{"name": "A", "value": "b"}]}),
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_file_and_line() {
        for (text, said) in [
            ("{\n\"agent_servers\": {\n\"a\": {\"command\": 3}}}", "/s.json:3: invalid type: integer `3`"),
            ("{\n\"agent_servers\": {\n\"a\": {}}}", "/s.json:3: missing field `command`"),
            ("{\n\"agent_servers\": {\n\"a\": {\"command\": \" \"}}}", "/s.json:3: `command` is empty"),
            (
                "{\n\"agent_servers\": {\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}",
                "/s.json:3: \"a\" is written twice",
            ),
            ("{\n\"agent_servers\": [\n]}", "/s.json:2: invalid type: sequence, expected an object"),
            ("{\n\n oops", "/s.json:3: "),
            ("{}", "missing field `agent_servers`"),
            ("{\"agent_servers\": {}}", "names no agent"),
            (
                "{\"agent_servers\": {\"a\": {\"command\": \"x\"}}, \"mcp_servers\": [{\"name\": \"s\"}]}",
                "mcp_servers: s: it has neither",
            ),
        ] {
            let error = read(text).err().unwrap_or_else(|| panic!("{text} is fine"));
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
