//! What the raw input of another agent's call shows by itself, key by key. A key or a shape that is not listed here is not
//! understood, and what is not understood never passes unasked. Decides nothing.

use serde_json::{Map, Value};

use super::patch_files::PatchFiles;

/// Meaning of a key. Each has few spellings; a value of another type than expected is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RawKey {
    /// A command line, or its words.
    Command,
    Args,
    /// Where the command runs, or what is searched.
    Folder,
    Path,
    Paths,
    /// A second file of a change: where something comes from or goes to.
    OtherPath,
    /// Text of a change.
    Text,
    /// Text of a change that names files itself.
    Patch,
    /// Several replacements in one file.
    Edits,
    /// Changes by file.
    Changes,
    /// The kind of one entry of `changes`.
    ChangeKind,
    /// A setting of a change.
    Setting,
    /// What is looked for, and how much of it.
    Search,
    /// Text for the person, which nothing executes.
    Remark,
    /// A number of seconds or milliseconds.
    Timeout,
    /// Must be false: otherwise the command outlives the call.
    Background,
}

/// The only table of keys: [`RawShape`] says by it what is understood, [`targets`] which files are judged.
const KEYS: [(RawKey, &[&str]); 16] = [
    (RawKey::Command, &["command", "cmd", "command_line", "commandLine"]),
    (RawKey::Args, &["args"]),
    (RawKey::Folder, &["cwd", "workdir", "directory", "dir_path", "dir", "folder", "target_directory"]),
    (
        RawKey::Path,
        &[
            "path",
            "file_path",
            "filePath",
            "filepath",
            "filename",
            "file_name",
            "file",
            "absolute_path",
            "absolutePath",
            "notebook_path",
            "target_file",
        ],
    ),
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
            "old_content",
            "new_content",
        ],
    ),
    (RawKey::Patch, &["diff", "unified_diff", "patch"]),
    (RawKey::Edits, &["edits"]),
    (RawKey::Changes, &["changes"]),
    (RawKey::ChangeKind, &["type", "kind"]),
    (RawKey::Setting, &["replace_all", "replaceAll", "expected_replacements", "insert_line"]),
    (RawKey::Search, &["offset", "limit", "pattern", "glob", "include", "line"]),
    (RawKey::Remark, &["description", "reason"]),
    (RawKey::Timeout, &["timeout", "timeout_ms", "timeout_secs"]),
    (RawKey::Background, &["run_in_background", "is_background"]),
];

/// Keys of which each names a file.
const NAMING: [RawKey; 3] = [RawKey::Path, RawKey::Paths, RawKey::OtherPath];

/// Keys that speak of a change.
const CHANGING: [RawKey; 6] =
    [RawKey::Text, RawKey::Patch, RawKey::Edits, RawKey::Changes, RawKey::OtherPath, RawKey::Setting];

/// Keys of one entry of `edits`, and of one of `changes`.
const EDIT_KEYS: [RawKey; 3] = [RawKey::Text, RawKey::Patch, RawKey::Setting];
const CHANGE_KEYS: [RawKey; 5] =
    [RawKey::ChangeKind, RawKey::Path, RawKey::OtherPath, RawKey::Text, RawKey::Patch];

/// Deeper nesting is not searched; JSON is not read any deeper.
const DEEPEST: usize = 128;

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
    let inert = [RawKey::Remark, RawKey::Timeout];
    if count(RawKey::Command) > 0 {
        let alone =
            [&[RawKey::Command, RawKey::Args, RawKey::Folder, RawKey::Background], &inert[..]].concat();
        let plain = count(RawKey::Command) == 1 && count(RawKey::Folder) <= 1 && only(&alone);
        return if plain && reads_one_way(fields) { RawShape::Command } else { RawShape::Unknown };
    }
    let names =
        !named(fields).is_empty() || fields.iter().any(|(name, value)| !changed(name, value).is_empty());
    if keys.iter().any(|key| CHANGING.contains(key)) {
        let alone = [&NAMING[..], &CHANGING, &inert].concat();
        return if names && only(&alone) { RawShape::Change } else { RawShape::Unknown };
    }
    let alone = [&[RawKey::Path, RawKey::Paths, RawKey::Folder, RawKey::Search], &inert[..]].concat();
    if only(&alone) && !only(&inert) { RawShape::Names } else { RawShape::Unknown }
}

