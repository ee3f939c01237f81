//! Which value wins: the layers in order, and what of an untrusted project's file counts.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::check::{self, Places};
use super::error::ConfigError;
use super::layer::{self, FileLayer, Found, find_config_file, shown};
use super::merge::Merged;
use super::schema::{KEYS, Kind, Setter, VENDOR_URLS};
use super::source::{FileRef, Layer, Source};
use super::tree::Node;
use super::value::{Config, Flags, LayerRules};
use crate::paths::{Env, Paths};

pub struct ResolveInput<'a> {
    pub paths: &'a Paths,
    /// The project's folder, absolute.
    pub root: &'a Path,
    pub env: &'a Env,
    pub flags: &'a Flags,
    /// The user trusts the project's files as they are.
    pub trusted: bool,
}

#[derive(Debug)]
pub struct Resolved {
    pub config: Config,
    /// For the user to read: unknown keys, and what an untrusted project may not set.
    pub notices: Vec<String>,
    /// The files that were read, weakest first.
    pub files: Vec<PathBuf>,
    /// Every value with its source, for `describe`.
    pub origins: Merged,
}

pub fn resolve(input: &ResolveInput) -> Result<Resolved, ConfigError> {
    let mismatch = |error: serde_json::Error| ConfigError::Mismatch(error.to_string());
    let mut stack = Stack {
        merged: Merged::defaults().map_err(mismatch)?,
        root: input.root,
        notices: Vec::new(),
        files: Vec::new(),
    };
    let home = input.paths.home();
    if let Some((file, named_by)) = global_file(input.paths)? {
        stack.file(layer::read(&file, named_by, home)?, Layer::Global, true);
    }
    if let Some(file) = project_file(input)? {
        stack.file(layer::read(&file, None, home)?, Layer::Project, input.trusted);
    }
    stack.environment(input.env, home)?;
    stack.flags(input.flags, home)?;

    let mut config = stack.merged.to_config().map_err(mismatch)?;
    if input.flags.max_tokens.is_some() {
        // Asked for on the command line, it holds for every model.
        config.models.values_mut().for_each(|model| model.max_tokens = None);
    }
    Ok(Resolved { config, notices: stack.notices, files: stack.files, origins: stack.merged })
}

/// The global file with the variable that names it, if one does.
fn global_file(paths: &Paths) -> Result<Option<(PathBuf, Option<&'static str>)>, ConfigError> {
    match paths.named_config() {
        Some((variable, file)) => Ok(Some((file.to_owned(), Some(variable)))),
        None => Ok(find_config_file(paths.base())?.map(|file| (file, None))),
    }
}

/// The project's file, unless it is the global one by another name.
fn project_file(input: &ResolveInput) -> Result<Option<PathBuf>, ConfigError> {
    let dir = Paths::project_dir(input.root);
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        (Err(_), _) | (_, Err(_)) => false,
    };
    if same(&dir, input.paths.base()) {
        return Ok(None);
    }
    let file = find_config_file(&dir)?;
    let is_global = |file: &PathBuf| input.paths.named_config().is_some_and(|(_, global)| same(file, global));
    Ok(file.filter(|file| !is_global(file)))
}

struct Stack<'a> {
    merged: Merged,
    root: &'a Path,
    notices: Vec<String>,
    files: Vec<PathBuf>,
}

