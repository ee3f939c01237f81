//! Visits every command of a script: lists, pipes, groups, functions, substitutions, nested scripts.
//! Follows the working folder and what feeds each command; judges no single command itself.

pub(super) mod ancestors;
pub(super) mod apply;
pub(super) mod compound;
pub(super) mod conditions;
pub(super) mod copies;
pub(super) mod facts;
pub(super) mod feed;
pub(super) mod fetched;
pub(super) mod files;
pub(super) mod folders;
pub(super) mod listings;
pub(super) mod loose;
pub(super) mod names;
pub(super) mod readings;
pub(super) mod redirect;
pub(super) mod repository;
pub(super) mod simple;
pub(super) mod state;
pub(super) mod values;
pub(super) mod variables;
pub(super) mod wildcards;

use std::path::PathBuf;
use std::rc::Rc;

use brush_parser::ast;
use zdx_protocol::ReasonCode;

use crate::limits::{Budget, MAX_BYTES, MAX_COMMANDS, MAX_DEPTH, PARSE, VISIT};
use crate::shell::programs::special::runners::basename;
use crate::shell::programs::table;
use crate::shell::syntax::parse::{self, Unreadable};
use crate::shell::syntax::word::{self, Effects};
use crate::shell::walk::conditions::is_plain_test;
pub(super) use crate::shell::walk::facts::Facts;
use crate::shell::walk::feed::Stdin;
pub(super) use crate::shell::walk::folders::Folders;
pub(super) use crate::shell::walk::listings::Listings;
use crate::shell::walk::state::{Looked, Nest, Scope, Touched};
pub use crate::shell::walk::variables::selects_helper;
use crate::shell::{Part, Surroundings};

pub(super) struct Walker<'a> {
    pub around: &'a Surroundings<'a>,
    /// The script whose tree is being visited; locations in the tree point into it.
    pub source: Rc<str>,
    pub facts: &'a Facts,
    pub found: Facts,
    pub parts: Vec<Part>,
    pub stdin: Stdin,
    pub scope: Scope,
    pub touched: Touched,
    pub nest: Nest,
    pub looked: Looked,
    pub listings: &'a Listings,
    pub budget: &'a Budget,
}

impl<'a> Walker<'a> {
    pub(super) fn new(
        around: &'a Surroundings<'a>,
        facts: &'a Facts,
        listings: &'a Listings,
        budget: &'a Budget,
    ) -> Self {
        Self {
            around,
            source: Rc::from(""),
            facts,
            found: Facts { input_replaced: facts.input_replaced, ..Facts::default() },
            parts: Vec::new(),
            stdin: if facts.input_replaced { Stdin::Unknown } else { Stdin::Nothing },
            scope: Scope::at(around.cwd),
            touched: Touched::default(),
            nest: Nest::default(),
            looked: Looked::default(),
            listings,
            budget,
        }
    }

    pub(super) fn script(mut self, text: &str) -> (Vec<Part>, Facts) {
        self.text(text);
        if !self.looked.names_open_files.get() {
            self.found.opened.clear();
            self.found.copies.clear();
        }
        // Counted over all of it and said once at the end: a part that was only probed must not swallow it.
        if self.nest.commands > MAX_COMMANDS {
            self.refuse(text, ReasonCode::TooLarge, "it holds more commands than can be judged");
        } else if self.budget.is_exceeded() {
            self.refuse(text, ReasonCode::TooLarge, "it takes more work to read than can be spent on it");
        }
        (self.parts, self.found)
    }

    /// A script given as text: the whole command, a substitution, the argument of `eval` or `sh -c`.
    pub(super) fn text(&mut self, text: &str) {
        if self.nest.commands > MAX_COMMANDS {
            return;
        }
        if self.nest.depth >= MAX_DEPTH {
            self.refuse(text, ReasonCode::TooDeep, "it nests more scripts in scripts than can be read");
            return;
        }
        match self.parse(text) {
            _ if self.budget.is_exceeded() => {}
            Ok(program) => {
                self.nest.depth += 1;
                let outer = std::mem::replace(&mut self.source, Rc::from(text));
                for list in &program.complete_commands {
                    self.list(list);
                }
                self.source = outer;
                self.nest.depth -= 1;
            }
            Err(error) => self.refuse(text, error.code(), &error.to_string()),
        }
    }

    /// The tree of a script, within the budget.
    pub(super) fn parse(&self, text: &str) -> Result<ast::Program, Unreadable> {
        if text.len() > MAX_BYTES || !self.budget.spend(PARSE + 2 * text.len()) {
            self.budget.exceed();
            return Err(Unreadable::TooLarge);
        }
        parse::program(text)
    }

    /// A script that runs apart: its `cd` does not reach the rest.
    pub(super) fn apart(&mut self, text: &str) {
        self.isolated(|walker| walker.text(text));
    }

