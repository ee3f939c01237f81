//! Which value wins: the layers in order, from the defaults to the command line.

use std::path::{Path, PathBuf};

use serde_json::Value;
use zdx_protocol::Want;

use super::check::{self, PathBases};
use super::error::ConfigError;
use super::layer::{self, ConfigBytes, FileLayer, FoundValue, find_config_file, shown};
use super::merge::MergedSettings;
use super::schema::{ALIASES, KEYS, ValueKind};
use super::source::{ConfigLayer, FileRef, InstructionSource, ValueSource};
use super::tree::ConfigNode;
use super::untrusted;
use super::value::{Config, ConfigFlags, LayerList, LayerRules};
use crate::paths::{AppPaths, Environment};

pub struct ResolveInput<'a> {
    pub paths: &'a AppPaths,
    /// The project's folder, absolute.
    pub root: &'a Path,
    pub env: &'a Environment,
    pub flags: &'a ConfigFlags,
    /// The project's own file, from [`read_project`](super::read_project): not read again here.
    pub project: Option<&'a ConfigBytes>,
    /// Files of other programs that name MCP servers, from [`read_foreign`](super::read_foreign).
    pub foreign: &'a [ConfigBytes],
    /// The user trusts these very bytes.
    pub trusted: bool,
}

#[derive(Debug)]
pub struct ResolvedConfig {
    pub config: Config,
    /// For the user to read: unknown keys.
    pub notices: Vec<String>,
    /// What the project's file asks for and does not get until it is trusted.
    pub wants: Vec<Want>,
    /// The files that were read, weakest first.
    pub files: Vec<PathBuf>,
    /// Every value with its source, for `describe`.
    pub origins: MergedSettings,
}

pub fn resolve(input: &ResolveInput) -> Result<ResolvedConfig, ConfigError> {
    let mismatch = |error: serde_json::Error| ConfigError::Mismatch(error.to_string());
    let mut stack = LayerStack {
        merged: MergedSettings::defaults().map_err(mismatch)?,
        root: input.root,
        notices: Vec::new(),
        wants: Vec::new(),
        files: Vec::new(),
    };
    let home = input.paths.home();
    if let Some((file, named_by)) = global_file(input.paths)? {
        stack.file(layer::parse(&layer::read(&file, named_by)?, home, None)?, ConfigLayer::Global, true);
    }
    for bytes in input.foreign {
        stack.file(layer::parse_foreign(bytes), ConfigLayer::Project, input.trusted);
    }
    if let Some(bytes) = input.project {
        stack.file(layer::parse(bytes, home, Some(input.root))?, ConfigLayer::Project, input.trusted);
    }
    let mut weaker_models = Vec::from_iter(stack.model());
    stack.environment(input.env, home)?;
    weaker_models.extend(stack.model());
    stack.flags(input.flags, home)?;

    let mut config = stack.merged.to_config().map_err(mismatch)?;
    config.weaker_models = weaker_models;
    if input.flags.max_tokens.is_some() {
        // Asked for on the command line, it holds for every model.
        config.models.values_mut().for_each(|model| model.max_tokens = None);
    }
    let LayerStack { merged: origins, notices, wants, files, .. } = stack;
    Ok(ResolvedConfig { config, notices, wants, files, origins })
}

/// The global file with the variable that names it, if one does.
fn global_file(paths: &AppPaths) -> Result<Option<(PathBuf, Option<&'static str>)>, ConfigError> {
    match paths.named_config() {
        Some((variable, file)) => Ok(Some((file.to_owned(), Some(variable)))),
        None => Ok(find_config_file(paths.base())?.map(|file| (file, None))),
    }
}

/// Lists that policy reads layer by layer, like rules.
const COMMAND_LISTS: [&str; 3] = ["whitelist", "blacklist_patterns", "dangerous_patterns"];

struct LayerStack<'a> {
    merged: MergedSettings,
    root: &'a Path,
    notices: Vec<String>,
    wants: Vec<Want>,
    files: Vec<PathBuf>,
}

