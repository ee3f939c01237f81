//! What a word will be once quotes are gone, as far as its text alone tells.
//! Runs nothing and guesses nothing: a part that only execution would tell is marked unknown.

use crate::limits::MAX_EXPANDED;
use crate::pattern::UNKNOWN;
use crate::shell::syntax::ansi;
use crate::shell::syntax::braces::brace_words;
use crate::shell::syntax::extent;
use crate::shell::syntax::lexer::LexError;
use crate::shell::walk::variables::selects_helper;

/// One argument as the command will get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arg {
    /// Its text; [`UNKNOWN`] stands for each part that is not known.
    pub text: String,
    /// Holds an unquoted wildcard: it becomes names of files.
    pub glob: bool,
    /// An unquoted expansion: it may become several words, or none.
    pub splits: bool,
    /// No quote, escape or expansion in it: what aliases look at.
    pub bare: bool,
    /// Came out of a brace expansion, which dash does not do.
    pub braced: bool,
    /// What is not known of it may begin with a dash, and make it an option.
    pub dash: bool,
    /// A name that is found or read while it runs, hidden or not.
    pub found: bool,
    /// Not known, but no hidden name, and so no protected one.
    pub visible: bool,
    /// Not known, but a plain name, which leads nowhere out of the workspace.
    pub inside: bool,
}

impl Arg {
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(crate) fn unknown() -> Self {
        Self { text: UNKNOWN.to_string(), splits: true, dash: true, ..Self::default() }
    }

    /// Its exact value, when the text tells it.
    pub(crate) fn known(&self) -> Option<&str> {
        (!self.glob && !self.text.contains(UNKNOWN)).then_some(self.text.as_str())
    }

    pub(crate) fn has_unknown(&self) -> bool {
        self.text.contains(UNKNOWN)
    }
}

/// What else a word does while it is expanded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// Commands that run to make the word.
    pub scripts: Vec<String>,
    /// Variables that `${x:=…}` sets.
    pub assigns: Vec<String>,
    /// Arithmetic, which may set variables.
    pub sums: Vec<String>,
    /// `${x@P}`: the variable's value is expanded again.
    pub prompt: bool,
    /// A process substitution where the grammar does not look for one: `${x:-<(…)}`.
    pub hidden_process: bool,
}

/// What a variable holds, or a command prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    Text(String),
    /// One of the names that this pattern finds.
    Pattern(String),
    /// Not known, but it begins with no dash: names of files, numbers, nothing.
    Name,
    Unknown,
}

/// Knows values without running anything.
pub(crate) trait Lookup {
    fn home(&self) -> Option<&str>;
    fn variable(&self, name: &str) -> Known;
    /// What `$(…)` yields.
    fn printed(&self, script: &str) -> Known;
    /// Takes steps of the work that is left; false when there are not enough.
    fn spend(&self, _steps: usize) -> bool {
        true
    }
    /// Words are split at blanks, as ever.
    fn splits_at_blanks(&self) -> bool {
        true
    }
}

/// For words whose value does not matter.
pub(crate) struct Nothing;

impl Lookup for Nothing {
    fn home(&self) -> Option<&str> {
        None
    }

    fn variable(&self, _name: &str) -> Known {
        Known::Unknown
    }

    fn printed(&self, _script: &str) -> Known {
        Known::Unknown
    }
}

/// How the text is quoted as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Bare,
    /// Double quotes, or the body of a here-document.
    Quoted,
}

struct Evaluator<'a> {
    known: &'a dyn Lookup,
    effects: &'a mut Effects,
    out: Vec<(char, bool)>,
    splits: bool,
    bare: bool,
    /// It begins with something that may begin with a dash.
    dash: bool,
    /// This is the second reading of something: nothing in it is read twice again.
    again: bool,
    /// Bytes that came out of expansions so far.
    expanded: usize,
}

