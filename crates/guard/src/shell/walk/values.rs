//! What variables hold, as far as the script and the child's environment tell; and what substitutions print.
//! Follows the script in order: what only may have been set is not known afterwards.

use std::collections::BTreeMap;

use crate::limits::{MAX_PRINTED, MAX_VALUE, PARSE};
use crate::shell::syntax::word::{self, Effects, Known, Lookup};
use crate::shell::walk::Walker;
use crate::shell::walk::feed::Stdin;
use brush_parser::ast;

/// A place that nothing is at before `mktemp` makes it: no script can name it but through the variable.
pub(crate) const FRESH: &str = "\u{fdd0}mktemp";

/// Variables that the shell itself sets, to whatever it likes.
const MOVING: &[&str] =
    &["OLDPWD", "REPLY", "OPTARG", "MAPFILE", "COPROC", "DIRSTACK", "FUNCNAME", "IFS", "_"];

impl Walker<'_> {
    pub(crate) fn remember(&mut self, name: &str, value: Known) {
        self.found.assigned.insert(name.to_owned());
        if self.nest.looping > 0 {
            self.found.assigned_in_loops.insert(name.to_owned());
        }
        if self.nest.later > 0 {
            self.found.assigned_later.insert(name.to_owned());
        }
        let long = matches!(&value, Known::Text(text) | Known::Pattern(text) if text.len() > MAX_VALUE);
        self.scope.values.insert(name.to_owned(), if long { Known::Unknown } else { value });
    }

    /// From here on it may hold anything.
    pub(crate) fn forget(&mut self, name: &str) {
        self.remember(name, Known::Unknown);
    }

    /// Every name in a text that may set variables: a sum, the arguments of `read`.
    pub(crate) fn forget_names(&mut self, text: &str) {
        let names = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        for name in names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')) {
            self.forget(name);
        }
    }

    /// `name=value` that lasts.
    pub(crate) fn assign(&mut self, raw_name: &str, raw_value: &str) {
        let plain = raw_name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let name = raw_name.trim_end_matches('+').split('[').next().unwrap_or(raw_name);
        let value = if plain { self.value_of(raw_value) } else { Known::Unknown };
        self.remember(name, value);
    }

    fn value_of(&self, raw: &str) -> Known {
        match word::evaluate(raw, self, &mut Effects::default()).as_deref() {
            Ok([]) => Known::Text(String::new()),
            // No wildcard is expanded here, only where the variable is used.
            Ok([only]) if !only.has_unknown() && !only.braced => Known::Text(only.text.clone()),
            Ok([only]) if !only.braced && !only.dash => Known::Name,
            Ok(_) | Err(_) => Known::Unknown,
        }
    }

    /// Something that may not run: what it sets is not known afterwards.
    pub(crate) fn perhaps_run(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = self.scope.values.clone();
        visit(self);
        self.merge_values(before);
    }

    pub(crate) fn merge_values(&mut self, before: BTreeMap<String, Known>) {
        let after = std::mem::replace(&mut self.scope.values, before);
        for (name, value) in after {
            if self.scope.values.get(&name) != Some(&value) {
                self.scope.values.insert(name, Known::Unknown);
            }
        }
    }

    /// A loop comes back to its beginning with what its body set.
    pub(crate) fn forget_what_loops_set(&mut self) {
        for name in &self.facts.assigned_in_loops {
            self.scope.values.insert(name.clone(), Known::Unknown);
        }
    }
}

impl Lookup for Walker<'_> {
    fn spend(&self, steps: usize) -> bool {
        self.budget.spend(steps)
    }

    fn home(&self) -> Option<&str> {
        let set = self.facts.assigned.contains("HOME") || self.found.assigned.contains("HOME");
        self.around.home.filter(|_| !set)
    }

    fn variable(&self, name: &str) -> Known {
        if self.facts.assigned_later.contains(name) || self.found.assigned_later.contains(name) {
            return Known::Unknown;
        }
        if let Some(value) = self.scope.values.get(name) {
            return value.clone();
        }
        let set = |name: &str| self.facts.assigned.contains(name) || self.found.assigned.contains(name);
        if set(name) || self.found.sources || self.facts.sources {
            return Known::Unknown;
        }
        let moving = MOVING.contains(&name) || name.starts_with("BASH");
        match name {
            "HOME" => self.around.home.map_or(Known::Unknown, |home| Known::Text(home.to_owned())),
            "PWD" => self.known_pwd().map_or(Known::Unknown, Known::Text),
            "?" | "#" | "$" | "!" => Known::Name,
            _ if moving || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => Known::Unknown,
            _ => match self.around.env.get(name) {
                Some(value) if value.len() > MAX_VALUE => Known::Unknown,
                Some(value) => Known::Text(value.clone()),
                // Nobody sets it: it is empty, or a number of the shell's own.
                None => Known::Name,
            },
        }
    }

    fn splits_at_blanks(&self) -> bool {
        !self.facts.assigned.contains("IFS") && !self.found.assigned.contains("IFS") && !self.facts.sources
    }

    fn printed(&self, script: &str) -> Known {
        if script.len() > MAX_PRINTED || !self.budget.spend(PARSE) {
            return Known::Unknown;
        }
        if let Some(text) = self.printed_by(script) {
            return Known::Text(text.trim_end_matches('\n').to_owned());
        }
        let Ok(program) = self.parse(script) else { return Known::Unknown };
        let [list] = program.complete_commands.as_slice() else { return Known::Unknown };
        let [ast::CompoundListItem(and_or, ast::SeparatorOperator::Sequence)] = list.0.as_slice() else {
            return Known::Unknown;
        };
        let words: Vec<&str> = script.split_whitespace().collect();
        let plain = |word: &&str| matches!(*word, "mktemp" | "-d" | "-q" | "--directory");
        if words.first() == Some(&"mktemp") && words.iter().all(plain) && !self.is_shadowed("mktemp") {
            let folder = self.around.env.get("TMPDIR").map_or("/tmp", String::as_str);
            return Known::Text(format!("{}/{FRESH}", folder.trim_end_matches('/')));
        }
        let mut feed = self.stdin.clone();
        for command in &and_or.first.seq {
            feed = self.prints_names(command, &feed).map_or(Stdin::Unknown, Stdin::Names);
        }
        let alone = and_or.additional.is_empty() && !and_or.first.bang;
        match feed {
            Stdin::Names(names) if alone && !names.dash => Known::Name,
            Stdin::Names(_) | Stdin::Nothing | Stdin::Text(_) | Stdin::Unknown => Known::Unknown,
        }
    }
}