impl Stack<'_> {
    fn file(&mut self, mut layer: FileLayer, which: Layer, trusted: bool) {
        self.notices.append(&mut layer.notices);
        // A vendor key and the table it is short for: the table is the more explicit one, so it comes last.
        layer.found.sort_by_key(|found| vendor_url(&found.path).is_none());
        let mut ignored = Vec::new();
        for found in layer.found {
            let source = Source::File { layer: which, path: layer.file.clone(), line: found.line };
            if trusted || self.may_set_untrusted(&found) {
                ignored.extend(self.found(found, source, trusted));
            } else {
                ignored.push(format!("{} (line {})", shown(&found.path), found.line));
            }
        }
        if !ignored.is_empty() {
            self.notices.push(format!(
                "{}: ignored until you trust this project: {}; read the file, then run zdx trust",
                layer.file.display(),
                ignored.join(", ")
            ));
        }
        self.files.push(layer.file);
    }

    /// What an untrusted project may set, key by key: see [`Setter`].
    fn may_set_untrusted(&self, found: &Found) -> bool {
        let weaker = self.merged.get(&found.path).map(|leaf| &leaf.value);
        match found.key.setter {
            Setter::User | Setter::Environment => false,
            Setter::Anyone | Setter::Add | Setter::Raise | Setter::OwnFiles => true,
            Setter::Lower => {
                let number = found.value.as_u64().unwrap_or(0);
                let limit = weaker.and_then(Value::as_u64).unwrap_or(0);
                number != 0 && (limit == 0 || number <= limit)
            }
            Setter::Stricter => strictness(Some(&found.value)) >= strictness(weaker),
        }
    }

    /// Takes a value in. Returns what of it an untrusted project may not have.
    fn found(&mut self, found: Found, source: Source, trusted: bool) -> Vec<String> {
        let Found { path, key, value, line } = found;
        let confined_to = (!trusted).then(|| self.root.to_owned());
        match (key.path, key.kind) {
            (_, Kind::Rules) => {
                let allows = if trusted { 0 } else { count_allows(&value) };
                self.merged.add_rules(LayerRules { source: source.clone(), trusted, value: value.clone() });
                self.merged.set(path, key.kind, value, source);
                let note = format!("{allows} allow rules (from line {line})");
                return if allows > 0 { vec![note] } else { Vec::new() };
            }
            ("system_prompt_file", _) => {
                let Some(named) = value.as_str() else { return Vec::new() };
                let file = FileRef { path: named.into(), confined_to, source: source.clone() };
                if file.escapes() {
                    return vec![format!("system_prompt_file (line {line}), which leads out of the project")];
                }
                self.merged.set_system_prompt_file(file);
                self.merged.set(path, key.kind, value, source);
            }
            (_, Kind::MorePaths) => return self.instructions(path, &value, &source, confined_to),
            (_, kind) => {
                let target = vendor_url(&path).unwrap_or(path);
                self.merged.set(target, kind, value, source);
            }
        }
        Vec::new()
    }

    fn instructions(
        &mut self,
        path: Vec<String>,
        value: &Value,
        source: &Source,
        confined_to: Option<PathBuf>,
    ) -> Vec<String> {
        let mut refused = Vec::new();
        let mut taken = Vec::new();
        for named in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let file =
                FileRef { path: named.into(), confined_to: confined_to.clone(), source: source.clone() };
            if file.escapes() {
                refused.push(format!("instructions file {named}, which leads out of the project"));
            } else {
                self.merged.add_instruction(file);
                taken.push(Value::from(named));
            }
        }
        self.merged.set(path, Kind::MorePaths, taken.into(), source.clone());
        refused
    }

    fn environment(&mut self, env: &Env, home: Option<&Path>) -> Result<(), ConfigError> {
        for key in KEYS {
            let Some((name, value)) = env.first_of(key.env) else { continue };
            let path: Vec<String> = key.segments().map(str::to_owned).collect();
            let source = Source::Env(name);
            let Some(text) = value.to_str() else {
                let message = "expected valid UTF-8".to_owned();
                return Err(ConfigError::Value { place: source.to_string(), key: shown(&path), message });
            };
            self.given(path, key.kind, Node::scalar(0, text), source, home)?;
        }
        Ok(())
    }

    fn flags(&mut self, flags: &Flags, home: Option<&Path>) -> Result<(), ConfigError> {
        let text = |value: &Option<String>| value.clone().map(Value::from);
        let given = [
            ("model", "--model", text(&flags.model)),
            ("provider", "--provider", text(&flags.provider)),
            ("temperature", "--temperature", flags.temperature.map(Value::from)),
            ("top_p", "--top-p", flags.top_p.map(Value::from)),
            ("max_tokens", "--max-tokens", flags.max_tokens.map(Value::from)),
            ("max_steps", "--max-steps", flags.max_steps.map(Value::from)),
            ("tool_timeout_secs", "--tool-timeout", flags.tool_timeout_secs.map(Value::from)),
            ("stream", "--stream", flags.stream.map(Value::from)),
            (
                "approval",
                "--approval",
                flags.approval.and_then(|approval| serde_json::to_value(approval).ok()),
            ),
        ];
        for (name, flag, value) in given {
            let (Some(value), Some(key)) = (value, KEYS.iter().find(|key| key.path == name)) else {
                continue;
            };
            self.given(vec![name.to_owned()], key.kind, Node::scalar(0, value), Source::Flag(flag), home)?;
        }
        if let Some(prompt) = &flags.system_prompt {
            // Not checked like the others: here an empty text says something.
            let source = Source::Flag("--system-prompt");
            self.merged.set(vec!["system_prompt".to_owned()], Kind::Text, prompt.as_str().into(), source);
        }
        Ok(())
    }

    /// A value from outside the files: checked like any other, relative to where zdx was started.
    fn given(
        &mut self,
        path: Vec<String>,
        kind: Kind,
        node: Node,
        source: Source,
        home: Option<&Path>,
    ) -> Result<(), ConfigError> {
        let here = std::path::absolute(".").unwrap_or_default();
        let checked = check::check(kind, &node, &Places { folder: &here, home })
            .map_err(|problem| layer::problem_at(source.to_string(), &path, problem.what))?;
        if let Some(value) = checked {
            self.merged.set(path, kind, value, source);
        }
        Ok(())
    }
}

fn vendor_url(path: &[String]) -> Option<Vec<String>> {
    let [name] = path else { return None };
    let (_, target) = VENDOR_URLS.iter().find(|(short, _)| short == name)?;
    Some(target.iter().map(|segment| (*segment).to_owned()).collect())
}

/// How strict an approval preset is; without one, as lax as the laxest front end's default.
fn strictness(approval: Option<&Value>) -> u8 {
    match approval.and_then(Value::as_str) {
        Some("paranoid") => 2,
        Some("balanced") => 1,
        Some(_) | None => 0,
    }
}

fn count_allows(rules: &Value) -> usize {
    match rules {
        Value::String(word) => usize::from(word == "allow"),
        Value::Object(table) => table.values().map(count_allows).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => 0,
    }
}