fn fits(key: RawKey, value: &Value) -> bool {
    let texts = |value: &Value| value.as_array().is_some_and(|all| all.iter().all(Value::is_string));
    match key {
        RawKey::Command => value.as_str().is_some_and(|text| !text.trim().is_empty()) || texts(value),
        RawKey::Args => value.is_string() || texts(value),
        RawKey::Folder | RawKey::Path | RawKey::OtherPath => value.as_str().is_some_and(reads_as_one_path),
        RawKey::Paths => texts(value) && strings(value).all(reads_as_one_path),
        RawKey::Text | RawKey::Remark | RawKey::ChangeKind => value.is_string(),
        RawKey::Patch => value.as_str().is_some_and(|text| {
            let patch = PatchFiles::of(text);
            patch.is_complete && patch.named.iter().all(|name| reads_as_one_path(name))
        }),
        RawKey::Edits => {
            value.as_array().is_some_and(|all| all.iter().all(|edit| is_entry(edit, &EDIT_KEYS)))
        }
        RawKey::Changes => match value {
            Value::Object(changes) => {
                changes.iter().all(|(path, change)| reads_as_one_path(path) && is_entry(change, &CHANGE_KEYS))
            }
            Value::Array(changes) => changes.iter().all(|change| is_entry(change, &CHANGE_KEYS)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        },
        RawKey::Setting => value.is_boolean() || value.is_number(),
        RawKey::Search => value.is_string() || value.is_number(),
        RawKey::Timeout => value.is_number(),
        RawKey::Background => *value == Value::Bool(false),
    }
}

/// An object of these keys, each with a value that fits it.
fn is_entry(value: &Value, allowed: &[RawKey]) -> bool {
    let known = |(name, value): (&String, &Value)| {
        value.is_null() || key_of(name).is_some_and(|key| allowed.contains(&key) && fits(key, value))
    };
    value.as_object().is_some_and(|fields| fields.iter().all(known))
}

/// Whether every program takes this for the same path: nothing to trim, to decode or to expand but `~/` and `file:///`.
fn reads_as_one_path(path: &str) -> bool {
    let plain = path.trim() == path && !path.contains(char::is_control);
    let home = !path.starts_with('~') || path == "~" || path.starts_with("~/");
    let address = match path.strip_prefix("file:///") {
        Some(rest) => !rest.contains(['%', '?', '#']),
        None => {
            !path.contains("://") && !path.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"))
        }
    };
    plain && home && address
}

/// Every file that the input names at any depth, whatever stands beside it.
pub(super) fn targets(input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    search_targets(input, DEEPEST, &mut found);
    found
}

fn search_targets(value: &Value, depth: usize, found: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::Object(fields) => {
            found.extend(named(fields));
            found.extend(fields.iter().flat_map(|(name, value)| changed(name, value)));
            fields.values().for_each(|value| search_targets(value, depth, found));
        }
        Value::Array(all) => all.iter().for_each(|value| search_targets(value, depth, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The files that an object's own path keys name. Relative ones may start at the folder that stands beside them; alone,
/// the folder itself is what is meant, unless a command runs there.
fn named(fields: &Map<String, Value>) -> Vec<String> {
    let values = |wanted: &[RawKey]| -> Vec<&str> {
        let values = fields.iter().filter(|(name, _)| key_of(name).is_some_and(|key| wanted.contains(&key)));
        values.flat_map(|(_, value)| strings(value)).filter(|path| !path.is_empty()).collect()
    };
    let (files, folders) = (values(&NAMING), values(&[RawKey::Folder]));
    let runs = fields.keys().any(|name| key_of(name) == Some(RawKey::Command));
    let folders = if runs { Vec::new() } else { folders };
    let relative = |path: &&str| !path.starts_with(['/', '~']) && !path.contains("://");
    let joined = folders.iter().flat_map(|folder| {
        let files = files.iter().copied().filter(relative);
        files.map(move |file| format!("{}/{file}", folder.trim_end_matches('/')))
    });
    let mut named: Vec<String> = joined.collect();
    let alone: &[&str] = if files.is_empty() { &folders } else { &files };
    named.extend(alone.iter().map(|path| (*path).to_owned()));
    named
}

/// The folder that a command is to run in.
pub(super) fn folder(input: &Value) -> Option<&str> {
    let mut values = input
        .as_object()?
        .iter()
        .filter(|(name, _)| key_of(name) == Some(RawKey::Folder))
        .map(|(_, value)| value);
    values.find_map(Value::as_str).filter(|folder| !folder.is_empty())
}

/// The files that the keys of `changes` and the headers of a patch name.
fn changed(name: &str, value: &Value) -> Vec<String> {
    match (key_of(name), value) {
        (Some(RawKey::Changes), Value::Object(changes)) => changes.keys().cloned().collect(),
        (Some(RawKey::Patch), Value::String(text)) => PatchFiles::of(text).named,
        _ => Vec::new(),
    }
}

/// A text, or those of a list.
fn strings(value: &Value) -> impl Iterator<Item = &str> {
    let all = match value {
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    all.iter().filter_map(Value::as_str)
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

/// Whether some key at any depth speaks of a change, whatever stands beside it.
pub(super) fn may_change(input: &Value) -> bool {
    let changing = |name: &String| key_of(name).is_some_and(|key| CHANGING.contains(&key));
    match input {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| (!value.is_null() && changing(name)) || may_change(value))
        }
        Value::Array(all) => all.iter().any(may_change),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
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
    use zdx_protocol::facts::{BASH, READ};

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
            (json!({"command": "ls", "timeout": "5; touch x"}), RawShape::Unknown),
            (json!({"command": "ls", "type": "x"}), RawShape::Unknown),
            (json!({"path": "a", "patch": "@@ -1 +1 @@\n-x\n+y\n"}), RawShape::Change),
            (json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n"}), RawShape::Change),
            (json!({"path": "a", "patch": "s/x/y/"}), RawShape::Unknown),
            (json!({"path": "a", "edits": [{"diff": "1d\nw .envrc"}]}), RawShape::Unknown),
            (json!({"path": "file:///w/a", "content": "x"}), RawShape::Change),
            (json!({"path": "file:///w/%2eenvrc", "content": "x"}), RawShape::Unknown),
            (json!({"path": "File:///w/.envrc", "content": "x"}), RawShape::Unknown),
            (json!({"path": "ssh://w/a", "content": "x"}), RawShape::Unknown),
            (json!({"path": ".envrc ", "content": "x"}), RawShape::Unknown),
            (json!({"paths": ["a", "~me/a"], "content": "x"}), RawShape::Unknown),
            (json!({"changes": {"a\n": {"type": "add", "content": "x"}}}), RawShape::Unknown),
            (json!({"changes": [{"type": "add", "path": "a", "content": 5}]}), RawShape::Unknown),
        ] {
            assert_eq!(RawShape::of(&input), shape, "{input}");
        }
    }

    /// Which keys carry nothing that a program would open or run.
    fn is_inert(key: RawKey) -> bool {
        match key {
            RawKey::Command
            | RawKey::Args
            | RawKey::Folder
            | RawKey::Path
            | RawKey::Paths
            | RawKey::OtherPath
            | RawKey::Patch
            | RawKey::Edits
            | RawKey::Changes => false,
            RawKey::Text
            | RawKey::ChangeKind
            | RawKey::Setting
            | RawKey::Search
            | RawKey::Remark
            | RawKey::Timeout
            | RawKey::Background => true,
        }
    }

    #[test]
    fn each_key_of_the_table_is_judged_or_inert() {
        const PLANTED: &str = ".git/hooks/pre-commit";
        let patch = format!("*** Begin Patch\n*** Update File: {PLANTED}\n+x\n*** End Patch");
        for (key, names) in KEYS {
            for name in names {
                assert_eq!(key_of(name), Some(key), "{name} stands in two rows");
                if is_inert(key) {
                    assert!(targets(&json!({*name: PLANTED})).is_empty(), "{name}");
                    continue;
                }
                let value = match key {
                    RawKey::Command | RawKey::Args => {
                        let input = json!({"x": {"command": "ls", *name: "rm kept"}});
                        assert!(commands(&input).iter().any(|line| line.contains("rm kept")), "{name}");
                        continue;
                    }
                    RawKey::Paths => json!(["a", PLANTED]),
                    RawKey::Patch => json!(patch),
                    RawKey::Edits => json!([{"old_text": "x", "patch": patch}]),
                    RawKey::Changes => json!({PLANTED: {"type": "add"}}),
                    _ => json!(PLANTED),
                };
                let mut beside = json!({"path": "a.txt", "content": "x"});
                beside[*name] = value.clone();
                for input in [
                    json!({*name: value}),
                    beside,
                    json!({"path": "a.txt", "content": "x", "changes": [{*name: value}]}),
                    json!({"tool": "x", "input": [{*name: value}]}),
                ] {
                    // A folder beside a file is where that file may lie.
                    let found = targets(&input);
                    assert!(found.iter().any(|path| path.starts_with(PLANTED)), "{input}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn the_arguments_of_our_own_tools_are_known() {
        for (facts, argument) in [(&READ, "path"), (&BASH, "command")] {
            let row = facts.arguments.iter().find(|row| row.name == argument).unwrap();
            for name in std::iter::once(&row.name).chain(row.others) {
                assert!(key_of(name).is_some_and(|key| !is_inert(key)), "{name}");
            }
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
