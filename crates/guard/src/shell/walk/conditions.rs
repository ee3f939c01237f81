//! `[[ … ]]` and `(( … ))`: expressions for bash, commands for dash. Both readings are visited.

use brush_parser::ast;
use zdx_protocol::ReasonCode;

use crate::shell::syntax::word::{self, Effects};
use crate::shell::walk::redirect::Mode;
use crate::shell::walk::{Walker, shorten};
use crate::shell::{Concern, Part};

impl Walker<'_> {
    /// `((…))`: arithmetic for bash, two subshells for dash.
    pub(crate) fn arithmetic(&mut self, whole: &str) {
        let Some(outer) = whole.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return };
        let joined = whole.starts_with("((") && whole.ends_with("))") && whole.len() > 3;
        let mut part = Part::of(shorten(whole));
        part.plain = false;
        part.views.push(vec!["((".to_owned()]);
        self.expansion_effects(outer, &mut part);
        self.parts.push(part);
        if !joined {
            self.apart(outer);
            return;
        }
        let script = &outer[1..outer.len() - 1];
        if self.parse(script).is_ok() {
            let from = self.parts.len();
            self.apart(script);
            // A sum with a `*` in it is not a wildcard command to anyone but dash.
            let lone_glob = !script.trim().contains([' ', '\t', '\n']);
            for part in self.parts.iter_mut().skip(from) {
                if lone_glob {
                    part.concerns.retain(|concern| {
                        !matches!(concern, Concern::Confirm { code: ReasonCode::Opaque, .. })
                    });
                }
                explained(part, 0, "to a plain sh, (( )) runs what stands in it");
            }
        }
    }

    pub(crate) fn test(&mut self, expression: &ast::ExtendedTestExpr, part: &mut Part) {
        match expression {
            ast::ExtendedTestExpr::And(a, b) | ast::ExtendedTestExpr::Or(a, b) => {
                self.test(a, part);
                self.test(b, part);
                self.command_for_dash(b, part);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner, part)
            }
            ast::ExtendedTestExpr::UnaryTest(_, word) => {
                self.word_effects(&word.value, part);
                self.suspicious_value(&word.value, part);
            }
            ast::ExtendedTestExpr::BinaryTest(predicate, a, b) => {
                for word in [a, b] {
                    self.word_effects(&word.value, part);
                    self.suspicious_value(&word.value, part);
                }
                // dash has no `[[`: there `>` opens a file, and `|` starts another command.
                if matches!(predicate, ast::BinaryPredicate::LeftSortsAfterRight) {
                    let from = part.concerns.len();
                    self.redirect_word(&b.value, Mode::Overwrite, part);
                    explained(part, from, "to a plain sh, > inside [[ ]] writes a file");
                }
                for piece in b.value.split(['|', '(', ')', '&', ';', '\n']).skip(1) {
                    self.only_listed(piece, part);
                }
            }
        }
    }

    /// dash has no `[[`: behind `||` it sees a command of its own.
    fn command_for_dash(&mut self, expression: &ast::ExtendedTestExpr, part: &mut Part) {
        let words: Vec<&str> = match expression {
            ast::ExtendedTestExpr::And(first, _) | ast::ExtendedTestExpr::Or(first, _) => {
                self.command_for_dash(first, part);
                return;
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                self.command_for_dash(inner, part);
                return;
            }
            ast::ExtendedTestExpr::UnaryTest(_, word) => vec![&word.value],
            ast::ExtendedTestExpr::BinaryTest(_, first, second) => vec![&first.value, &second.value],
        };
        let text = words.join(" ");
        if !text.starts_with('$') && !text.starts_with("\"$") {
            self.only_listed(&text, part);
        }
    }

    pub(crate) fn expansion_effects(&mut self, raw: &str, part: &mut Part) {
        let mut effects = Effects::default();
        if let Err(error) = word::expand_only(raw, &mut effects) {
            part.confirm(error.code(), error.to_string());
        }
        self.apply_effects(effects, part);
        self.arithmetic_names(raw, part);
        self.forget_names(raw);
    }
}

/// A test that a plain sh, which has no `[[`, could only fail to find: what stands behind `&&` is then not reached, and
/// nothing else looks like a command to run.
pub(crate) fn is_plain_test(expression: &ast::ExtendedTestExpr) -> bool {
    let plain = |word: &ast::Word| !word.value.contains(['|', '&', ';', '(', ')', '<', '>', '`', '\n']);
    match expression {
        ast::ExtendedTestExpr::And(a, b) => is_plain_test(a) && is_plain_test(b),
        ast::ExtendedTestExpr::Or(..) | ast::ExtendedTestExpr::Parenthesized(_) => false,
        ast::ExtendedTestExpr::Not(inner) => is_plain_test(inner),
        ast::ExtendedTestExpr::UnaryTest(_, word) => plain(word),
        ast::ExtendedTestExpr::BinaryTest(predicate, a, b) => {
            let sorts = matches!(
                predicate,
                ast::BinaryPredicate::LeftSortsAfterRight | ast::BinaryPredicate::LeftSortsBeforeRight
            );
            !sorts && plain(a) && plain(b)
        }
    }
}

/// Says which reading a concern comes from: to whoever thinks of bash alone it makes no sense.
fn explained(part: &mut Part, from: usize, reading: &str) {
    for concern in part.concerns.iter_mut().skip(from) {
        if let Concern::Confirm { why, .. } | Concern::Forbidden { why } = concern {
            *why = format!("{reading}: {why}");
        }
    }
}