impl LayerStack<'_> {
    fn file(&mut self, mut layer: FileLayer, which: ConfigLayer, trusted: bool) {
        // An alias and the key it stands for: the key is the more explicit one, so it comes last.
        layer.found.sort_by_key(|found| alias_of(&found.path).is_none());
        let file = layer.file.clone();
        let (found, mut notices) = if trusted {
            (layer.found, layer.notices)
        } else {
            let filtered = untrusted::filter(layer, &self.merged, self.root);
            filtered.instructions.into_iter().for_each(|text| self.merged.add_instruction(text));
            self.wants.extend(filtered.wants);
            (filtered.found, filtered.notices)
        };
        self.notices.append(&mut notices);
        for found in found {
            let source = ValueSource::File { layer: which, path: file.clone(), line: found.line };
            self.found(found, source, trusted);
        }
        self.files.push(file);
    }

    /// The model that is named so far.
    fn model(&self) -> Option<String> {
        let leaf = self.merged.get(&["model".to_owned()])?;
        leaf.value.as_str().map(str::to_owned)
    }

    fn found(&mut self, found: FoundValue, source: ValueSource, trusted: bool) {
        let FoundValue { path, key, value, .. } = found;
        let named = |path: &str| FileRef {
            path: path.into(),
            confined_to: (!trusted).then(|| self.root.to_owned()),
            source: source.clone(),
        };
        match (key.kind, &value) {
            (ValueKind::Rules, _) => {
                self.merged.add_rules(LayerRules { source: source.clone(), trusted, value: value.clone() });
            }
            (kind, Value::Array(texts)) if COMMAND_LISTS.contains(&key.path) => {
                let texts = texts.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                self.merged.add_list(kind, LayerList { key: key.path, source: source.clone(), texts });
            }
            (ValueKind::MorePaths, Value::Array(paths)) => {
                for path in paths.iter().filter_map(Value::as_str) {
                    self.merged.add_instruction(InstructionSource::File(named(path)));
                }
            }
            (ValueKind::Path, Value::String(path)) if key.path == "system_prompt_file" => {
                self.merged.set_system_prompt_file(named(path));
            }
            _ => {}
        }
        self.merged.set(alias_of(&path).unwrap_or(path), key.kind, value, source);
    }

    fn environment(&mut self, env: &Environment, home: Option<&Path>) -> Result<(), ConfigError> {
        for key in KEYS {
            let Some((name, value)) = env.first_of(key.env) else { continue };
            let path: Vec<String> = key.segments().map(str::to_owned).collect();
            let source = ValueSource::Env(name);
            let Some(text) = value.to_str() else {
                let message = "expected valid UTF-8".to_owned();
                return Err(ConfigError::Value { place: source.to_string(), key: shown(&path), message });
            };
            self.given(path, key.kind, ConfigNode::scalar(0, text), source, home)?;
        }
        Ok(())
    }

    fn flags(&mut self, flags: &ConfigFlags, home: Option<&Path>) -> Result<(), ConfigError> {
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
            self.given(
                vec![name.to_owned()],
                key.kind,
                ConfigNode::scalar(0, value),
                ValueSource::Flag(flag),
                home,
            )?;
        }
        for (name, server) in &flags.mcp {
            let path = vec!["mcp".to_owned(), name.clone()];
            self.merged.set(path, ValueKind::Open, server.clone(), ValueSource::Flag("mcpServers"));
        }
        if let Some(prompt) = &flags.system_prompt {
            // Not checked like the others: here an empty text says something.
            let source = ValueSource::Flag("--system-prompt");
            self.merged.set(
                vec!["system_prompt".to_owned()],
                ValueKind::Text,
                prompt.as_str().into(),
                source,
            );
        }
        Ok(())
    }

    /// A value from outside the files: checked like any other, relative to where zdx was started.
    fn given(
        &mut self,
        path: Vec<String>,
        kind: ValueKind,
        node: ConfigNode,
        source: ValueSource,
        home: Option<&Path>,
    ) -> Result<(), ConfigError> {
        let here = std::path::absolute(".").unwrap_or_default();
        let checked = check::check(kind, &node, &PathBases { folder: &here, instructions: &here, home })
            .map_err(|problem| layer::problem_at(source.to_string(), &path, problem.what))?;
        if let Some(value) = checked {
            self.merged.set(path, kind, value, source);
        }
        Ok(())
    }
}

fn alias_of(path: &[String]) -> Option<Vec<String>> {
    let [name] = path else { return None };
    let (_, target) = ALIASES.iter().find(|(alias, _)| alias == name)?;
    Some(target.iter().map(|segment| (*segment).to_owned()).collect())
}
