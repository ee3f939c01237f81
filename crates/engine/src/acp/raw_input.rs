//! What the raw input of another agent's call shows by itself, key by key. A key or a shape that is not listed here is not
//! understood, and what is not understood never passes unasked. Decides nothing.

use serde_json::{Map, Value};

/// Meaning of a key. Each has few spellings; a value of another type than expected is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RawKey {
    /// A command line, or its words.
    Command,
    Args,
    /// Where the command runs.
    Folder,
    Path,
    Paths,
    /// A second file of a change: where something comes from or goes to.
    OtherPath,
    /// Text of a change.
    Text,
    /// Several replacements in one file.
    Edits,
    /// Changes by file.
    Changes,
    /// A setting of a change.
    Setting,
    /// What is looked for, and how much of it.
    Search,
    /// Words or limits without an effect of their own.
    Remark,
    /// Must be false: otherwise the command outlives the call.
    Background,
}

const KEYS: [(RawKey, &[&str]); 13] = [
    (RawKey::Command, &["command", "cmd", "command_line", "commandLine"]),
    (RawKey::Args, &["args"]),
    (RawKey::Folder, &["cwd", "workdir", "directory", "dir_path"]),
    (RawKey::Path, &["path", "file_path", "filePath", "filepath", "absolute_path", "notebook_path"]),
    (RawKey::Paths, &["paths"]),
    (
        RawKey::OtherPath,
        &["from", "to", "source", "destination", "old_path", "new_path", "oldPath", "newPath", "move_path"],
    ),
    (
        RawKey::Text,
        &[
            "content",
            "contents",
            "file_text",
            "old_string",
            "new_string",
            "oldString",
            "newString",
            "old_str",
            "new_str",
            "old_text",
            "new_text",
            "oldText",
            "newText",
            "diff",
            "unified_diff",
            "patch",
        ],
    ),
    (RawKey::Edits, &["edits"]),
    (RawKey::Changes, &["changes"]),
    (RawKey::Setting, &["replace_all", "replaceAll", "expected_replacements", "insert_line"]),
    (RawKey::Search, &["offset", "limit", "pattern", "glob", "include", "line"]),
    (RawKey::Remark, &["description", "timeout", "timeout_ms", "timeout_secs"]),
    (RawKey::Background, &["run_in_background", "is_background"]),
];

/// Keys of one entry of `changes`.
const CHANGE_KEYS: [&str; 9] =
    ["type", "kind", "path", "content", "unified_diff", "diff", "move_path", "old_content", "new_content"];

/// Deeper nesting is not searched for commands.
const DEEPEST: usize = 8;

/// What a raw input is by its keys alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawShape {
    /// There is none: nothing but title and kind speak for the call.
    Absent,
    /// Some key, value or combination is not understood.
    Unknown,
    /// Runs a command, and nothing else.
    Command,
    /// Changes the files that it names.
    Change,
    /// Names files without saying what becomes of them.
    Names,
}

impl RawShape {
    pub fn of(input: &Value) -> Self {
        let fields = match input {
            Value::Null => return Self::Absent,
            Value::Object(fields) if fields.values().all(Value::is_null) => return Self::Absent,
            Value::Object(fields) => fields,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => return Self::Unknown,
        };
        let mut keys = Vec::new();
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            match key_of(name) {
                Some(key) if fits(key, value) => keys.push(key),
                Some(_) | None => return Self::Unknown,
            }
        }
        combined(&keys, fields)
    }
}

fn key_of(name: &str) -> Option<RawKey> {
    KEYS.iter().find(|(_, names)| names.contains(&name)).map(|(key, _)| *key)
}

