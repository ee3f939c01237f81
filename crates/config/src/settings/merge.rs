//! Values of all layers, stacked: the last one set wins, with its source. Turns the stack into a `Config`.

use indexmap::IndexMap;
use serde::de::Error;
use serde_json::{Map, Value};

use super::schema::{KEYS, ValueKind};
use super::source::{FileRef, InstructionSource, ValueSource};
use super::value::{Config, LayerList, LayerRules, SystemPrompt};

#[derive(Clone, Debug, PartialEq)]
pub struct MergedValue {
    pub value: Value,
    pub source: ValueSource,
}

/// By path; names the user chose may hold any character, so a path is a list of segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergedSettings {
    leaves: IndexMap<Vec<String>, MergedValue>,
    rules: Vec<LayerRules>,
    lists: Vec<LayerList>,
    instructions: Vec<InstructionSource>,
    system_prompt_file: Option<FileRef>,
}

impl MergedSettings {
    pub fn defaults() -> serde_json::Result<Self> {
        let mut merged = Self::default();
        for key in KEYS {
            let Some(json) = key.default else { continue };
            let path = key.segments().map(str::to_owned).collect();
            merged.leaves.insert(
                path,
                MergedValue { value: serde_json::from_str(json)?, source: ValueSource::Default },
            );
        }
        Ok(merged)
    }

    pub fn get(&self, path: &[String]) -> Option<&MergedValue> {
        self.leaves.get(path)
    }

    pub fn leaves(&self) -> impl Iterator<Item = (&[String], &MergedValue)> {
        self.leaves.iter().map(|(path, leaf)| (path.as_slice(), leaf))
    }

    /// Sets a value, or adds to it where the key's kind says so.
    pub fn set(&mut self, path: Vec<String>, kind: ValueKind, value: Value, source: ValueSource) {
        let value = match (kind, self.leaves.get(&path), value) {
            (
                ValueKind::MoreTexts | ValueKind::MorePaths,
                Some(MergedValue { value: Value::Array(old), .. }),
                Value::Array(new),
            ) => {
                let mut all = old.clone();
                all.extend(new.into_iter().filter(|item| !old.contains(item)));
                Value::Array(all)
            }
            (_, _, value) => value,
        };
        self.leaves.insert(path, MergedValue { value, source });
    }

    pub fn add_rules(&mut self, rules: LayerRules) {
        self.rules.push(rules);
    }

    /// A list that replaces a weaker layer's leaves nothing of it.
    pub fn add_list(&mut self, kind: ValueKind, list: LayerList) {
        if kind == ValueKind::Texts {
            self.lists.retain(|weaker| weaker.key != list.key);
        }
        self.lists.push(list);
    }

    pub fn add_instruction(&mut self, instruction: InstructionSource) {
        self.instructions.push(instruction);
    }

    pub fn set_system_prompt_file(&mut self, file: FileRef) {
        self.system_prompt_file = Some(file);
    }

    pub fn to_config(&self) -> serde_json::Result<Config> {
        let mut root = Map::new();
        for (path, leaf) in &self.leaves {
            insert(&mut root, path, leaf.value.clone())?;
        }
        let mut config: Config = serde_json::from_value(Value::Object(root))?;
        config.permission = self.rules.clone();
        config.lists = self.lists.clone();
        config.instructions = self.instructions.clone();
        config.system_prompt = self.system_prompt();
        Ok(config)
    }

    /// The strongest layer that says anything; within one layer a file wins over a text.
    fn system_prompt(&self) -> SystemPrompt {
        let text = self.leaves.get(["system_prompt".to_owned()].as_slice());
        match (text, &self.system_prompt_file) {
            (None, None) => SystemPrompt::BuiltIn,
            (None, Some(file)) => SystemPrompt::File(file.clone()),
            (Some(text), Some(file)) if file.source.layer() >= text.source.layer() => {
                SystemPrompt::File(file.clone())
            }
            (Some(text), _) => match text.value.as_str() {
                None | Some("") => SystemPrompt::Nothing,
                Some(text) => SystemPrompt::Text(text.to_owned()),
            },
        }
    }
}

fn insert(table: &mut Map<String, Value>, path: &[String], value: Value) -> serde_json::Result<()> {
    match path {
        [] => Ok(()),
        [name] => {
            table.insert(name.clone(), value);
            Ok(())
        }
        [name, rest @ ..] => {
            let below = table.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
            match below {
                Value::Object(below) => insert(below, rest, value),
                _ => Err(serde_json::Error::custom(format!("{name} is both a value and a table"))),
            }
        }
    }
}