/// The arguments that one word of the script becomes.
pub(crate) fn evaluate(raw: &str, known: &dyn Lookup, effects: &mut Effects) -> Result<Vec<Arg>, LexError> {
    if !known.spend(raw.len()) {
        return Ok(vec![Arg::unknown()]);
    }
    let mut evaluator = Evaluator::new(known, effects, false);
    evaluator.tilde(raw);
    let from = if evaluator.out.is_empty() { 0 } else { tilde_length(raw) };
    evaluator.run(raw, from, Context::Bare)?;
    let Evaluator { out, splits, bare, dash, .. } = evaluator;
    Ok(brace_words(&out)
        .into_iter()
        .map(|(word, braced)| Arg { splits, bare, braced, ..finish(&word, dash || braced) })
        .collect())
}

/// The text of a here-document or here-string body that undergoes expansion.
pub(crate) fn evaluate_body(
    raw: &str,
    known: &dyn Lookup,
    effects: &mut Effects,
) -> Result<String, LexError> {
    if !known.spend(raw.len()) {
        return Ok(UNKNOWN.to_string());
    }
    let mut evaluator = Evaluator::new(known, effects, false);
    evaluator.run(raw, 0, Context::Quoted)?;
    Ok(evaluator.out.into_iter().map(|(c, _)| c).collect())
}

/// Only the effects of expanding arithmetic or a pattern.
pub(crate) fn expand_only(raw: &str, effects: &mut Effects) -> Result<(), LexError> {
    evaluate_body(raw, &Nothing, effects).map(|_| ())
}

fn finish(word: &[(char, bool)], dash: bool) -> Arg {
    let last_close = word.iter().rposition(|item| *item == (']', false));
    let glob = word.iter().enumerate().any(|(index, (c, quoted))| {
        !quoted
            && match c {
                '*' | '?' => true,
                // A lone bracket is itself: `[` is a command.
                '[' => last_close.is_some_and(|close| close > index),
                _ => false,
            }
    });
    let text: String = word.iter().map(|(c, _)| *c).collect();
    // What turns out to be nothing leaves what stands behind it.
    let bared = text.trim_start_matches(UNKNOWN).starts_with('-');
    Arg { glob, dash: dash || bared || glob, text, ..Arg::default() }
}

/// Characters for which a shell looks at an expansion again.
const SPECIAL: [char; 7] = [' ', '\t', '\n', '*', '?', '[', '{'];

fn tilde_length(raw: &str) -> usize {
    raw.find('/').unwrap_or(raw.len())
}

impl<'a> Evaluator<'a> {
    fn new(known: &'a dyn Lookup, effects: &'a mut Effects, again: bool) -> Self {
        Self { known, effects, out: Vec::new(), splits: false, bare: true, dash: false, again, expanded: 0 }
    }

    fn tilde(&mut self, raw: &str) {
        let prefix = &raw[..tilde_length(raw)];
        let Some(user) = prefix.strip_prefix('~') else { return };
        if user.chars().any(|c| !(c.is_ascii_alphanumeric() || "_-.+".contains(c))) {
            return;
        }
        self.bare = false;
        match user {
            "" => match self.known.home() {
                Some(home) => self.push_text(home),
                None => self.out.push((UNKNOWN, true)),
            },
            "+" => match self.known.variable("PWD") {
                Known::Text(pwd) => self.push_text(&pwd),
                Known::Pattern(_) | Known::Name | Known::Unknown => self.out.push((UNKNOWN, true)),
            },
            "-" => self.out.push((UNKNOWN, true)),
            // Somebody else's home: outside whatever it is.
            _ => self.push_text(&format!("/home/{user}")),
        }
    }

    fn push_text(&mut self, text: &str) {
        self.out.extend(text.chars().map(|c| (c, true)));
    }

    fn run(&mut self, raw: &str, from: usize, context: Context) -> Result<(), LexError> {
        let mut at = from;
        while at < raw.len() {
            at = self.one(raw, at, context)?;
        }
        Ok(())
    }

