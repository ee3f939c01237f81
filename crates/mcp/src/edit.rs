//! Servers added to, removed from and switched in the user's own configuration file. Only that place of the file changes:
//! comments and everything else stay as they were written.

use std::path::{Path, PathBuf};

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};
use zdx_protocol::redact::names_secret_value;

use super::comments;
use super::entry::check_name;
use super::names;
use zdx_config::AppPaths;
use zdx_config::user_file::{UserFileError, edit_user_file, is_json, parse_json, parse_toml};

/// Where servers may stand in a file: in our words, in those of others.
const TABLES: [&str; 2] = ["mcp", "mcpServers"];
const LONGEST_NAME: usize = 24;

#[derive(Debug, thiserror::Error)]
pub enum ServerEditError {
    #[error(transparent)]
    File(#[from] UserFileError),
    #[error("{0}")]
    Name(String),
    #[error("{} has a server named {name} already; remove it first, or choose another name", file.display())]
    There { file: PathBuf, name: String },
    #[error("there is no server named {name} in {}; `zdx mcp list` says which there are, and a project's are changed in its own files", file.display())]
    Missing { file: PathBuf, name: String },
    #[error(
        "{name} looks like a secret, which has no place in a file: export it, and give --env {name} alone"
    )]
    Secret { name: String },
}

pub struct ServerAddition<'a> {
    pub name: &'a str,
    pub command: &'a [String],
    /// `NAME` is passed on from zdx's environment, `NAME=value` is set.
    pub environment: &'a [String],
}

/// The file that was changed.
pub fn add(paths: &AppPaths, addition: &ServerAddition<'_>) -> Result<PathBuf, ServerEditError> {
    let name = addition.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        let why =
            format!("{name:?} is no name for a server: letters, digits, `_` and `-`, at most {LONGEST_NAME}");
        return Err(ServerEditError::Name(why));
    }
    if !names::splits(name) {
        let why = format!("{name:?} is no name for a server: no `__`, and no `_` at either end");
        return Err(ServerEditError::Name(why));
    }
    check_name(name).map_err(ServerEditError::Name)?;
    let environment =
        addition.environment.iter().map(|given| variable(given)).collect::<Result<Vec<_>, _>>()?;
    edit_user_file(paths, |file, text| {
        match is_json(file, text) {
            true => json_add(text, addition, &environment),
            false => toml_add(text, addition, &environment),
        }
        .map_err(|fault| fault.of(file, name))
    })
}

pub fn remove(paths: &AppPaths, name: &str) -> Result<PathBuf, ServerEditError> {
    edit_user_file(paths, |file, text| {
        match is_json(file, text) {
            true => json_change(text, name, |server| server.remove()),
            false => toml_remove(text, name),
        }
        .map_err(|fault| fault.of(file, name))
    })
}

pub fn set_enabled(paths: &AppPaths, name: &str, enabled: bool) -> Result<PathBuf, ServerEditError> {
    edit_user_file(paths, |file, text| {
        match is_json(file, text) {
            true => json_change(text, name, |server| {
                let Some(server) = server.object_value() else { return };
                if let Some(other) = server.get("disabled").filter(|_| enabled) {
                    other.remove();
                }
                match server.get("enabled") {
                    Some(switch) => switch.set_value(CstInputValue::Bool(enabled)),
                    None => drop(server.append("enabled", CstInputValue::Bool(enabled))),
                }
            }),
            false => toml_change(text, name, |table| {
                if let Some(server) = table.get_mut(name).and_then(Item::as_table_like_mut) {
                    if enabled {
                        server.remove("disabled");
                    }
                    // What is written behind the old value stays.
                    match server.get_mut("enabled").and_then(Item::as_value_mut) {
                        Some(old) => {
                            let decor = old.decor().clone();
                            *old = enabled.into();
                            *old.decor_mut() = decor;
                        }
                        None => drop(server.insert("enabled", value(enabled))),
                    }
                }
            }),
        }
        .map_err(|fault| fault.of(file, name))
    })
}

/// Why a text cannot be changed so.
enum EditFault {
    There,
    Missing,
    Syntax(String),
}

