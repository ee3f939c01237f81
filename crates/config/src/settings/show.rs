//! Configuration for people: each value with where it came from, and a commented file to start from.
//! Never shows a secret.

use serde_json::{Map, Value};

use super::layer::shown;
use super::resolve::ResolvedConfig;
use super::schema::{ALIASES, KEYS, SettingKey, SettingOwner, ValueKind};
use super::secret::called_secret;
use super::source::ValueSource;

/// One line of `config show`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSetting {
    pub key: String,
    /// JSON, or `unset`.
    pub value: String,
    pub source: ValueSource,
}

/// What `config init` writes: every setting, commented out, with its default.
pub fn init_text() -> &'static str {
    include_str!("init.toml")
}

/// Every value in the schema's order, whatever set it.
pub fn describe(resolved: &ResolvedConfig) -> Vec<ConfigSetting> {
    let mut out = Vec::new();
    for key in KEYS {
        let before = out.len();
        if key.kind == ValueKind::Rules {
            out.extend(resolved.config.permission.iter().map(|layer| ConfigSetting {
                key: key.path.to_owned(),
                value: layer.value.to_string(),
                source: layer.source.clone(),
            }));
        } else {
            out.extend(resolved.origins.leaves().filter(|(path, _)| fits(key, path)).map(|(path, leaf)| {
                ConfigSetting {
                    key: shown(path),
                    value: public(key.kind, &leaf.value).to_string(),
                    source: leaf.source.clone(),
                }
            }));
        }
        if out.len() == before && is_plain(key) {
            let value = "unset".to_owned();
            out.push(ConfigSetting { key: key.path.to_owned(), value, source: ValueSource::Default });
        }
    }
    out
}

/// Whether it is this key's value, and not that of one before it, which is the more particular.
fn fits(key: &SettingKey, path: &[String]) -> bool {
    KEYS.iter().find(|known| matches(known, path)).is_some_and(|known| std::ptr::eq(known, key))
}

fn matches(key: &SettingKey, path: &[String]) -> bool {
    let mut pattern = key.segments();
    path.iter().all(|name| pattern.next().is_some_and(|p| p == "*" || p == name)) && pattern.next().is_none()
}

/// A key worth a line even when nothing set it.
fn is_plain(key: &SettingKey) -> bool {
    let is_alias = ALIASES.iter().any(|(short, _)| *short == key.path);
    !key.path.contains('*') && !is_alias && key.setter != SettingOwner::Environment
}

pub(super) const HIDDEN: &str = "(hidden)";

/// The value without what might be a secret.
fn public(kind: ValueKind, value: &Value) -> Value {
    match (kind, value) {
        (ValueKind::Header, _) => HIDDEN.into(),
        (ValueKind::Url, Value::String(url)) => without_password(url).into(),
        (ValueKind::Open, value) => without_secrets(value),
        (_, value) => value.clone(),
    }
}

pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{HIDDEN}{}", &rest[at..]),
        None => url.to_owned(),
    }
}

/// Tables that other programs read may hold anything: what is handed to them as environment or headers, and
/// what is called a secret, stays hidden.
fn without_secrets(value: &Value) -> Value {
    let hide_all =
        |table: &Map<String, Value>| table.keys().map(|name| (name.clone(), Value::from(HIDDEN))).collect();
    match value {
        Value::Object(table) => table
            .iter()
            .map(|(name, value)| {
                let value = match value {
                    Value::Object(inner) if matches!(name.as_str(), "env" | "environment" | "headers") => {
                        hide_all(inner)
                    }
                    _ if called_secret(name) => HIDDEN.into(),
                    value => without_secrets(value),
                };
                (name.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(without_secrets).collect(),
        Value::String(text) => without_password(text).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
