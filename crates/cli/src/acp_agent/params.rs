//! What a client's requests bring, read into plain values; what is wrong with them is said as an error of the protocol.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use zdx_acp::RpcError;

/// Of a request that opens a session.
pub struct Place {
    pub cwd: PathBuf,
    /// Each as the table of an MCP server says it.
    pub servers: Vec<(String, Value)>,
}

/// What the client can do that matters to us.
#[derive(Clone, Copy, Debug, Default)]
pub struct Client {
    /// It shows notices.
    pub notices: bool,
    /// It lends its files: to read, to write.
    pub reads: bool,
    pub writes: bool,
}

impl Client {
    pub fn read(params: &Value) -> Self {
        let can = &params["clientCapabilities"];
        let notices = &can["session"]["notices"];
        Self {
            notices: notices.is_object() || notices == &Value::Bool(true),
            reads: can["fs"]["readTextFile"] == true,
            writes: can["fs"]["writeTextFile"] == true,
        }
    }
}

pub fn text<'a>(params: &'a Value, field: &str) -> Result<&'a str, RpcError> {
    params[field].as_str().ok_or_else(|| RpcError::invalid_params(format!("`{field}` is missing or no text")))
}

fn list<'a>(params: &'a Value, field: &str) -> Result<&'a [Value], RpcError> {
    match &params[field] {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(RpcError::invalid_params(format!("`{field}` is no array"))),
    }
}

impl Place {
    pub fn read(params: &Value) -> Result<Self, RpcError> {
        let servers = list(params, "mcpServers")?.iter().map(server).collect::<Result<_, _>>()?;
        Ok(Self { cwd: folder(text(params, "cwd")?)?, servers })
    }
}

/// Links followed; there, and a folder.
pub fn folder(path: &str) -> Result<PathBuf, RpcError> {
    if !Path::new(path).is_absolute() {
        return Err(RpcError::invalid_params(format!("`cwd` is not absolute: {path}")));
    }
    let found = std::fs::canonicalize(path);
    found
        .ok()
        .filter(|path| path.is_dir())
        .ok_or_else(|| RpcError::invalid_params(format!("`cwd` is no folder, or cannot be entered: {path}")))
}

fn server(server: &Value) -> Result<(String, Value), RpcError> {
    let name = text(server, "name")?.to_owned();
    if !matches!(server["type"].as_str(), None | Some("stdio")) {
        let why = format!("MCP server {name}: only servers over stdio can be spoken to");
        return Err(RpcError::invalid_params(why));
    }
    let mut command = vec![text(server, "command")?.to_owned()];
    for word in list(server, "args")? {
        let word = word.as_str().ok_or_else(|| RpcError::invalid_params("`args` holds what is no text"))?;
        command.push(word.to_owned());
    }
    let mut environment = Map::new();
    for pair in list(server, "env")? {
        environment.insert(text(pair, "name")?.to_owned(), json!(text(pair, "value")?));
    }
    Ok((name, json!({"command": command, "environment": environment})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_as_its_table_would_say_it() {
        let given =
            json!({"name": "db", "command": "/bin/db", "args": ["-x"], "env": [{"name": "A", "value": "b"}]});
        let (name, table) = server(&given).unwrap();
        assert_eq!(name, "db");
        assert_eq!(table, json!({"command": ["/bin/db", "-x"], "environment": {"A": "b"}}));
        for wrong in [
            json!({"name": "db"}),
            json!({"type": "http", "name": "db", "url": "http://x", "headers": []}),
            json!({"name": "db", "command": "x", "args": [1]}),
            json!({"name": "db", "command": "x", "env": {"A": "b"}}),
        ] {
            assert!(server(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_folder_has_to_be_there_and_be_named_from_the_root() {
        for wrong in ["src", "", "/dev/null", "/no/such/folder"] {
            assert!(folder(wrong).is_err(), "{wrong}");
        }
        assert_eq!(folder("/").unwrap(), Path::new("/"));
    }
}
