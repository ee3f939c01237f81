//! Groups, branches and loops: what only may run, and what runs again somewhere else.

use brush_parser::ast;

use crate::limits::{MAX_COMMANDS, MAX_UNROLLED};
use crate::shell::syntax::word::{self, Known};
use crate::shell::walk::Walker;
use crate::shell::walk::feed::Stdin;
use crate::shell::walk::folders::Folders;
use crate::shell::walk::variables::selects_helper;
use crate::shell::{Part, Proof};

impl Walker<'_> {
    pub(super) fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(shell) => {
                self.isolated(|walker| walker.list(&shell.list));
            }
            ast::CompoundCommand::Arithmetic(arithmetic) => {
                let location = &arithmetic.loc;
                let whole =
                    self.source.get(location.start.index..location.end.index).unwrap_or_default().to_owned();
                self.arithmetic(&whole);
            }
            ast::CompoundCommand::ForClause(clause) => {
                self.for_each(clause);
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                let mut part = Part::of("for ((…))");
                part.plain = false;
                for expression in
                    [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten()
                {
                    self.expansion_effects(&expression.value, &mut part);
                }
                self.parts.push(part);
                self.looped(|walker| walker.list(&clause.body.list));
            }
            ast::CompoundCommand::CaseClause(case) => self.case(case),
            ast::CompoundCommand::IfClause(clause) => self.branches(|walker| {
                walker.list(&clause.condition);
                walker.perhaps_run(|walker| walker.list(&clause.then));
                for alternative in clause.elses.iter().flatten() {
                    walker.perhaps_run(|walker| {
                        if let Some(condition) = &alternative.condition {
                            walker.list(condition);
                        }
                        walker.list(&alternative.body);
                    });
                }
            }),
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.looped(|walker| {
                    walker.list(&clause.0);
                    walker.list(&clause.1.list);
                });
            }
            ast::CompoundCommand::Coprocess(coprocess) => {
                self.nest.beside += 1;
                self.isolated(|walker| {
                    walker.fed(Stdin::Unknown, |walker| walker.command(&coprocess.body));
                });
                self.nest.beside -= 1;
            }
        }
    }

    fn case(&mut self, case: &ast::CaseClauseCommand) {
        let mut part = Part::of("case");
        part.plain = false;
        part.affirm();
        self.word_effects(&case.value.value, &mut part);
        for pattern in case.cases.iter().flat_map(|item| &item.patterns) {
            self.word_effects(&pattern.value, &mut part);
        }
        self.parts.push(part);
        self.branches(|walker| {
            for body in case.cases.iter().filter_map(|item| item.cmd.as_ref()) {
                walker.perhaps_run(|walker| walker.list(body));
            }
        });
    }

    /// Only some of it may run: afterwards the folder is the old or the new one.
    pub(super) fn branches(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = self.scope.folders.clone();
        self.perhaps_run(visit);
        self.scope.folders = self.scope.folders.or(&before);
    }

    /// A body that moves runs the second time somewhere else.
    fn looped(&mut self, visit: impl Fn(&mut Self)) {
        let before = self.scope.folders.clone();
        self.nest.looping += 1;
        self.forget_what_loops_set();
        self.perhaps_run(&visit);
        if self.scope.folders != before {
            self.scope.folders = Folders::unknown();
            self.perhaps_run(&visit);
            self.scope.folders = Folders::unknown();
        }
        self.nest.looping -= 1;
    }

    fn for_each(&mut self, clause: &ast::ForClauseCommand) {
        let name = clause.variable_name.as_str();
        let mut part = Part::of(format!("for {name}"));
        part.plain = false;
        self.set_variable(name, None, &mut part);
        let mut all: Option<Vec<Known>> = clause.values.as_ref().map(|_| Vec::new());
        for value in clause.values.iter().flatten() {
            let words = self.word_effects(&value.value, &mut part);
            self.found.literals.extend(words.iter().filter_map(word::Arg::known).map(str::to_owned));
            self.suspicious_value(&value.value, &mut part);
            for word in words {
                let known = match word.has_unknown() || word.braced {
                    false if word.glob && word.dash && self.may_begin_with_dash(&word) => Known::Unknown,
                    false if word.glob => Known::Pattern(word.text),
                    false => Known::Text(word.text),
                    true if word.dash => Known::Unknown,
                    true => Known::Name,
                };
                all.iter_mut().for_each(|all| all.push(known.clone()));
            }
        }
        part.proof = if selects_helper(name) || self.around.env.contains_key(name) {
            Proof::Broken
        } else {
            Proof::Reads
        };
        self.parts.push(part);
        let all = all.unwrap_or_else(|| vec![Known::Unknown]);
        let texts = all.iter().all(|known| matches!(known, Known::Text(_) | Known::Pattern(_)));
        if !texts
            || all.is_empty()
            || all.len() > MAX_UNROLLED
            || self.nest.commands * all.len() > MAX_COMMANDS / 2
        {
            let named = all.iter().all(|known| match known {
                Known::Text(text) => !text.starts_with('-'),
                Known::Pattern(_) | Known::Name => true,
                Known::Unknown => false,
            });
            let value = if named && !all.is_empty() { Known::Name } else { Known::Unknown };
            self.looped(|walker| {
                walker.remember(name, value.clone());
                walker.list(&clause.body.list);
            });
            return;
        }
        for value in all {
            self.looped(|walker| {
                walker.remember(name, value.clone());
                walker.list(&clause.body.list);
            });
        }
    }
}