impl EditFault {
    fn of(self, file: &Path, name: &str) -> ServerEditError {
        let (file, name) = (file.to_owned(), name.to_owned());
        match self {
            Self::There => ServerEditError::There { file, name },
            Self::Missing => ServerEditError::Missing { file, name },
            Self::Syntax(why) => UserFileError::Syntax { file, why }.into(),
        }
    }
}

fn variable(given: &str) -> Result<(String, String), ServerEditError> {
    let (name, value) = match given.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (given, format!("${{{given}}}")),
    };
    if names_secret_value(name, &value) && given.contains('=') {
        return Err(ServerEditError::Secret { name: name.to_owned() });
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match !name.is_empty() && name.chars().all(plain) {
        true => Ok((name.to_owned(), value)),
        false => Err(ServerEditError::Name(format!("{name:?} is no name of a variable"))),
    }
}

fn toml_add(
    text: &str,
    addition: &ServerAddition<'_>,
    environment: &[(String, String)],
) -> Result<String, EditFault> {
    let mut document = toml(text)?;
    if TABLES.iter().any(|table| document.get(table).and_then(|table| table.get(addition.name)).is_some()) {
        return Err(EditFault::There);
    }
    let command: Array = addition.command.iter().collect();
    // Behind everything that is there: comments stay where they are, and the new table below them.
    let behind = format!("{}{}", ended(text), rendered(addition.name, &command, environment));
    if toml(&behind).is_ok() {
        return Ok(behind);
    }
    let servers = document.get_mut(TABLES[0]).and_then(Item::as_inline_table_mut);
    let servers = servers.ok_or_else(|| EditFault::Syntax("`mcp` is no table".to_owned()))?;
    let mut server = InlineTable::new();
    server.insert("command", command.into());
    if !environment.is_empty() {
        let table: InlineTable = environment.iter().map(|(name, text)| (name, text)).collect();
        server.insert("environment", table.into());
    }
    servers.insert(addition.name, server.into());
    Ok(document.to_string())
}

/// With an empty line at its end, unless it is empty.
fn ended(text: &str) -> String {
    match text.trim().is_empty() {
        true => String::new(),
        false if text.ends_with("\n\n") => text.to_owned(),
        false if text.ends_with('\n') => format!("{text}\n"),
        false => format!("{text}\n\n"),
    }
}

/// `[mcp.name]` and what belongs to it.
fn rendered(name: &str, command: &Array, environment: &[(String, String)]) -> String {
    let (mut document, mut servers, mut server) = (DocumentMut::new(), Table::new(), Table::new());
    server.insert("command", value(command.clone()));
    if !environment.is_empty() {
        let mut table = Table::new();
        environment.iter().for_each(|(name, text)| drop(table.insert(name, value(text))));
        server.insert("environment", Item::Table(table));
    }
    servers.set_implicit(true);
    servers.insert(name, Item::Table(server));
    document.insert(TABLES[0], Item::Table(servers));
    document.to_string()
}

fn toml_change(text: &str, name: &str, change: impl FnOnce(&mut dyn TableLike)) -> Result<String, EditFault> {
    let mut document = toml(text)?;
    let table = holder(&document, name)?;
    let servers = document.get_mut(table).and_then(Item::as_table_like_mut).ok_or(EditFault::Missing)?;
    change(servers);
    Ok(document.to_string())
}

fn toml_remove(text: &str, name: &str) -> Result<String, EditFault> {
    let mut document = toml(text)?;
    let table = holder(&document, name)?;
    let servers = document.get_mut(table).and_then(Item::as_table_like_mut).ok_or(EditFault::Missing)?;
    if let Some(Item::Table(gone)) = servers.remove(name) {
        comments::keep(&mut document, &gone);
    }
    Ok(document.to_string())
}

/// The table that has this server.
fn holder(document: &DocumentMut, name: &str) -> Result<&'static str, EditFault> {
    let has = |table: &&&str| {
        document.get(table).and_then(|servers| servers.get(name)).is_some_and(Item::is_table_like)
    };
    TABLES.iter().find(has).copied().ok_or(EditFault::Missing)
}

fn toml(text: &str) -> Result<DocumentMut, EditFault> {
    parse_toml(text).map_err(EditFault::Syntax)
}

