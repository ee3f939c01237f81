//! What of a project's file counts before the user trusts it: what tightens and what informs, nothing else.
//! Goes by each key's [`SettingOwner`]; what is left out becomes a list of [`Want`]s, in words.

use std::path::{Path, PathBuf};

use serde_json::Value;
use zdx_protocol::Want;

use super::disclose::disclose;
use super::layer::{FileLayer, FoundValue, shown};
use super::merge::MergedSettings;
use super::schema::{SettingOwner, ValueKind};
use super::source::{ConfigLayer, FileRef, InstructionSource, ValueSource};

pub(super) struct FilteredLayer {
    pub found: Vec<FoundValue>,
    /// A system prompt of the project's: told to the model, in place of nothing.
    pub instructions: Vec<InstructionSource>,
    pub wants: Vec<Want>,
    pub notices: Vec<String>,
}

/// `weaker` is what the layers below say.
pub(super) fn filter(layer: FileLayer, weaker: &MergedSettings, root: &Path) -> FilteredLayer {
    let FileLayer { file, found, notices } = layer;
    let mut out = FilteredLayer { found: Vec::new(), instructions: Vec::new(), wants: Vec::new(), notices };
    for found in found {
        let source = ValueSource::File { layer: ConfigLayer::Project, path: file.clone(), line: found.line };
        let confined = |path: &str| FileRef {
            path: path.into(),
            confined_to: Some(root.to_owned()),
            source: source.clone(),
        };
        let want = |what: String| Want {
            file: file.strip_prefix(root).map_or_else(|_| file.clone(), PathBuf::from),
            line: found.line,
            key: shown(&found.path),
            what,
        };
        let added = || want("replace your system prompt; until then it is only added to yours".to_owned());
        match (found.key.setter, found.key.kind, &found.value) {
            (SettingOwner::Inform, ValueKind::Path, Value::String(path)) => {
                let named = confined(path);
                if named.escapes() {
                    let path = named.path.display();
                    out.wants
                        .push(want(format!("have the model read {path}, which leads out of the project")));
                } else {
                    out.wants.push(added());
                    out.instructions.push(InstructionSource::File(named));
                }
            }
            (SettingOwner::Inform, ValueKind::Text, Value::String(text)) => {
                out.wants.push(added());
                out.instructions.push(InstructionSource::Text { text: text.clone(), source: source.clone() });
            }
            (SettingOwner::Inform, ValueKind::MorePaths, Value::Array(paths)) => {
                let leads_out = |path: &Value| path.as_str().is_none_or(|path| confined(path).escapes());
                let (outside, inside): (Vec<_>, Vec<_>) = paths.iter().cloned().partition(leads_out);
                if !outside.is_empty() {
                    let named: Vec<_> = outside.iter().filter_map(Value::as_str).collect();
                    let named = named.join(", ");
                    out.wants
                        .push(want(format!("have the model read {named}, which leads out of the project")));
                }
                out.found.push(FoundValue { value: Value::Array(inside), ..found });
            }
            (SettingOwner::Raise, _, rules) => {
                let allowed = allowed(rules);
                if !allowed.is_empty() {
                    out.wants.push(want(format!("allow without asking: {}", allowed.join(", "))));
                }
                out.found.push(found);
            }
            (setter, _, value)
                if tightens(setter, value, weaker.get(&found.path).map(|leaf| &leaf.value)) =>
            {
                out.found.push(found);
            }
            _ => out.wants.push(want(words(&found, root))),
        }
    }
    out
}

/// What setting this key would mean for the user.
fn words(found: &FoundValue, root: &Path) -> String {
    let name = found.path.last().map_or("", String::as_str);
    let value = disclose(found.key.kind, name, &found.value, root);
    let text = match &value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    };
    let path: Vec<&str> = found.path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["mcp", name] if found.key.kind == ValueKind::Open => match value["url"].as_str() {
            Some(url) => format!("connect to the MCP server {name} at {url}: {text}"),
            None => format!("start the MCP server {name}: {text}"),
        },
        ["acp", "agents", name] => format!("have `zdx acp` start the agent {name}: {text}"),
        ["agent", name] => format!("define the agent {name}: {text}"),
        ["validation", "command"] => format!("run a command after each turn: {text}"),
        ["providers", name, "base_url"] => format!("send requests for {name} to {text}"),
        [short] if short.ends_with("_base_url") => format!("send requests to {text}"),
        ["env", "pass"] => format!("give commands your variables {text}"),
        ["approval"] => format!("let more happen without asking you: {text}"),
        _ => format!("set {} to {text}", shown(&found.path)),
    }
}

fn tightens(setter: SettingOwner, value: &Value, weaker: Option<&Value>) -> bool {
    match setter {
        SettingOwner::User | SettingOwner::Environment | SettingOwner::Inform => false,
        SettingOwner::Anyone | SettingOwner::Add | SettingOwner::Raise => true,
        SettingOwner::Lower => {
            let number = value.as_u64().unwrap_or(0);
            let limit = weaker.and_then(Value::as_u64).unwrap_or(0);
            number != 0 && (limit == 0 || number <= limit)
        }
        SettingOwner::Stricter => strictness(value) >= weaker.map_or(BALANCED, strictness),
    }
}

/// The strictest default of any front end, which holds where the user chose nothing.
const BALANCED: u8 = 1;

fn strictness(approval: &Value) -> u8 {
    match approval.as_str() {
        Some("paranoid") => 2,
        Some("balanced") => BALANCED,
        Some(_) | None => 0,
    }
}

/// The rules that say `allow`, as `tool` or `tool pattern`.
fn allowed(rules: &Value) -> Vec<String> {
    match rules {
        Value::Object(table) => table
            .iter()
            .flat_map(|(name, rule)| match rule.as_str() {
                Some("allow") => vec![name.clone()],
                Some(_) => Vec::new(),
                None => allowed(rule).into_iter().map(|pattern| format!("{name} {pattern:?}")).collect(),
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Vec::new(),
    }
}
