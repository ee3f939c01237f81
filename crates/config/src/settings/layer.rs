//! One configuration file: found, read, parsed and held against the schema. Decides nothing about other layers.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::check::{self, PathBases, ProblemKind, ValueProblem};
use super::error::ConfigError;
use super::provider;
use super::schema::{self, KeyMatch, SettingKey, ValueKind};
use super::secret;
use super::servers;
use super::tree::{self, ConfigFormat, ConfigNode, NodeShape, NodeTable};
use crate::paths::{AppPaths, Environment};
use crate::trust::CommandSource;
use zdx_workspace::own_files::read_regular;
use zdx_workspace::workspace::{FileError, Workspace};

const LARGEST_FILE: usize = 1 << 20;
/// A file full of unknown keys must not flood the screen.
const MOST_UNKNOWN: usize = 10;

/// One value a file sets.
#[derive(Debug)]
pub(super) struct FoundValue {
    pub path: Vec<String>,
    pub key: &'static SettingKey,
    pub value: Value,
    pub line: usize,
}

#[derive(Debug)]
pub(super) struct FileLayer {
    pub file: PathBuf,
    pub found: Vec<FoundValue>,
    pub notices: Vec<String>,
}

/// The one configuration file of a folder.
pub fn find_config_file(dir: &Path) -> Result<Option<PathBuf>, ConfigError> {
    // A dangling link is there too: better an error than settings that silently do not apply.
    let mut present = AppPaths::config_candidates(dir).filter(|path| path.symlink_metadata().is_ok());
    match (present.next(), present.next()) {
        (Some(first), Some(second)) => Err(ConfigError::TwoFiles { first, second }),
        (first, _) => Ok(first),
    }
}

/// A configuration file as it was read. What was looked at, hashed and asked about is what is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigBytes {
    pub file: PathBuf,
    pub bytes: Vec<u8>,
}

/// A file of the user's own, wherever it lies.
pub(super) fn read(file: &Path, named_by: Option<&'static str>) -> Result<ConfigBytes, ConfigError> {
    // The customary way to say "none".
    if file == Path::new("/dev/null") {
        return Ok(ConfigBytes { file: file.to_owned(), bytes: Vec::new() });
    }
    let unreadable = |source| ConfigError::Unreadable { path: file.to_owned(), source, variable: named_by };
    let read = read_regular(file, LARGEST_FILE).map_err(unreadable)?;
    match read.cut {
        true => Err(ConfigError::TooLarge { path: file.to_owned() }),
        false => Ok(ConfigBytes { file: file.to_owned(), bytes: read.bytes }),
    }
}

/// Files of other programs that name MCP servers.
const FOREIGN: [&str; 2] = [".mcp.json", ".cursor/mcp.json"];

/// Those of them that the project has; what cannot be read is said and left out.
pub fn read_foreign(root: &Path) -> (Vec<ConfigBytes>, Vec<String>) {
    let (mut read, mut notices) = (Vec::new(), Vec::new());
    for file in FOREIGN.map(|name| root.join(name)).into_iter().filter(|file| file.symlink_metadata().is_ok())
    {
        match read_inside(root, file) {
            Ok(bytes) => read.push(bytes),
            Err(error) => notices.push(format!("ignored: {error}")),
        }
    }
    (read, notices)
}

/// The project's file, unless it is the global one by another name.
pub fn read_project(paths: &AppPaths, root: &Path) -> Result<Option<ConfigBytes>, ConfigError> {
    project_file(paths, root)?.map(|file| read_inside(root, file)).transpose()
}

/// A file of the project. No link may lead out of `root` to it.
fn read_inside(root: &Path, file: PathBuf) -> Result<ConfigBytes, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: file.clone(), source, variable: None };
    let failed = |error: FileError| match error {
        FileError::TooLarge { .. } => ConfigError::TooLarge { path: file.clone() },
        FileError::Io { source, .. } => unreadable(source),
        FileError::Escape(_) => ConfigError::Outside { path: file.clone() },
        FileError::Missing(_) => unreadable(std::io::ErrorKind::NotFound.into()),
        FileError::NotRegular { what, .. } => {
            unreadable(std::io::Error::other(format!("it is {what}, not a regular file")))
        }
        FileError::BadPath(_)
        | FileError::ChangedMeanwhile(_)
        | FileError::LosesBytes(_)
        | FileError::Folder { .. }
        | FileError::Damaged { .. }
        | FileError::Editor { .. } => unreadable(std::io::ErrorKind::InvalidInput.into()),
    };
    let workspace = Workspace::open(root).map_err(unreadable)?;
    let target = workspace.locate(&file).map_err(failed)?;
    if !target.inside {
        return Err(ConfigError::Outside { path: file });
    }
    let bytes = workspace.read_file(&target, LARGEST_FILE as u64).map_err(failed)?;
    Ok(ConfigBytes { file, bytes })
}

