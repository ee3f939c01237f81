//! One simple command: its assignments, words and redirections, gathered before it is looked at.

use brush_parser::ast;
use zdx_protocol::ReasonCode;

use crate::limits::MAX_WORDS;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::feed::Stdin;
use crate::shell::walk::variables::selects_helper;
use crate::shell::walk::{Walker, shorten};
use crate::shell::{Part, Proof};

impl Walker<'_> {
    pub(crate) fn simple(&mut self, command: &ast::SimpleCommand) {
        let mut part = Part::of(shorten(&command.to_string()));
        part.folder = self.certain_folder();
        let mut argv: Vec<Arg> = Vec::new();
        let mut stdin = self.stdin.clone();
        let mut assignments = Vec::new();
        self.forget_for_redirects(command);
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        for item in prefix {
            self.item(item, &mut part, &mut argv, &mut stdin, Some(&mut assignments));
        }
        let timed = std::mem::take(&mut self.nest.timed);
        if let Some(name) = &command.word_or_name {
            if timed && name.value.starts_with(['-', '\'', '"', '$', '\\']) {
                argv.push(Arg::literal("time"));
            }
            let words = self.word_effects(&name.value, &mut part);
            argv.extend(words);
        }
        let mut after_both = false;
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(ast::IoRedirect::OutputAndError(..)) => {
                    after_both = true
                }
                ast::CommandPrefixOrSuffixItem::IoRedirect(_) => {}
                // dash reads `a &>f b` as `a &` and `>f b`: b would be a command.
                _ if after_both => part
                    .confirm(ReasonCode::Unreadable, "what stands behind &> is read differently by shells"),
                _ => {}
            }
            self.item(item, &mut part, &mut argv, &mut stdin, None);
        }
        if argv.len() > MAX_WORDS {
            part.confirm(ReasonCode::TooLarge, "it has more words than can be judged");
            argv.truncate(MAX_WORDS);
        }
        // `! time y=x`: the word of the language to bash, which then sets y; a program to dash and to the grammar.
        let sets = |arg: &Arg| {
            let name = arg.text.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if argv.first().is_some_and(|first| first.text == "time") && argv.get(1).is_some_and(sets) {
            part.confirm(ReasonCode::Unreadable, "shells read what stands behind `time` differently");
        }
        if !assignments.is_empty() {
            part.plain = false;
        }
        let lasting = argv.is_empty();
        let mut harmless = lasting;
        for (raw_name, value) in assignments {
            let (name, _) = split_assignment(&raw_name);
            let known = self.only_value(&value);
            match lasting {
                true => self.set_variable_to(name, known.as_deref(), &mut part),
                false => self.given_to_tools(name, known.as_deref(), &mut part),
            }
            self.suspicious_value(&value, &mut part);
            harmless &= !selects_helper(name) && !self.around.env.contains_key(name);
            match lasting {
                true => self.assign(&raw_name, &value),
                // Before some builtins it lasts as well.
                false => self.forget(name),
            }
        }
        if harmless {
            part.proof = Proof::Reads;
        }
        // `{name}>file` puts the number of a descriptor into the variable.
        for name in argv.iter().filter_map(|arg| arg.text.strip_prefix('{')?.strip_suffix('}')) {
            if selects_helper(name) {
                part.confirm(ReasonCode::Helper, format!("{name} decides which program or code runs"));
            }
            self.forget(name);
        }
        if argv.is_empty() {
            part.plain = false;
            part.views.push(Vec::new());
        } else {
            let replaced = stdin != self.stdin && argv.iter().any(|arg| arg.text == "exec");
            self.found.input_replaced |= replaced && stdin != Stdin::Nothing;
            let outer = std::mem::replace(&mut self.stdin, stdin);
            self.argv(&argv, &mut part, true);
            self.stdin = outer;
        }
        // The tree prints `<(a)` as `<(( a ))`. Only for the eye, now that nothing is read from it any more.
        if part.text.contains("<(( ") || part.text.contains(">(( ") {
            part.text = part.text.replace("<(( ", "<(").replace(">(( ", ">(").replace(" ))", ")");
        }
        self.parts.push(part);
    }

    /// `f=x >$f`: shells set the variable before they open the file, or after.
    fn forget_for_redirects(&mut self, command: &ast::SimpleCommand) {
        let items = || command.prefix.iter().flat_map(|items| &items.0);
        let behind = command.suffix.iter().flat_map(|items| &items.0);
        let opens = |item: &ast::CommandPrefixOrSuffixItem| {
            matches!(item, ast::CommandPrefixOrSuffixItem::IoRedirect(_))
        };
        if !items().chain(behind).any(opens) {
            return;
        }
        for item in items() {
            if let ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) = item {
                self.forget(split_assignment(&word.value).0);
            }
        }
    }

    fn item(
        &mut self,
        item: &ast::CommandPrefixOrSuffixItem,
        part: &mut Part,
        argv: &mut Vec<Arg>,
        stdin: &mut Stdin,
        assignments: Option<&mut Vec<(String, String)>>,
    ) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                if let Some(feed) = self.redirect(redirect, part) {
                    *stdin = feed;
                }
            }
            ast::CommandPrefixOrSuffixItem::Word(word) => {
                let words = self.word_effects(&word.value, part);
                argv.extend(words);
            }
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => match assignments {
                Some(assignments) => {
                    self.assignment(assignment, part);
                    let (name, value) = word.value.split_once('=').unwrap_or((&word.value, ""));
                    assignments.push((name.to_owned(), value.to_owned()));
                }
                None => match &assignment.value {
                    ast::AssignmentValue::Scalar(_) => {
                        let words = self.word_effects(&word.value, part);
                        argv.extend(words);
                    }
                    ast::AssignmentValue::Array(_) => {
                        self.assignment(assignment, part);
                        argv.push(Arg::literal(format!("{}=()", split_assignment(&word.value).0)));
                    }
                },
            },
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, inner) => {
                part.plain = false;
                part.ask("it is joined to another command");
                self.substituted(inner);
                // A pipe with a name: no file of anybody's.
                argv.push(Arg::literal("/dev/fd/pipe"));
            }
        }
    }

    /// What runs while values and indices are expanded.
    fn assignment(&mut self, assignment: &ast::Assignment, part: &mut Part) {
        if let ast::AssignmentName::ArrayElementName(_, index) = &assignment.name {
            self.word_effects(index, part);
        }
        match &assignment.value {
            ast::AssignmentValue::Scalar(word) => {
                let words = self.word_effects(&word.value, part);
                self.found.literals.extend(words.iter().filter_map(Arg::known).map(str::to_owned));
            }
            ast::AssignmentValue::Array(items) => {
                for (key, value) in items {
                    for word in key.iter().chain([value]) {
                        let words = self.word_effects(&word.value, part);
                        self.found.literals.extend(words.iter().filter_map(Arg::known).map(str::to_owned));
                        self.suspicious_value(&word.value, part);
                    }
                }
            }
        }
    }
}

/// `name+=value`, `name[index]=value` → name and raw value.
pub(crate) fn split_assignment(raw: &str) -> (&str, &str) {
    let (name, value) = raw.split_once('=').unwrap_or((raw, ""));
    let name = name.trim_end_matches('+');
    (name.split('[').next().unwrap_or(name), value)
}