    fn one(&mut self, raw: &str, at: usize, context: Context) -> Result<usize, LexError> {
        let bare = context == Context::Bare;
        let Some(c) = raw[at..].chars().next() else { return Ok(raw.len()) };
        match c {
            '\\' => Ok(self.escape(raw, at, context)),
            '\'' if bare => {
                self.bare = false;
                let end = extent::step(raw, at, 0, false)?;
                self.push_text(&raw[at + 1..end - 1]);
                Ok(end)
            }
            '"' if bare => {
                self.bare = false;
                let end = extent::double_quote_end(raw, at + 1, 0)?;
                self.run(&raw[..end - 1], at + 1, Context::Quoted)?;
                Ok(end)
            }
            '`' => {
                let end = extent::backquote_end(raw, at + 1)?;
                self.substitution(unescape_backquoted(&raw[at + 1..end - 1], context), context);
                Ok(end)
            }
            '$' => self.dollar(raw, at, context),
            _ => {
                self.out.push((c, !bare));
                Ok(at + c.len_utf8())
            }
        }
    }

    fn push_unknown(&mut self, context: Context) {
        self.dash = self.dash || self.out.iter().all(|(c, _)| *c == UNKNOWN);
        self.push_name(context);
    }

    /// Not known, but no dash begins it.
    fn push_name(&mut self, context: Context) {
        self.bare = false;
        self.splits |= context == Context::Bare;
        self.out.push((UNKNOWN, true));
    }

    /// Text that comes out of an expansion: without quotes, blanks would split it and wildcards count.
    fn push_value(&mut self, known: Known, context: Context) {
        let length = match &known {
            Known::Text(text) | Known::Pattern(text) => text.len(),
            Known::Name | Known::Unknown => 0,
        };
        self.expanded += length;
        if self.expanded > MAX_EXPANDED || !self.known.spend(length) {
            self.push_unknown(context);
            return;
        }
        match known {
            Known::Text(_) if context == Context::Bare && !self.known.splits_at_blanks() => {
                self.push_unknown(context)
            }
            Known::Text(value) if context == Context::Quoted || !value.contains(SPECIAL) => {
                self.bare = false;
                self.push_text(&value);
            }
            Known::Text(value) if !value.contains([' ', '\t', '\n', '{']) => {
                self.bare = false;
                self.out.extend(value.chars().map(|c| (c, false)));
            }
            Known::Pattern(pattern) if !pattern.contains(['{', ' ']) => {
                self.bare = false;
                self.out.extend(pattern.chars().map(|c| (c, false)));
            }
            Known::Name => self.push_name(context),
            // Several words: the first may be an option, and any other.
            Known::Text(_) | Known::Pattern(_) | Known::Unknown => self.push_unknown(context),
        }
    }

    fn escape(&mut self, raw: &str, at: usize, context: Context) -> usize {
        self.bare = false;
        let Some(c) = raw[at + 1..].chars().next() else {
            self.out.push(('\\', true));
            return raw.len();
        };
        let special = context == Context::Bare || matches!(c, '$' | '`' | '"' | '\\' | '\n');
        if !special {
            self.out.push(('\\', true));
        }
        if c != '\n' || !special {
            self.out.push((c, true));
        }
        at + 1 + c.len_utf8()
    }