fn project_file(paths: &AppPaths, root: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let dir = AppPaths::project_dir(root);
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        (Err(_), _) | (_, Err(_)) => false,
    };
    if same(&dir, paths.base()) {
        return Ok(None);
    }
    let file = find_config_file(&dir)?;
    let is_global = |file: &PathBuf| paths.named_config().is_some_and(|(_, global)| same(file, global));
    Ok(file.filter(|file| !is_global(file)))
}

/// `project` is the folder whose configuration it is, if it is a project's.
pub(super) fn parse(
    config: &ConfigBytes,
    home: Option<&Path>,
    project: Option<&Path>,
) -> Result<FileLayer, ConfigError> {
    let file = config.file.as_path();
    let text = text(config)?;
    let format = match file.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => ConfigFormat::Toml,
        Some("json" | "jsonc") => ConfigFormat::Jsonc,
        Some(_) | None if text.trim_start().starts_with('{') => ConfigFormat::Jsonc,
        Some(_) | None => ConfigFormat::Toml,
    };
    let root = tree::parse(text, format).map_err(|error| ConfigError::Syntax {
        path: file.to_owned(),
        line: error.line,
        message: error.message,
    })?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut walk = LayerWalk {
        file,
        places: PathBases { folder, instructions: project.unwrap_or(folder), home },
        found: Vec::new(),
        unknown: Vec::new(),
    };
    walk.table(&mut Vec::new(), &servers::rewrite(provider::rewrite(root)))?;
    let notices = walk.unknown_notices();
    Ok(FileLayer { file: file.to_owned(), found: walk.found, notices })
}

/// The commands that a project's files want run (MCP servers, ACP agents, the check), each as its words with variables
/// filled in. A file that cannot be parsed wants none: resolving it says what is wrong.
pub fn commands(
    paths: &AppPaths,
    env: &Environment,
    root: &Path,
    config: Option<&ConfigBytes>,
    foreign: &[ConfigBytes],
) -> Vec<CommandSource> {
    let own = config.and_then(|config| parse(config, paths.home(), Some(root)).ok());
    let layers = own.into_iter().chain(foreign.iter().map(parse_foreign));
    let found = layers.flat_map(|layer| layer.found);
    let sources = found.filter_map(|found| match (found.key.path, &found.value) {
        ("mcp.*" | "acp.agents.*", Value::Object(table)) => Some(program(table, env)),
        ("validation.command", Value::String(command)) => Some(CommandSource::shell(command.trim())),
        _ => None,
    });
    sources.collect()
}

/// The program of a server's or an agent's table.
fn program(table: &Map<String, Value>, env: &Environment) -> CommandSource {
    let filled = |text: &str| env.filled(text).unwrap_or_else(|_| text.to_owned());
    let mut words = Vec::new();
    for value in ["command", "args"].iter().filter_map(|key| table.get(*key)) {
        match value {
            Value::Array(items) => words.extend(items.iter().filter_map(Value::as_str).map(filled)),
            one => words.extend(one.as_str().map(filled)),
        }
    }
    let tables = ["env", "environment"].iter().filter_map(|key| table.get(*key)?.as_object());
    let variables =
        tables.flatten().filter_map(|(name, value)| Some((name.clone(), filled(value.as_str()?))));
    CommandSource::program(&words, variables).within(table.get("cwd").and_then(Value::as_str))
}

/// The MCP servers of another program's file. What is wrong with it is no reason not to start.
pub(super) fn parse_foreign(config: &ConfigBytes) -> FileLayer {
    let file = config.file.as_path();
    let read =
        || -> Result<Vec<FoundValue>, ConfigError> {
            let root = tree::parse(text(config)?, ConfigFormat::Jsonc).map_err(|error| {
                ConfigError::Syntax { path: file.to_owned(), line: error.line, message: error.message }
            })?;
            let folder = file.parent().unwrap_or(Path::new("/"));
            let places = PathBases { folder, instructions: folder, home: None };
            let mut walk = LayerWalk { file, places, found: Vec::new(), unknown: Vec::new() };
            walk.table(&mut Vec::new(), &servers::foreign(root))?;
            // A server that is called like one of our settings is none of them.
            walk.found.retain(|found| found.key.kind == ValueKind::Open);
            Ok(walk.found)
        };
    let (found, notices) = match read() {
        Ok(found) => (found, Vec::new()),
        Err(error) => (Vec::new(), vec![format!("ignored: {error}")]),
    };
    FileLayer { file: file.to_owned(), found, notices }
}