fn combined(keys: &[RawKey], fields: &Map<String, Value>) -> RawShape {
    let count = |wanted: RawKey| keys.iter().filter(|key| **key == wanted).count();
    let only = |allowed: &[RawKey]| keys.iter().all(|key| allowed.contains(key));
    if count(RawKey::Command) > 0 {
        let alone = [RawKey::Command, RawKey::Args, RawKey::Folder, RawKey::Remark, RawKey::Background];
        let plain = count(RawKey::Command) == 1 && count(RawKey::Folder) <= 1 && only(&alone);
        return if plain && reads_one_way(fields) { RawShape::Command } else { RawShape::Unknown };
    }
    let named = [RawKey::Path, RawKey::Paths, RawKey::OtherPath, RawKey::Changes];
    let names = keys.iter().any(|key| named.contains(key));
    let changes = [RawKey::Text, RawKey::Edits, RawKey::Changes, RawKey::OtherPath, RawKey::Setting];
    if keys.iter().any(|key| changes.contains(key)) {
        let alone = [&named[..], &changes, &[RawKey::Remark]].concat();
        return if names && only(&alone) { RawShape::Change } else { RawShape::Unknown };
    }
    let alone = [RawKey::Path, RawKey::Paths, RawKey::Folder, RawKey::Search, RawKey::Remark];
    if only(&alone) && !only(&[RawKey::Remark]) { RawShape::Names } else { RawShape::Unknown }
}

fn fits(key: RawKey, value: &Value) -> bool {
    let texts = |value: &Value| value.as_array().is_some_and(|all| all.iter().all(Value::is_string));
    match key {
        RawKey::Command => value.as_str().is_some_and(|text| !text.trim().is_empty()) || texts(value),
        RawKey::Args => value.is_string() || texts(value),
        RawKey::Folder | RawKey::Path | RawKey::OtherPath | RawKey::Text => value.is_string(),
        RawKey::Paths => texts(value),
        RawKey::Edits => value.as_array().is_some_and(|all| {
            all.iter().all(|edit| {
                entry_of(edit, |name| matches!(key_of(name), Some(RawKey::Text | RawKey::Setting)))
            })
        }),
        RawKey::Changes => match value {
            Value::Object(changes) => changes.values().all(is_change),
            Value::Array(changes) => changes.iter().all(is_change),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        },
        RawKey::Setting => value.is_boolean() || value.is_number(),
        RawKey::Search => value.is_string() || value.is_number(),
        RawKey::Remark => value.is_string() || value.is_number(),
        RawKey::Background => *value == Value::Bool(false),
    }
}

fn is_change(value: &Value) -> bool {
    entry_of(value, |name| CHANGE_KEYS.contains(&name))
}

/// An object of these keys and plain values.
fn entry_of(value: &Value, known: impl Fn(&str) -> bool) -> bool {
    let plain = |value: &Value| !value.is_object() && !value.is_array();
    value.as_object().is_some_and(|fields| fields.iter().all(|(name, value)| known(name) && plain(value)))
}

/// Whether words given one by one mean the same to whoever runs them as they are, and to whoever joins them for a shell.
fn reads_one_way(fields: &Map<String, Value>) -> bool {
    let words = |value: &Value| match value {
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        other => vec![other.as_str().unwrap_or_default().to_owned()],
    };
    let is_plain = |word: &String| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:,@%+".contains(c))
    };
    let of =
        |wanted: RawKey| fields.iter().find(|(name, value)| key_of(name) == Some(wanted) && !value.is_null());
    match (of(RawKey::Command), of(RawKey::Args)) {
        (Some((_, Value::String(_))), None) | (None, _) => true,
        (Some((_, command)), args) => {
            let args = args.map(|(_, args)| words(args)).unwrap_or_default();
            words(command).iter().chain(&args).all(is_plain)
        }
    }
}

/// Every command line that the input holds at any depth, whatever stands beside it.
pub(super) fn commands(input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    search(input, DEEPEST, &mut found);
    found
}

