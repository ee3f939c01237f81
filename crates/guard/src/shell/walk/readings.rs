//! Words that are only partly known: what they may still turn out to be.
//! Looks for what must not happen whatever the unknown part is, or with the literals that the script itself holds.

use crate::limits::{MAX_EXPANDED, MAX_LITERALS};
use crate::pattern::UNKNOWN;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::apply::must_be_confirmed;
use crate::shell::{Concern, Part};

impl Walker<'_> {
    /// A script text with holes in it: what is forbidden in the rest of it is forbidden.
    pub(crate) fn partly_known(&mut self, words: &[Arg], part: &mut Part) {
        let text = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let text = text.replace(UNKNOWN, "$_");
        let forbidden = |concern: &Concern| matches!(concern, Concern::Forbidden { .. });
        self.probe(part, forbidden, |walker, _| walker.apart(&text));
    }

    /// What a word may be when each literal of the script is put in place of what is not known.
    pub(crate) fn readings(&self, arg: &Arg) -> Vec<Arg> {
        if !arg.has_unknown() {
            return Vec::new();
        }
        let holes = arg.text.matches(UNKNOWN).count();
        let mut readings = Vec::new();
        for literal in self.facts.literals.iter().take(MAX_LITERALS) {
            let length = arg.text.len() + holes * literal.len();
            if length > MAX_EXPANDED || !self.budget.spend(length) {
                self.budget.exceed();
                return Vec::new();
            }
            readings.push(Arg::literal(arg.text.replace(UNKNOWN, literal)));
        }
        readings
    }

    /// Judges every reading of a word, and keeps only what would have to be confirmed or refused.
    pub(crate) fn each_reading(
        &mut self,
        arg: &Arg,
        part: &mut Part,
        mut judge: impl FnMut(&mut Self, &Arg, &mut Part),
    ) {
        for reading in self.readings(arg) {
            // That a reading makes no sense says nothing.
            self.probe(part, must_be_confirmed, |walker, probe| judge(walker, &reading, probe));
        }
    }
}
