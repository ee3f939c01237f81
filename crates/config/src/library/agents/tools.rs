//! Which tools an agent is told of, and the permission rules that go with such a list.
//! In the spelling of opencode and Claude Code too; applies nothing.

use serde_json::{Map, Value, json};
use zdx_protocol::CallKind;
use zdx_protocol::facts::{self, BASH, PATCH, Touches};

use super::super::frontmatter::{FrontMatterFields, LibraryError};

/// `(name or pattern, told of)`; the last that matches decides.
type ToolRules = Vec<(String, bool)>;

/// All tools, unless rules say otherwise. Several lists of rules must all agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSet {
    lists: Vec<ToolRules>,
}

impl ToolSet {
    pub(super) fn only(names: &[&str]) -> Self {
        let listed = names.iter().map(|name| ((*name).to_owned(), true));
        Self { lists: vec![std::iter::once(("*".to_owned(), false)).chain(listed).collect()] }
    }

    pub(super) fn without(names: &[&str]) -> Self {
        Self { lists: vec![names.iter().map(|name| ((*name).to_owned(), false)).collect()] }
    }

    pub fn enabled(&self, tool: &str) -> bool {
        self.lists.iter().all(|rules| {
            let last = rules.iter().rev().find(|(pattern, _)| matches(pattern, tool));
            last.is_none_or(|(_, enabled)| *enabled)
        })
    }

    /// `own_word`: the user's own, so it may give back what an earlier rule took. A project's only takes away.
    pub(super) fn add(&mut self, rules: ToolRules, own_word: bool) {
        if rules.is_empty() {
            return;
        }
        match self.lists.last_mut() {
            Some(last) if own_word => last.extend(rules),
            Some(_) | None => self.lists.push(rules),
        }
    }
}

/// `*` at the end stands for anything.
fn matches(pattern: &str, tool: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => tool.starts_with(start),
        None => pattern == tool,
    }
}

/// What the fields `tools`, `disallowedTools` and `permissionMode` come to.
pub(super) struct DeclaredTools {
    pub rules: ToolRules,
    pub permission: Map<String, Value>,
}

pub(super) fn read(fields: &FrontMatterFields) -> Result<DeclaredTools, LibraryError> {
    let mut told = DeclaredTools { rules: Vec::new(), permission: Map::new() };
    match fields.get(&["tools"]) {
        None => {}
        Some(Value::Object(flags)) => {
            for (name, flag) in flags {
                let Some(enabled) = flag.as_bool() else {
                    return Err(fields.error(&["tools"], "must give each tool true or false"));
                };
                told.set(&known(name), enabled);
            }
        }
        Some(listed) => {
            let items = items(listed).ok_or_else(|| fields.error(&["tools"], LIST))?;
            told.only(&items);
        }
    }
    if let Some(listed) = fields.get(&["disallowedTools"]) {
        let items = items(listed).ok_or_else(|| fields.error(&["disallowedTools"], LIST))?;
        items.iter().for_each(|item| told.refuse(item));
    }
    if fields.text(&["permissionMode"]).is_some_and(|mode| mode == "plan") {
        for facts in facts::ALL.iter().filter(|facts| facts.kind == CallKind::Edit) {
            told.permission.insert(facts.permission.key.to_owned(), json!("deny"));
        }
    }
    Ok(told)
}

const LIST: &str = "must be a list of tools, a text with commas, or a table of true and false";

/// `Bash(git:*)`: the tool, and the commands that are meant.
struct ToolItem {
    name: String,
    pattern: Option<String>,
}

impl DeclaredTools {
    fn only(&mut self, items: &[ToolItem]) {
        if items.iter().any(|item| item.name == "*") {
            return;
        }
        self.rules.push(("*".to_owned(), false));
        items.iter().for_each(|item| self.rules.push((item.name.clone(), true)));
        let plain = |name: &str| items.iter().any(|item| item.name == name && item.pattern.is_none());
        let patterns = items.iter().filter_map(|item| Some((&item.name, item.pattern.as_ref()?)));
        for (_, pattern) in patterns.filter(|(name, _)| *name == BASH.name && !plain(name)) {
            // What is not named is refused; what is named is asked for as it would be anyway.
            let table = self.permission.entry(BASH.permission.key).or_insert_with(|| json!({"*": "deny"}));
            table[pattern] = json!("ask");
        }
    }

    fn refuse(&mut self, item: &ToolItem) {
        match &item.pattern {
            None => self.set(&item.name, false),
            Some(pattern) if item.name == BASH.name => {
                let table = self.permission.entry(BASH.permission.key).or_insert_with(|| json!({}));
                table[pattern] = json!("deny");
            }
            // A part that cannot be told from the whole: the whole is refused.
            Some(_) => self.set(&item.name, false),
        }
    }

    /// Who may not write or edit may not patch either, unless somebody says so.
    fn set(&mut self, name: &str, enabled: bool) {
        self.rules.push((name.to_owned(), enabled));
        let changes =
            |name| facts::facts(name).is_some_and(|facts| matches!(facts.touches, Touches::Changes(_)));
        if !enabled && changes(name) {
            self.rules.push((PATCH.name.to_owned(), false));
        }
    }
}

fn items(listed: &Value) -> Option<Vec<ToolItem>> {
    match listed {
        Value::String(text) => Some(split(text).iter().map(|text| item(text)).collect()),
        Value::Array(listed) => listed.iter().map(|one| one.as_str().map(item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// At commas and blanks, but not within brackets.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0usize;
    let mut items = vec![String::new()];
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match items.last_mut() {
            Some(last) if depth > 0 || !(c == ',' || c.is_whitespace()) => last.push(c),
            Some(_) | None => items.push(String::new()),
        }
    }
    items.retain(|item| !item.is_empty());
    items
}

fn item(text: &str) -> ToolItem {
    let text = text.trim();
    let Some((name, rest)) = text.split_once('(') else {
        return ToolItem { name: known(text), pattern: None };
    };
    let pattern = rest.trim_end().trim_end_matches(')').trim();
    // `git:*` is Claude Code's way to write `git *`.
    let pattern = match pattern.strip_suffix(":*") {
        Some(prefix) => format!("{prefix} *"),
        None => pattern.to_owned(),
    };
    let whole = matches!(pattern.as_str(), "" | "*");
    ToolItem { name: known(name.trim()), pattern: (!whole).then_some(pattern) }
}

/// Our name for a tool; one that we do not have keeps its own.
fn known(name: &str) -> String {
    facts::listed(name).map_or(name, |facts| facts.name).to_owned()
}

/// A `permission` value over rules that a tool list implied; one word stands for every tool.
pub(super) fn stacked(below: Map<String, Value>, table: &Value) -> Result<Map<String, Value>, &'static str> {
    match table {
        Value::Object(table) => Ok(over(below, table.clone())),
        Value::String(word) if matches!(word.as_str(), "allow" | "ask" | "deny") => {
            Ok(over(below, Map::from_iter([("*".to_owned(), json!(word))])))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("must be a table of rules, or one of allow, ask and deny")
        }
    }
}

/// One table after another: what the later one names moves to the end, where the last word is spoken.
pub(super) fn over(mut below: Map<String, Value>, above: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in above {
        let merged = match (below.shift_remove(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => Value::Object(over(below, above)),
            (Some(Value::String(word)), Value::Object(above)) => {
                Value::Object(over(Map::from_iter([("*".to_owned(), json!(word))]), above))
            }
            (_, value) => value,
        };
        below.insert(key, merged);
    }
    below
}