fn json_add(
    text: &str,
    addition: &ServerAddition<'_>,
    environment: &[(String, String)],
) -> Result<String, EditFault> {
    let root = json(text)?;
    let top = root.object_value_or_create().ok_or_else(|| EditFault::Syntax("it is no object".to_owned()))?;
    let there =
        |table: &&str| top.object_value(table).is_some_and(|servers| servers.get(addition.name).is_some());
    if TABLES.iter().any(there) {
        return Err(EditFault::There);
    }
    let words = addition.command.iter().map(|word| CstInputValue::String(word.clone())).collect();
    let mut server = vec![("command".to_owned(), CstInputValue::Array(words))];
    if !environment.is_empty() {
        let set = environment.iter().map(|(name, text)| (name.clone(), CstInputValue::String(text.clone())));
        server.push(("environment".to_owned(), CstInputValue::Object(set.collect())));
    }
    let servers = top.object_value_or_create(TABLES[0]);
    let servers = servers.ok_or_else(|| EditFault::Syntax("`mcp` is no object".to_owned()))?;
    servers.append(addition.name, CstInputValue::Object(server));
    Ok(root.to_string())
}

fn json_change(
    text: &str,
    name: &str,
    change: impl FnOnce(jsonc_parser::cst::CstObjectProp),
) -> Result<String, EditFault> {
    let root = json(text)?;
    let top: CstObject = root.object_value().ok_or(EditFault::Missing)?;
    let server =
        |table: &&str| top.object_value(table)?.get(name).filter(|found| found.object_value().is_some());
    let found = TABLES.iter().find_map(server).ok_or(EditFault::Missing)?;
    change(found);
    Ok(root.to_string())
}