    pub(super) fn isolated(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = self.scope.clone();
        visit(self);
        self.scope = before;
    }

    /// With another standard input.
    pub(super) fn fed(&mut self, stdin: Stdin, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.stdin, stdin);
        visit(self);
        self.stdin = before;
    }

    /// Text that runs at another time: a trap, a function body. The folder may be another one by then.
    pub(super) fn later(&mut self, visit: impl FnOnce(&mut Self)) {
        self.isolated(|walker| {
            if walker.facts.changes_folder {
                walker.scope.folders = Folders::unknown();
            }
            walker.scope.values.clear();
            walker.nest.later += 1;
            walker.fed(Stdin::Unknown, visit);
            walker.nest.later -= 1;
        });
    }

    pub(super) fn refuse(&mut self, text: &str, code: ReasonCode, why: &str) {
        let mut part = Part::of(shorten(text));
        part.confirm(code, why);
        part.plain = false;
        self.parts.push(part);
    }

    pub(super) fn known_pwd(&self) -> Option<String> {
        match self.scope.folders.0.as_slice() {
            [only] => Some(only.to_string_lossy().into_owned()),
            _ => None,
        }
    }

    /// The one folder that a command runs in now, if no change of folder before it is in doubt.
    pub(super) fn certain_folder(&self) -> Option<PathBuf> {
        let certain = !self.scope.maybe_moved && self.scope.stayed.is_empty() && self.nest.later == 0;
        match self.scope.folders.0.as_slice() {
            [only] if certain => Some(only.clone()),
            _ => None,
        }
    }

    pub(super) fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            let beside = matches!(separator, ast::SeparatorOperator::Async);
            if beside {
                self.nest.beside += 1;
                self.isolated(|walker| walker.and_or(and_or));
                self.nest.beside -= 1;
            } else {
                self.and_or(and_or);
            }
        }
    }

    fn and_or(&mut self, list: &ast::AndOrList) {
        let before = self.scope.folders.clone();
        let moved_before = std::mem::replace(&mut self.scope.maybe_moved, false);
        self.pipeline(&list.first);
        self.doubt_tests(&list.first, list.first.bang);
        let mut reached = list.first.bang;
        let certain = self.scope.values.clone();
        let mut skipped = Vec::new();
        for next in &list.additional {
            let here = self.scope.folders.clone();
            match next {
                ast::AndOr::And(pipeline) => {
                    self.pipeline(pipeline);
                    reached |= pipeline.bang;
                    self.doubt_tests(pipeline, reached);
                }
                ast::AndOr::Or(pipeline) => {
                    if self.scope.maybe_moved {
                        self.scope.folders = self.scope.folders.or(&before);
                    }
                    self.merge_values(certain.clone());
                    self.pipeline(pipeline);
                    reached = true;
                    self.doubt_tests(pipeline, reached);
                    // What follows an alternative that was not needed runs without it.
                    if self.scope.folders != here {
                        self.may_have_stayed(&here);
                    }
                }
            }
            if self.scope.folders != here {
                skipped.push(here);
            }
        }
        for here in skipped {
            self.may_have_stayed(&here);
        }
        self.merge_values(certain);
        if self.scope.maybe_moved {
            self.scope.folders = self.scope.folders.or(&before);
        }
        self.scope.maybe_moved |= moved_before;
    }

    /// `x || [[ a && b ]]` and `! [[ a && b ]]`: to a plain sh, b is a command, and it is reached.
    fn doubt_tests(&mut self, pipeline: &ast::Pipeline, reached: bool) {
        let test = |command: &ast::Command| matches!(command, ast::Command::ExtendedTest(..));
        if reached && pipeline.seq.iter().any(test) {
            self.parts.last_mut().into_iter().for_each(Part::doubt);
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        // To bash `time` is a word of the language, to dash a program with options, which cannot change our folder.
        self.nest.timed = pipeline.timed.is_some();
        let before = self.scope.folders.clone();
        if self.nest.timed {
            self.branches(|walker| walker.stages(pipeline));
        } else {
            self.stages(pipeline);
        }
        // `! cd x && y`: y runs where x could not be entered.
        if pipeline.bang {
            self.scope.folders = self.scope.folders.or(&before);
        }
    }

    /// Text of another machine that is written to a file stays that machine's.
    fn stages(&mut self, pipeline: &ast::Pipeline) {
        let before = self.touched.written.clone();
        self.each_stage(pipeline);
        if pipeline.seq.iter().any(|command| self.fetches_text(command)) {
            let made: Vec<_> = self.touched.written.difference(&before).cloned().collect();
            self.touched.fetched.extend(made);
            if pipeline.seq.iter().any(|command| self.row_of(command).is_some_and(|row| row.is("unpacks"))) {
                self.touched.fetched.extend(self.scope.folders.0.iter().cloned());
            }
        }
    }

    fn fetches_text(&self, command: &ast::Command) -> bool {
        self.row_of(command).is_some_and(|row| row.is("fetches"))
    }

    fn row_of(&self, command: &ast::Command) -> Option<&'static table::Row> {
        let ast::Command::Simple(simple) = command else { return None };
        table::row(basename(simple.word_or_name.as_ref()?.value.as_str()))
    }

    fn each_stage(&mut self, pipeline: &ast::Pipeline) {
        if let [only] = pipeline.seq.as_slice() {
            self.command(only);
            return;
        }
        self.nest.beside += 1;
        let mut stdin: Option<Stdin> = None;
        for command in &pipeline.seq {
            let feed = stdin.take().unwrap_or_else(|| self.stdin.clone());
            self.isolated(|walker| walker.fed(feed.clone(), |walker| walker.command(command)));
            stdin = Some(self.output_of(command, &feed));
        }
        self.nest.beside -= 1;
    }

    pub(super) fn command(&mut self, command: &ast::Command) {
        if self.nest.commands > MAX_COMMANDS || !self.budget.spend(VISIT) {
            return;
        }
        match command {
            ast::Command::Simple(simple) => {
                self.nest.commands += 1;
                self.simple(simple);
            }
            ast::Command::Compound(compound, redirects) => {
                let feed = self.compound_redirects(redirects.as_ref());
                self.fed(feed, |walker| walker.compound(compound));
            }
            ast::Command::Function(function) => self.function(function),
            ast::Command::ExtendedTest(test, redirects) => {
                self.compound_redirects(redirects.as_ref());
                let mut part = Part::of("[[ … ]]");
                part.views.push(vec!["[[".to_owned()]);
                part.plain = false;
                if is_plain_test(&test.expr) {
                    part.affirm();
                }
                self.test(&test.expr, &mut part);
                self.parts.push(part);
            }
        }
    }

    fn function(&mut self, function: &ast::FunctionDefinition) {
        let name = function.fname.value.clone();
        self.found.functions.insert(name.clone());
        let mut part = Part::of(format!("{name}()"));
        part.plain = false;
        part.ask("it defines a function");
        // To dash `function` is a command and the name its argument.
        self.word_effects(&name, &mut part);
        self.parts.push(part);
        self.nest.inside.push(name);
        let moved = self.found.changes_folder;
        self.found.changes_folder = false;
        self.later(|walker| {
            let feed = walker.compound_redirects(function.body.1.as_ref());
            walker.fed(if matches!(feed, Stdin::Nothing) { Stdin::Unknown } else { feed }, |walker| {
                walker.compound(&function.body.0);
            });
        });
        self.found.function_changes_folder |= self.found.changes_folder;
        self.found.changes_folder |= moved;
        self.nest.inside.pop();
    }

    /// Visits the scripts that run while a word is expanded; an unreadable word is a confirmation.
    pub(super) fn word_effects(&mut self, raw: &str, part: &mut Part) -> Vec<word::Arg> {
        let mut effects = Effects::default();
        let args = word::evaluate(raw, self, &mut effects);
        self.apply_effects(effects, part);
        if args.as_ref().is_ok_and(|args| args.iter().any(|arg| arg.braced)) {
            self.taken_as_written(raw, part);
        }
        args.unwrap_or_else(|error| {
            part.confirm(error.code(), error.to_string());
            vec![word::Arg::unknown()]
        })
    }

    /// dash takes braces for part of a name: that name, too, has to lie in the workspace.
    fn taken_as_written(&self, raw: &str, part: &mut Part) {
        let word = word::Arg::literal(raw);
        if raw.contains(['\'', '"', '\\', '$', '`', '~', '*', '?', '['])
            || !self.stays_inside(&word, &self.place(&word))
        {
            part.doubt();
        }
    }

    pub(super) fn body_effects(&mut self, raw: &str, part: &mut Part) -> Option<String> {
        let mut effects = Effects::default();
        let text = word::evaluate_body(raw, self, &mut effects);
        self.apply_effects(effects, part);
        match text {
            Ok(text) => Some(text),
            Err(error) => {
                part.confirm(error.code(), error.to_string());
                None
            }
        }
    }

    pub(super) fn apply_effects(&mut self, effects: Effects, part: &mut Part) {
        for name in &effects.assigns {
            self.set_variable(name, None, part);
            self.forget(name);
        }
        for sum in effects.sums.iter().filter(|sum| sum.contains(['=', '+', '-'])) {
            self.forget_names(sum);
        }
        if effects.hidden_process {
            part.confirm(ReasonCode::Unreadable, "a command hides inside ${…}");
        }
        if effects.prompt {
            part.confirm(ReasonCode::Opaque, "${…@P} runs whatever the variable holds");
        }
        for script in effects.scripts {
            part.plain = false;
            part.ask("it runs a command to make its arguments");
            self.apart(&script);
        }
    }
}

/// Enough of a text to recognise it.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 400;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain("…".chars()).collect()
}