fn search(value: &Value, depth: usize, found: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Object(fields) => {
            found.extend(super::proposal::command(value));
            // Two of them may stand side by side.
            let named = fields.iter().filter(|(name, _)| key_of(name) == Some(RawKey::Command));
            found.extend(
                named.filter_map(|(_, value)| {
                    super::proposal::command(&serde_json::json!({"command": value}))
                }),
            );
            fields.values().for_each(|value| search(value, depth, found));
        }
        Value::Array(all) => all.iter().for_each(|value| search(value, depth, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found.dedup();
}

/// Whether some key speaks of a change, whatever stands beside it.
pub(super) fn may_change(input: &Value) -> bool {
    let changes = [RawKey::Text, RawKey::Edits, RawKey::Changes, RawKey::OtherPath, RawKey::Setting];
    let changing = |name: &String| key_of(name).is_some_and(|key| changes.contains(&key));
    input.as_object().is_some_and(|fields| fields.keys().any(changing))
}

/// The keys that are not understood, with the beginning of what they say.
pub(crate) fn unknown_keys(input: &Value) -> Vec<String> {
    const SHOWN: usize = 60;
    let fields = input.as_object().into_iter().flatten();
    let unknown =
        fields.filter(|(name, value)| !value.is_null() && !key_of(name).is_some_and(|key| fits(key, value)));
    let shown = |(name, value): (&String, &Value)| {
        let text = value.to_string();
        let cut: String = text.chars().take(SHOWN).collect();
        format!("{name}={cut}{}", if cut.len() < text.len() { "…" } else { "" })
    };
    unknown.map(shown).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_every_key_of_is_known_has_a_shape() {
        for (input, shape) in [
            (json!(null), RawShape::Absent),
            (json!({"path": null}), RawShape::Absent),
            (json!("ls"), RawShape::Unknown),
            (json!(["ls"]), RawShape::Unknown),
            (json!({"command": "ls", "description": "List", "timeout": 5}), RawShape::Command),
            (json!({"command": "ls", "cwd": "/w", "is_background": false}), RawShape::Command),
            (json!({"command": ["git", "status"]}), RawShape::Command),
            (json!({"command": "git", "args": ["log", "-3"]}), RawShape::Command),
            (json!({"command": ["bash", "-lc", "ls && rm x"]}), RawShape::Unknown),
            (json!({"command": ["echo", "$(id)"]}), RawShape::Unknown),
            (json!({"command": "ls", "run_in_background": true}), RawShape::Unknown),
            (json!({"command": "ls", "env": {"PATH": "."}}), RawShape::Unknown),
            (json!({"command": "ls", "cmd": "rm x"}), RawShape::Unknown),
            (json!({"command": "view", "path": "a"}), RawShape::Unknown),
            (json!({"command": {"run": "ls"}}), RawShape::Unknown),
            (json!({"command": ""}), RawShape::Unknown),
            (json!({"filePath": "a", "offset": 3}), RawShape::Names),
            (json!({"path": "a", "content": "x"}), RawShape::Change),
            (
                json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true}),
                RawShape::Change,
            ),
            (json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}), RawShape::Change),
            (json!({"path": "a", "edits": [{"path": "/etc/x"}]}), RawShape::Unknown),
            (json!({"changes": {"a": {"type": "add", "content": "x"}}}), RawShape::Change),
            (json!({"changes": {"a": {"exec": "x"}}}), RawShape::Unknown),
            (json!({"content": "x"}), RawShape::Unknown),
            (json!({"description": "Read a file"}), RawShape::Unknown),
            (json!({"path": {"of": "a"}}), RawShape::Unknown),
        ] {
            assert_eq!(RawShape::of(&input), shape, "{input}");
        }
    }

    #[test]
    fn a_command_is_found_wherever_it_hides() {
        let input = json!({"tool": "x", "input": [{"cmd": "rm a"}], "command": "ls", "command_line": "id"});
        let found = commands(&input);
        for command in ["ls", "id", "rm a"] {
            assert!(found.iter().any(|found| found == command), "{found:?}");
        }
        assert_eq!(unknown_keys(&json!({"command": "ls", "env": {"A": "b"}})), [r#"env={"A":"b"}"#]);
    }
}