fn json(text: &str) -> Result<CstRootNode, EditFault> {
    parse_json(text).map_err(EditFault::Syntax)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jsonc_parser::ParseOptions;
    use zdx_config::Environment;

    use super::*;

    fn with(
        name: &str,
        text: &str,
        edit: impl FnOnce(&AppPaths) -> Result<PathBuf, ServerEditError>,
    ) -> String {
        let dir = tempfile::tempdir().unwrap();
        let paths =
            AppPaths::from_env(&Environment::from_pairs([("ZDX_HOME", dir.path().to_str().unwrap())]))
                .unwrap();
        fs::write(dir.path().join(name), text).unwrap();
        match edit(&paths) {
            Ok(file) => fs::read_to_string(file).unwrap(),
            Err(error) => {
                assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), text, "nothing was touched");
                error.to_string()
            }
        }
    }

    const TOML: &str = "# mine\nmodel = \"a/b\" # the one\n\n[mcp.db] # a server\ncommand = [\"db\"]\nenabled = true # for now\n\n# end\n";
    const JSON: &str = "{\n  // mine\n  \"model\": \"a/b\",\n  \"mcp\": {\n    \"db\": { \"command\": [\"db\"] }, // a server\n  }\n}\n";

    fn fresh() -> (Vec<String>, Vec<String>) {
        (vec!["npx".into(), "-y".into()], vec!["TOKEN".into(), "MODE=fast".into()])
    }

    #[test]
    fn a_server_is_added_and_nothing_else_changes() {
        let (command, environment) = fresh();
        let addition = ServerAddition { name: "web", command: &command, environment: &environment };
        let toml = with("config.toml", TOML, |paths| add(paths, &addition));
        for kept in ["# mine\n", "# the one", "[mcp.db] # a server", "true # for now", "# end"] {
            assert!(toml.contains(kept), "{kept} in {toml}");
        }
        assert!(toml.contains("[mcp.web]\ncommand = [\"npx\", \"-y\"]"), "{toml}");
        assert!(toml.contains("[mcp.web.environment]\nTOKEN = \"${TOKEN}\"\nMODE = \"fast\""), "{toml}");
        let json = with("config.jsonc", JSON, |paths| add(paths, &addition));
        assert!(json.contains("// mine") && json.contains("// a server"), "{json}");
        let parsed: serde_json::Value =
            jsonc_parser::parse_to_serde_value(&json, &ParseOptions::default()).unwrap();
        assert_eq!(parsed["mcp"]["web"]["command"][1], "-y");
        assert_eq!(parsed["mcp"]["web"]["environment"]["TOKEN"], "${TOKEN}");
        let none = with("config.toml", "", |paths| add(paths, &addition));
        assert!(none.starts_with("[mcp.web]\n"), "{none}");
        // A file of nothing but comments keeps them at its top.
        let init = zdx_config::init_text();
        let added = with("config.toml", init, |paths| add(paths, &addition));
        assert!(added.starts_with(init) && added.contains("\n\n[mcp.web]\n"), "{added}");
        let inline = with("config.toml", "mcp = { max_tools = 3 }\n", |paths| add(paths, &addition));
        assert!(inline.starts_with("mcp = { max_tools = 3 ") && inline.contains(", web = {"), "{inline}");
    }

    #[test]
    fn a_server_is_switched_and_removed() {
        let off = with("config.toml", TOML, |paths| set_enabled(paths, "db", false));
        assert_eq!(off, TOML.replace("enabled = true", "enabled = false"));
        let off = with("config.jsonc", JSON, |paths| set_enabled(paths, "db", false));
        assert!(off.contains("\"enabled\": false") && off.contains("// a server"), "{off}");
        let gone = with("config.toml", TOML, |paths| remove(paths, "db"));
        assert!(gone.contains("# mine") && !gone.contains("command"), "{gone}");
        let notes = "# top\n\n# of others\n\n# of db\n[mcp.db]\ncommand = [\"db\"]\n\n# apart\n\n[mcp.db.env]\nA = \"a\"\n";
        let gone = with("config.toml", notes, |paths| remove(paths, "db"));
        assert_eq!(gone, "# top\n\n# of others\n\n\n# apart\n\n");
        let more = format!("{notes}\n# of ui\n[ui]\ncolor = true\n");
        let gone = with("config.toml", &more, |paths| remove(paths, "db"));
        assert_eq!(gone, "# top\n\n# of others\n\n\n# apart\n\n\n# of ui\n[ui]\ncolor = true\n");
        let gone = with("config.jsonc", JSON, |paths| remove(paths, "db"));
        assert!(gone.contains("// mine") && !gone.contains("command"), "{gone}");
        let theirs = "{\"mcpServers\": {\"db\": {\"command\": \"db\"}}}";
        let off = with("config.json", theirs, |paths| set_enabled(paths, "db", false));
        assert!(off.contains("\"enabled\": false"), "{off}");
        // Switched on, it is on, whichever word switched it off.
        let on = with("config.json", &theirs.replace("}}}", ", \"disabled\": true}}}"), |paths| {
            set_enabled(paths, "db", true)
        });
        assert!(on.contains("\"enabled\": true") && !on.contains("disabled"), "{on}");
        let on = with("config.toml", "[mcp.db]\ncommand = [\"db\"]\ndisabled = true\n", |paths| {
            set_enabled(paths, "db", true)
        });
        assert_eq!(on, "[mcp.db]\ncommand = [\"db\"]\nenabled = true\n");
    }

    #[test]
    fn what_cannot_be_done_says_why() {
        let (command, environment) = fresh();
        let say = |name: &str, environment: &[String], text: &str| {
            with("config.toml", text, |paths| {
                add(paths, &ServerAddition { name, command: &command, environment })
            })
        };
        assert!(say("db", &environment, TOML).contains("already"));
        assert!(say("file", &environment, TOML).contains("taken"));
        for name in ["a b", "a__b", "_a", "a_"] {
            assert!(say(name, &environment, TOML).contains("no name for a server"), "{name}");
        }
        assert!(say("x", &["API_KEY=abcd1234efgh".into()], TOML).contains("--env API_KEY alone"));
        assert!(say("x", &[], "a = [").contains("put it right first"));
        assert!(with("config.toml", TOML, |paths| remove(paths, "web")).contains("no server named web"));
        // A setting beside the servers is none of them.
        assert!(say("max_tools", &environment, TOML).contains("is a setting"));
        let missing = "no server named max_tools";
        let toml = "[mcp]\nmax_tools = 3\n";
        assert!(with("config.toml", toml, |paths| remove(paths, "max_tools")).contains(missing));
        assert!(with("config.toml", toml, |paths| set_enabled(paths, "max_tools", true)).contains(missing));
        let json = "{\"mcp\": {\"max_tools\": 3}}";
        assert!(with("config.json", json, |paths| remove(paths, "max_tools")).contains(missing));
        assert!(with("config.json", json, |paths| set_enabled(paths, "max_tools", true)).contains(missing));
    }
}