fn text(config: &ConfigBytes) -> Result<&str, ConfigError> {
    let text = std::str::from_utf8(&config.bytes).map_err(|error| {
        let good = &config.bytes[..error.valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        ConfigError::Syntax { path: config.file.clone(), line, message: "this is not valid UTF-8".to_owned() }
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

struct LayerWalk<'a> {
    file: &'a Path,
    places: PathBases<'a>,
    found: Vec<FoundValue>,
    unknown: Vec<String>,
}

impl LayerWalk<'_> {
    fn table(&mut self, path: &mut Vec<String>, table: &NodeTable) -> Result<(), ConfigError> {
        for (name, node) in table {
            path.push(name.clone());
            self.entry(path, node)?;
            path.pop();
        }
        Ok(())
    }

    fn entry(&mut self, path: &mut Vec<String>, node: &ConfigNode) -> Result<(), ConfigError> {
        match (schema::lookup(path), &node.shape) {
            (KeyMatch::Leaf(key), _) => self.leaf(path, key, node),
            (KeyMatch::Branch, NodeShape::Table(table)) => self.table(path, table),
            (KeyMatch::Branch, NodeShape::Scalar(_) | NodeShape::List(_)) => {
                let message = format!("expected a table, found {}", node.type_name());
                Err(self.problem(path, ValueProblem { line: node.line, what: ProblemKind::Wrong(message) }))
            }
            (KeyMatch::Unknown, _) => {
                self.refuse_secrets(path, node)?;
                let hint = schema::suggest(path)
                    .map_or_else(String::new, |known| format!("; did you mean {known}?"));
                self.unknown.push(format!(
                    "{}:{}: unknown key {} is ignored{hint}",
                    self.file.display(),
                    node.line,
                    shown(path)
                ));
                Ok(())
            }
        }
    }

    /// An unknown key may be a key to a provider, however deep it was put.
    fn refuse_secrets(&self, path: &mut Vec<String>, node: &ConfigNode) -> Result<(), ConfigError> {
        let called_secret = path.last().is_some_and(|name| secret::called_secret(name));
        if called_secret && node.text().is_some_and(|text| !text.is_empty()) {
            return Err(self.problem(path, ValueProblem { line: node.line, what: ProblemKind::Secret }));
        }
        if let NodeShape::Table(table) = &node.shape {
            for (name, node) in table {
                path.push(name.clone());
                self.refuse_secrets(path, node)?;
                path.pop();
            }
        }
        Ok(())
    }

    fn leaf(
        &mut self,
        path: &[String],
        key: &'static SettingKey,
        node: &ConfigNode,
    ) -> Result<(), ConfigError> {
        let checked =
            check::check(key.kind, node, &self.places).map_err(|problem| self.problem(path, problem))?;
        let name = path.last().map_or("", String::as_str);
        if checked.as_ref().is_some_and(|value| secret::is_one(key.kind, name, value)) {
            return Err(self.problem(path, ValueProblem { line: node.line, what: ProblemKind::Secret }));
        }
        if let Some(value) = checked {
            self.found.push(FoundValue { path: path.to_owned(), key, value, line: node.line });
        }
        Ok(())
    }

    fn problem(&self, path: &[String], problem: ValueProblem) -> ConfigError {
        let place = format!("{}:{}", self.file.display(), problem.line);
        problem_at(place, path, problem.what)
    }

    fn unknown_notices(&mut self) -> Vec<String> {
        let more = self.unknown.len().saturating_sub(MOST_UNKNOWN);
        let mut notices = std::mem::take(&mut self.unknown);
        notices.truncate(MOST_UNKNOWN);
        if more > 0 {
            notices.push(format!("{}: {more} more unknown keys are ignored", self.file.display()));
        }
        notices
    }
}

pub(super) fn problem_at(place: String, path: &[String], what: ProblemKind) -> ConfigError {
    match what {
        ProblemKind::Wrong(message) => ConfigError::Value { place, key: shown(path), message },
        ProblemKind::Secret => ConfigError::Secret { place, key: shown(path) },
    }
}

/// A path as it is written in TOML: names with dots or slashes in quotes.
pub(super) fn shown(path: &[String]) -> String {
    let plain = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*'))
    };
    path.iter()
        .map(|name| if plain(name) { name.clone() } else { format!("{name:?}") })
        .collect::<Vec<_>>()
        .join(".")
}
