//! Which agent is meant and how it is started: the settings file of the ACP client, and the agents of zdx's own
//! configuration. Starts nothing.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::{Value, json};
use zdx_engine::agents::{AgentCommand, Unusable, agent_commands};

use crate::exit::{Failure, reason};
use crate::settings::Settings;
use crate::start;

/// In zdx's folder.
const DEFAULT_FILE: &str = "acp.json";
const LARGEST: u64 = 1 << 20;

/// What the settings come to.
#[derive(Debug)]
pub struct Chosen {
    pub agent: AgentCommand,
    /// As `session/new` wants them, each with its transport.
    pub servers: Vec<Server>,
    pub warnings: Vec<String>,
}

/// An MCP server for the agent to connect to.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    pub name: String,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    pub value: Value,
}

/// The agent of this name, or the first one that is listed.
pub fn choose(settings: &Settings, file: Option<&Path>, wanted: Option<&str>) -> Result<Chosen, Failure> {
    let mut known = Known::default();
    match file {
        Some(file) => known.file(file)?,
        None => {
            let file = settings.paths.base().join(DEFAULT_FILE);
            if file.symlink_metadata().is_ok() {
                known.file(&file)?;
            }
            known.configuration(settings)?;
        }
    }
    known.pick(wanted, settings)
}

#[derive(Default)]
struct Known {
    agents: Vec<Result<AgentCommand, Unusable>>,
    untrusted: Vec<String>,
    servers: Vec<Server>,
    warnings: Vec<String>,
    /// Where agents were looked for.
    named_file: Option<PathBuf>,
}

impl Known {
    fn file(&mut self, file: &Path) -> Result<(), Failure> {
        let place = file.display();
        let text = read(file).map_err(|why| Failure::usage(format!("cannot read {place}: {why}")))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let written: Written = serde_json::from_str(text).map_err(|error| {
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or_default();
            Failure::usage(format!("{place}:{}: {said}", error.line()))
        })?;
        if written.agent_servers.0.is_empty() {
            return Err(Failure::usage(format!("{place}: agent_servers names no agent; add one")));
        }
        self.agents.extend(written.agent_servers.0.into_iter().map(|(name, agent)| {
            let WrittenAgent { command, args, env } = agent;
            Ok(AgentCommand { name, program: command.0, args, env: env.0, pinned: None })
        }));
        for server in written.mcp_servers {
            self.servers.push(server.read().map_err(|why| Failure::usage(format!("{place}: {why}")))?);
        }
        self.named_file = Some(file.to_owned());
        Ok(())
    }

    /// Behind those of the file; one of the same name is the file's.
    fn configuration(&mut self, settings: &Settings) -> Result<(), Failure> {
        let configured = start::configured(settings).map_err(as_usage)?;
        let mut found = agent_commands(&configured, &settings.env);
        let taken: Vec<String> = self.agents.iter().map(|agent| name(agent).to_owned()).collect();
        found.commands.retain(|agent| !taken.iter().any(|taken| taken == name(agent)));
        self.agents.append(&mut found.commands);
        self.untrusted = found.untrusted;
        self.warnings.extend(found.warnings);
        Ok(())
    }

    fn pick(self, wanted: Option<&str>, settings: &Settings) -> Result<Chosen, Failure> {
        let names: Vec<String> = self.agents.iter().map(|agent| name(agent).to_owned()).collect();
        let found = match wanted {
            Some(wanted) => self.agents.into_iter().find(|agent| name(agent) == wanted),
            None => self.agents.into_iter().next(),
        };
        let agent = match (found, wanted) {
            (Some(Ok(agent)), _) => agent,
            (Some(Err(unusable)), _) => return Err(Failure::usage(unusable.why)),
            (None, Some(wanted)) if self.untrusted.iter().any(|name| name == wanted) => {
                return Err(Failure::usage(format!(
                    "the agent {wanted} is this folder's own, and nobody trusts the folder: look at it with `zdx trust`"
                )));
            }
            (None, Some(wanted)) if !names.is_empty() => {
                return Err(Failure::usage(format!(
                    "there is no agent {wanted}; there are: {}",
                    names.join(", ")
                )));
            }
            (None, _) => {
                let file = settings.paths.base().join(DEFAULT_FILE);
                return Err(Failure::usage(format!(
                    "no agent is configured; write {} with {{\"agent_servers\": {{\"NAME\": {{\"command\": \"…\"}}}}}}, \
                     or a table [acp.agents.NAME] into zdx's configuration",
                    file.display()
                )));
            }
        };
        Ok(Chosen { agent, servers: self.servers, warnings: self.warnings })
    }
}

fn name(agent: &Result<AgentCommand, Unusable>) -> &str {
    match agent {
        Ok(agent) => &agent.name,
        Err(unusable) => &unusable.name,
    }
}

/// Bad settings are bad usage, whichever file they stand in.
pub fn as_usage(failure: Failure) -> Failure {
    match failure.message() {
        Some(message) => Failure::Usage(message),
        None => failure,
    }
}

fn read(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let opened = File::open(file).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    let read = opened.and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| reason(&error))?;
    if bytes.len() as u64 > LARGEST {
        return Err("it is larger than 1 MiB, which no settings need".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        format!("line {} is not UTF-8", good.iter().filter(|byte| **byte == b'\n').count() + 1)
    })
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
    fn read(self) -> Result<Server, String> {
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
        Ok(Server { name, transport, value })
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

    fn known(text: &str) -> Result<Known, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.json");
        std::fs::write(&file, text).unwrap();
        let mut known = Known::default();
        match known.file(&file) {
            Ok(()) => Ok(known),
            Err(failure) => Err(failure.message().unwrap().replace(dir.path().to_str().unwrap(), "")),
        }
    }

    #[test]
    fn agents_stay_in_written_order_and_servers_have_all_their_lists() {
        let known = known(
            r#"{"agent_servers": {"z": {"command": "zz", "args": ["a"], "env": {"K": "v"}}, "a": {"command": "aa"}},
                "mcp_servers": [{"name": "s", "command": "srv", "env": {"C": "1"}}, {"name": "bare", "command": "b"},
                    {"name": "h", "type": "http", "url": "http://x", "headers": [{"name": "A", "value": "b"}]}]}"#,
        )
        .unwrap();
        let names: Vec<&str> = known.agents.iter().map(name).collect();
        assert_eq!(names, ["z", "a"]);
        let values: Vec<&Value> = known.servers.iter().map(|server| &server.value).collect();
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
            let error = known(text).err().unwrap_or_else(|| panic!("{text} is fine"));
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
