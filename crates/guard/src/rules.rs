//! Permission tables, layer by layer, and what they say about one call.
//! Knows nothing of approval modes, floors or the disk: those are `judge`'s.

use regex::Regex;
use serde_json::{Map, Value};
use zdx_protocol::facts::{BASH, TASK, permission_keys};
use zdx_protocol::{Action, Level};

use super::limits::{Budget, MAX_RULE_PATTERN, MAX_RULE_STEPS};
use super::pattern::{CommandPattern, Reading, glob, glob_within};

/// Longest pattern list and pattern a layer may bring: config is bounded like everything else.
const MAX_RULES: usize = 2_000;
const REGEX_SIZE: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{layer}: `{key}` {message}")]
pub struct RuleError {
    pub layer: String,
    pub key: String,
    pub message: String,
}

/// The rules of one place, as configuration keeps them: ordered values, nothing interpreted yet.
#[derive(Clone, Debug, Default)]
pub struct LayerSource<'a> {
    /// Where it was written, as a person would name it: `built-in`, a file, `agent plan`.
    pub origin: String,
    /// An untrusted layer can only raise a verdict.
    pub trusted: bool,
    pub permission: Option<&'a Value>,
    pub whitelist: &'a [String],
    pub blacklist_patterns: &'a [String],
    pub dangerous_patterns: &'a [String],
}

#[derive(Clone, Debug)]
struct Rule {
    /// The tool's key, or a pattern of tool names.
    key: String,
    pattern: Option<CommandPattern>,
    /// The pattern as text, for names and paths.
    text: Option<String>,
    level: Level,
}

impl Rule {
    fn covers(&self, key: &str) -> bool {
        // The catch-all speaks of tools; leaving the workspace is no tool and needs its own word.
        self.key == key || (key != EXTERNAL && self.key.contains('*') && glob(&self.key, key))
    }

    fn is_catch_all(&self) -> bool {
        self.pattern.as_ref().is_none_or(CommandPattern::is_catch_all)
    }
}

#[derive(Clone, Debug)]
struct Layer {
    origin: String,
    trusted: bool,
    base: bool,
    rules: Vec<Rule>,
    blacklist: Vec<Regex>,
    dangerous: Vec<Regex>,
}

/// The level that the rules give, and which rule of which layer gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    pub level: Level,
    pub rule: Option<String>,
    /// Written by somebody, not the built-in table.
    pub written: bool,
    /// A written `allow` for the tool as a whole.
    pub whole_tool: bool,
}

impl Ruling {
    /// A written `deny` stands against every later layer.
    fn is_final(&self) -> bool {
        self.level == Level::Deny && self.written
    }
}

pub(crate) const EXTERNAL: &str = "external_directory";
/// The key whose patterns speak of command lines.
const COMMANDS: &str = BASH.permission.key;

/// All layers in order. Cheap to share, never changed once built.
#[derive(Clone, Debug)]
pub struct Rules {
    layers: Vec<Layer>,
}

impl Default for Rules {
    fn default() -> Self {
        Self::base()
    }
}

impl Rules {
    /// The table that holds when nobody wrote anything.
    pub fn base() -> Self {
        let rule = |key: &str, text: Option<&str>, level| Rule {
            key: key.to_owned(),
            pattern: text.map(CommandPattern::new),
            text: text.map(str::to_owned),
            level,
        };
        let mut rules = vec![rule("*", None, Level::Ask)];
        rules.extend(permission_keys().map(|permission| rule(permission.key, None, permission.level)));
        // It only looks, with tools that are judged one by one.
        rules.push(rule(TASK.permission.key, Some("explore"), Level::Allow));
        for pattern in ["ls *", "cat *", "grep *"] {
            rules.push(rule(COMMANDS, Some(pattern), Level::Allow));
        }
        rules.push(rule(EXTERNAL, None, Level::Ask));
        let base = Layer {
            origin: "built-in".to_owned(),
            trusted: true,
            base: true,
            rules,
            blacklist: Vec::new(),
            dangerous: Vec::new(),
        };
        Self { layers: vec![base] }
    }

    /// Adds a layer above those already there. Returns what deserves a warning.
    pub fn add(&mut self, source: &LayerSource<'_>) -> Result<Vec<String>, RuleError> {
        let mut parser = Parser { origin: &source.origin, rules: Vec::new(), warnings: Vec::new() };
        if let Some(permission) = source.permission {
            parser.permission(permission)?;
        }
        for prefix in source.whitelist {
            parser.whitelist(prefix)?;
        }
        let blacklist = compile(&source.origin, "blacklist_patterns", source.blacklist_patterns)?;
        let dangerous = compile(&source.origin, "dangerous_patterns", source.dangerous_patterns)?;
        let Parser { rules, warnings, .. } = parser;
        self.layers.push(Layer {
            origin: source.origin.clone(),
            trusted: source.trusted,
            base: false,
            rules,
            blacklist,
            dangerous,
        });
        Ok(warnings)
    }

