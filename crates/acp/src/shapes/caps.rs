//! What an agent answers to `initialize`: which version it speaks, what it can do, how one logs in.

use serde_json::Value;

use super::{list, text};

#[derive(Debug, Clone, PartialEq)]
pub struct Welcome {
    /// `None` when it is no whole number.
    pub version: Option<i64>,
    pub name: Option<String>,
    pub agent_version: Option<String>,
    /// As it was sent.
    pub capabilities: Value,
    pub auth_methods: Vec<AuthMethod>,
}

impl Welcome {
    pub fn read(answer: &Value) -> Self {
        let info = &answer["agentInfo"];
        Self {
            version: answer["protocolVersion"].as_i64(),
            name: text(info, "title").or_else(|| text(info, "name")),
            agent_version: text(info, "version"),
            capabilities: answer["agentCapabilities"].clone(),
            auth_methods: AuthMethod::of(answer),
        }
    }

    /// `session/load`.
    pub fn loads(&self) -> bool {
        self.capabilities["loadSession"] == Value::Bool(true)
    }

    /// `session/list`, `session/resume` …, by the last word: advertised by an object, by some with `true`.
    pub fn offers(&self, what: &str) -> bool {
        offered(&self.capabilities["sessionCapabilities"][what])
    }

    pub fn offers_logout(&self) -> bool {
        offered(&self.capabilities["auth"]["logout"])
    }

    /// Whether a prompt may hold such content: `image`, `audio`, `embeddedContext`.
    pub fn takes_prompt(&self, content: &str) -> bool {
        self.capabilities["promptCapabilities"][content] == Value::Bool(true)
    }

    /// Whether it connects to MCP servers of this transport: `stdio`, `http`, `sse`.
    pub fn takes_mcp(&self, transport: &str) -> bool {
        transport == "stdio" || self.capabilities["mcpCapabilities"][transport] == Value::Bool(true)
    }
}

fn offered(value: &Value) -> bool {
    match value {
        Value::Object(_) | Value::Bool(true) => true,
        Value::Null | Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct AuthMethod {
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
    pub kind: AuthKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AuthKind {
    /// `authenticate` with its id.
    Agent,
    /// These variables have to be set before the agent is started.
    Variables(Vec<String>),
    /// The agent is to be run in a terminal, with these arguments; `authenticate` means nothing here.
    Terminal { args: Vec<String> },
}

impl AuthMethod {
    /// Those of an answer to `initialize`, or of the data of an error.
    pub fn of(value: &Value) -> Vec<Self> {
        list(value, "authMethods").iter().filter_map(Self::read).collect()
    }

    fn read(method: &Value) -> Option<Self> {
        let kind = match method["type"].as_str() {
            Some("terminal") => AuthKind::Terminal {
                args: list(method, "args").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            },
            Some("env_var") => AuthKind::Variables(variables(method)),
            Some(_) | None => AuthKind::Agent,
        };
        Some(Self {
            id: text(method, "id")?,
            name: text(method, "name"),
            description: text(method, "description"),
            kind,
        })
    }
}

/// One by `varName`, or several in `vars`, each a name or an object that has one.
fn variables(method: &Value) -> Vec<String> {
    let several = list(method, "vars").iter().filter_map(|var| {
        var.as_str().map(str::to_owned).or_else(|| text(var, "name")).or_else(|| text(var, "varName"))
    });
    text(method, "varName").into_iter().chain(several).collect()
}