    fn dollar(&mut self, raw: &str, at: usize, context: Context) -> Result<usize, LexError> {
        let bytes = raw.as_bytes();
        let bare = context == Context::Bare;
        let end = extent::dollar_end(raw, at, 0, !bare)?;
        let inside = &raw[(at + 1).min(end)..end];
        match bytes.get(at + 1) {
            Some(b'(')
                if inside.starts_with("((") && extent::arithmetic_end(raw, at + 3, 0)? == Some(end) =>
            {
                let sum = &inside[2..inside.len() - 2];
                expand_only(sum, self.effects)?;
                // `$((PATH=1))` sets it; only names that matter are worth the doubt.
                let names = sum.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                self.effects.assigns.extend(names.filter(|name| selects_helper(name)).map(str::to_owned));
                self.effects.sums.push(sum.to_owned());
                self.push_unknown(context);
            }
            Some(b'(') => {
                self.substitution(inside[1..inside.len() - 1].to_owned(), context);
            }
            Some(b'{') => self.parameter(&inside[1..inside.len() - 1], context)?,
            Some(b'\'') if bare => {
                self.bare = false;
                let decoded = ansi::decode(&inside[1..inside.len() - 1]);
                self.push_text(&decoded);
            }
            Some(b'"') if bare => {
                self.bare = false;
                self.run(&raw[..end - 1], at + 2, Context::Quoted)?;
            }
            _ if inside.is_empty() => self.out.push(('$', true)),
            _ => self.variable(inside, context),
        }
        Ok(end)
    }

    fn substitution(&mut self, script: String, context: Context) {
        let known = self.known.printed(&script);
        self.effects.scripts.push(script);
        self.push_value(known, context);
    }

    fn variable(&mut self, name: &str, context: Context) {
        self.push_value(self.known.variable(name), context);
    }

    /// `${HOME:?}`, `${HOME:-x}`, `${HOME%/}`: what is set and does not end in a slash stays what it is.
    fn same_value(&self, name: &str, rest: &str) -> Option<String> {
        let Known::Text(value) = self.known.variable(name) else { return None };
        let keeps = ["?", ":?", "-", ":-", "=", ":="].iter().any(|operator| rest.starts_with(operator))
            || matches!(rest, "%/" | "%%/");
        let plain = !value.is_empty() && !value.ends_with('/') && !value.contains(SPECIAL);
        (keeps && plain).then_some(value)
    }

    /// The inside of `${…}`.
    fn parameter(&mut self, inside: &str, context: Context) -> Result<(), LexError> {
        let name_length = inside.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (name, rest) = inside.split_at(name_length);
        if rest.is_empty() {
            self.variable(name, context);
            return Ok(());
        }
        if rest.starts_with(":=") || rest.starts_with('=') {
            self.effects.assigns.push(name.to_owned());
        }
        if !self.known.spend(rest.len()) {
            self.push_unknown(context);
            return Ok(());
        }
        self.effects.hidden_process |= rest.contains("<(") || rest.contains(">(");
        if rest.ends_with("@P") {
            self.effects.prompt = true;
        }
        // Quotes in here count or not by shell and surroundings: better one command too many than one too few.
        let mut nested = Effects::default();
        let mut scratch = Evaluator::new(self.known, &mut nested, self.again);
        scratch.run(rest, 0, context)?;
        // Unless the quotes do not even close then, in which case no shell reads it so.
        if !self.again && rest.contains(['\'', '"']) {
            let mut second = Evaluator::new(self.known, &mut nested, true);
            let _ = second.run(rest, 0, Context::Quoted);
        }
        for script in nested.scripts {
            if self.known.spend(self.effects.scripts.len()) && !self.effects.scripts.contains(&script) {
                self.effects.scripts.push(script);
            }
        }
        self.effects.assigns.append(&mut nested.assigns);
        self.effects.sums.append(&mut nested.sums);
        self.effects.prompt |= nested.prompt;
        self.effects.hidden_process |= nested.hidden_process;
        match self.same_value(name, rest) {
            // It holds nothing that would be read again.
            Some(value) => self.push_value(Known::Text(value), Context::Quoted),
            None => self.push_unknown(context),
        }
        Ok(())
    }
}

fn unescape_backquoted(inside: &str, context: Context) -> String {
    let mut out = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(next @ ('`' | '\\' | '$')) => out.push(next),
            Some('"') if context == Context::Quoted => out.push('"'),
            Some(next) => {
                out.push('\\');
                out.push(next);
            }
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests;