    /// A tool without patterns: `read`, `write`, `todo`, …
    pub fn tool(&self, key: &str) -> Ruling {
        self.decide(key, &Budget::of(MAX_RULE_STEPS), |rule| rule.pattern.is_none())
    }

    /// A tool whose patterns speak of names (`skill`, `task`, `mcp`) or paths (`external_directory`).
    /// Any of the spellings may be the one a pattern means.
    pub fn named(&self, key: &str, spellings: &[&str]) -> Ruling {
        let budget = Budget::of(MAX_RULE_STEPS);
        self.decide(key, &budget, |rule| match &rule.text {
            None => true,
            Some(text) => spellings.iter().any(|name| glob_within(text, name, &budget)),
        })
    }

    /// One simple command. `views` are the ways to read it, the command itself first, then what wraps it or
    /// hides behind a path; `plain` says that its words are exactly what will run.
    pub(crate) fn command(&self, views: &[Vec<String>], plain: bool, budget: &Budget) -> Ruling {
        self.decide(COMMANDS, budget, |rule| {
            let Some(pattern) = &rule.pattern else { return true };
            match rule.level {
                Level::Allow => {
                    pattern.is_catch_all()
                        || (plain
                            && views
                                .first()
                                .is_some_and(|argv| pattern.matches(argv, Reading::Narrow, budget)))
                }
                Level::Ask | Level::Confirm | Level::Deny => {
                    pattern.is_catch_all()
                        || views.iter().any(|argv| pattern.matches(argv, Reading::Wide, budget))
                }
            }
        })
    }

    /// The pattern of `blacklist_patterns` that covers this text, and its layer.
    pub(crate) fn blacklisted(&self, text: &str, budget: &Budget) -> Option<String> {
        self.regex_match(text, budget, |layer| &layer.blacklist, "blacklist_patterns")
    }

    /// The pattern of `dangerous_patterns` that covers this text, and its layer.
    pub(crate) fn dangerous(&self, text: &str, budget: &Budget) -> Option<String> {
        self.regex_match(text, budget, |layer| &layer.dangerous, "dangerous_patterns")
    }

    /// The first that matches, as far as the budget goes.
    fn regex_match(
        &self,
        text: &str,
        budget: &Budget,
        list: impl Fn(&Layer) -> &Vec<Regex>,
        key: &str,
    ) -> Option<String> {
        self.layers.iter().find_map(|layer| {
            let hit =
                list(layer).iter().find(|pattern| budget.spend(text.len()) && pattern.is_match(text))?;
            Some(format!("{key} \"{}\" ({})", hit.as_str(), layer.origin))
        })
    }

    /// In a layer the last match wins. Across layers the later wins, but a written `deny` stands, and an
    /// untrusted layer only raises. Where the budget ends before that, a person has to confirm.
    fn decide(&self, key: &str, budget: &Budget, matches: impl Fn(&Rule) -> bool) -> Ruling {
        let mut ruling = Ruling { level: Level::Ask, rule: None, written: false, whole_tool: false };
        for layer in &self.layers {
            if ruling.is_final() {
                break;
            }
            let fits = |rule: &&Rule| budget.is_exceeded() || (rule.covers(key) && matches(rule));
            let found = layer.rules.iter().rev().find(fits).filter(|_| !budget.is_exceeded());
            let Some(rule) = found else { continue };
            let raises = rule.level > ruling.level;
            if !layer.trusted && !raises {
                continue;
            }
            ruling = Ruling {
                level: rule.level,
                rule: Some(describe(rule, layer)),
                written: !layer.base,
                whole_tool: !layer.base && rule.level == Level::Allow && rule.is_catch_all(),
            };
        }
        if budget.is_exceeded() && !ruling.is_final() {
            let rule = Some("more rules than it can be compared with".to_owned());
            return Ruling { level: Level::Confirm, rule, written: true, whole_tool: false };
        }
        ruling
    }
}

fn describe(rule: &Rule, layer: &Layer) -> String {
    match &rule.text {
        Some(text) => format!("{} \"{text}\" = {} ({})", rule.key, rule.level, layer.origin),
        None => format!("{} = {} ({})", rule.key, rule.level, layer.origin),
    }
}

fn compile(layer: &str, key: &str, patterns: &[String]) -> Result<Vec<Regex>, RuleError> {
    if patterns.len() > MAX_RULES {
        return Err(error(layer, key, format!("has more than {MAX_RULES} entries")));
    }
    patterns
        .iter()
        .map(|pattern| {
            regex::RegexBuilder::new(pattern).size_limit(REGEX_SIZE).build().map_err(|cause| {
                error(layer, key, format!("has an invalid regular expression \"{pattern}\": {cause}"))
            })
        })
        .collect()
}

fn error(layer: &str, key: &str, message: impl Into<String>) -> RuleError {
    RuleError { layer: layer.to_owned(), key: key.to_owned(), message: message.into() }
}

/// Keys of no tool of ours; they take a table of patterns.
const OTHER_KEYS: [&str; 2] = [Action::MCP_KEY, EXTERNAL];

fn takes_patterns(key: &str) -> bool {
    let ours = permission_keys().any(|permission| permission.key == key && permission.patterns);
    ours || OTHER_KEYS.contains(&key)
}

struct Parser<'a> {
    origin: &'a str,
    rules: Vec<Rule>,
    warnings: Vec<String>,
}

impl Parser<'_> {
    fn permission(&mut self, value: &Value) -> Result<(), RuleError> {
        match value {
            // One word for everything: the short form of {"*": word}.
            Value::String(_) => {
                let level = self.level("permission", value)?;
                self.push("*", None, level)
            }
            Value::Object(table) => table.iter().try_for_each(|(key, value)| self.key(key, value)),
            Value::Null => Ok(()),
            _ => {
                Err(error(self.origin, "permission", "must be a table of tools, or one of allow, ask, deny"))
            }
        }
    }

    fn key(&mut self, key: &str, value: &Value) -> Result<(), RuleError> {
        let keys = self.keys_meant(key);
        match value {
            Value::Object(patterns) if keys.iter().all(|key| takes_patterns(key)) => {
                keys.iter().try_for_each(|key| self.patterns(key, patterns))
            }
            Value::Object(_) => Err(error(
                self.origin,
                &format!("permission.{key}"),
                "takes no patterns, only allow, ask or deny",
            )),
            _ => {
                let level = self.level(&format!("permission.{key}"), value)?;
                keys.iter().try_for_each(|key| self.push(key, None, level))
            }
        }
    }

    fn keys_meant<'k>(&mut self, key: &'k str) -> Vec<&'k str> {
        let meant = permission_keys().filter(|ours| ours.key == key || ours.others.contains(&key));
        let meant: Vec<&str> = meant.map(|ours| ours.key).collect();
        if !meant.is_empty() {
            return meant;
        }
        if !key.contains('*') && !key.contains("__") && !OTHER_KEYS.contains(&key) {
            self.warnings.push(format!("{}: permission.{key} names no tool of zdx", self.origin));
        }
        vec![key]
    }

    fn patterns(&mut self, key: &str, patterns: &Map<String, Value>) -> Result<(), RuleError> {
        for (pattern, value) in patterns {
            let level = self.level(&format!("permission.{key}.\"{pattern}\""), value)?;
            if pattern.trim().is_empty() {
                return Err(error(self.origin, &format!("permission.{key}"), "has an empty pattern"));
            }
            self.push(key, Some(pattern.trim()), level)?;
        }
        Ok(())
    }

    /// A prefix of words that may run: itself and anything after it.
    fn whitelist(&mut self, prefix: &str) -> Result<(), RuleError> {
        if prefix.trim().is_empty() {
            return Err(error(self.origin, "whitelist", "has an empty entry, which would allow everything"));
        }
        let words: Vec<&str> = prefix.split_whitespace().collect();
        self.push(COMMANDS, Some(&format!("{} *", words.join(" "))), Level::Allow)
    }

    fn level(&self, key: &str, value: &Value) -> Result<Level, RuleError> {
        match value.as_str() {
            Some("allow") => Ok(Level::Allow),
            Some("ask") => Ok(Level::Ask),
            Some("deny") => Ok(Level::Deny),
            _ => Err(error(self.origin, key, format!("must be allow, ask or deny, not {value}"))),
        }
    }

    fn push(&mut self, key: &str, pattern: Option<&str>, level: Level) -> Result<(), RuleError> {
        if self.rules.len() >= MAX_RULES {
            return Err(error(self.origin, "permission", format!("has more than {MAX_RULES} rules")));
        }
        if key.len().max(pattern.map_or(0, str::len)) > MAX_RULE_PATTERN {
            let message = format!("has a pattern of more than {MAX_RULE_PATTERN} bytes");
            return Err(error(self.origin, "permission", message));
        }
        self.rules.push(Rule {
            key: key.to_owned(),
            pattern: pattern.map(CommandPattern::new),
            text: pattern.map(str::to_owned),
            level,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
