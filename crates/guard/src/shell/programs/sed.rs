//! sed: its scripts are followed far enough to see what they run, read and write.

use zdx_protocol::ReasonCode;

use crate::shell::Part;
use crate::shell::programs::scripts::beginning;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::FileEffect;

impl Walker<'_> {
    pub(crate) fn sed(&mut self, argv: &[Arg], part: &mut Part) {
        let mut programs: Vec<Arg> = Vec::new();
        let (mut in_place, mut explicit) = (false, false);
        let mut files: Vec<&Arg> = Vec::new();
        let mut only_files = false;
        let mut at = 1;
        while let Some(arg) = argv.get(at) {
            at += 1;
            let text = arg.text.as_str();
            let attached = |value: &str| Arg { text: value.to_owned(), ..arg.clone() };
            if only_files || !text.starts_with('-') || text == "-" {
                files.push(arg);
                continue;
            }
            if text == "--" {
                only_files = true;
                continue;
            }
            for (letter, value) in options_of(text) {
                let value = match value {
                    Some(value) => Some(attached(value)),
                    None if "efl".contains(letter) => {
                        at += 1;
                        argv.get(at - 1).cloned()
                    }
                    None => None,
                };
                match (letter, value) {
                    ('i', _) => in_place = true,
                    ('e', Some(program)) => {
                        explicit = true;
                        programs.push(program);
                    }
                    ('f', Some(file)) => {
                        explicit = true;
                        self.sed_file(&file, part);
                    }
                    _ => {}
                }
            }
        }
        let files: Vec<Arg> = files.into_iter().cloned().collect();
        let files = match files.split_first() {
            Some((program, rest)) if !explicit => {
                programs.push(program.clone());
                rest.to_vec()
            }
            _ => files,
        };
        let sandboxed = argv.iter().any(|arg| arg.text == "--sandbox");
        for program in programs.iter().filter(|_| !sandboxed) {
            self.sed_program(program, part);
            self.each_reading(program, part, |walker, reading, part| walker.sed_program(reading, part));
        }
        for file in &files {
            if in_place {
                part.plain = false;
                self.changes(file, FileEffect::Alter, part);
            } else {
                self.reads(file, part);
            }
        }
    }

    fn sed_file(&mut self, file: &Arg, part: &mut Part) {
        if let Some(program) = self.script_text(file, part) {
            self.sed_program(&Arg::literal(program), part);
        }
    }

    fn sed_program(&mut self, program: &Arg, part: &mut Part) {
        // A shell variable in the middle of a substitution is everyday use; one that could add commands is rare.
        let Some(effects) = sed_effects(&program.text) else {
            if program.has_unknown() {
                part.ask("its program is not known before it runs");
            } else {
                part.confirm(ReasonCode::Opaque, "its program cannot be read");
            }
            return;
        };
        if effects.runs {
            part.plain = false;
            part.confirm(ReasonCode::Helper, "the e command of sed runs a shell");
            for (at, _) in program.text.match_indices('e').take(16) {
                self.only_listed(beginning(program.text[at + 1..].lines().next().unwrap_or("")), part);
            }
        }
        for file in effects.writes {
            part.plain = false;
            self.changes(&Arg::literal(file), FileEffect::Overwrite, part);
        }
        for file in effects.reads {
            self.reads(&Arg::literal(file), part);
        }
    }
}

/// The options in one argument, each with the value that is attached to it. Long ones may be cut short.
fn options_of(text: &str) -> Vec<(char, Option<&str>)> {
    const LONG: &[(&str, char)] =
        &[("--expression", 'e'), ("--file", 'f'), ("--in-place", 'i'), ("--line-length", 'l')];
    if text.starts_with("--") {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let long = LONG.iter().find(|(long, _)| name.len() > 2 && long.starts_with(name));
        return long.map(|(_, letter)| (*letter, value)).into_iter().collect();
    }
    let mut options = Vec::new();
    for (index, letter) in text.char_indices().skip(1) {
        let rest = Some(&text[index + letter.len_utf8()..]).filter(|rest| !rest.is_empty());
        if "efil".contains(letter) {
            options.push((letter, rest));
            break;
        }
        options.push((letter, None));
    }
    options
}

#[derive(Debug, Default, PartialEq, Eq)]
struct SedEffects {
    runs: bool,
    writes: Vec<String>,
    reads: Vec<String>,
}

/// What a sed script does, in both readings of a delimiter inside brackets. None: not understood.
fn sed_effects(program: &str) -> Option<SedEffects> {
    match (walk(program, true), walk(program, false)) {
        (Some(mut one), Some(other)) => {
            one.runs |= other.runs;
            one.writes.extend(
                other.writes.into_iter().filter(|file| !one.writes.contains(file)).collect::<Vec<_>>(),
            );
            one.reads
                .extend(other.reads.into_iter().filter(|file| !one.reads.contains(file)).collect::<Vec<_>>());
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

/// Walks over a sed script far enough to find `e`, `w`, `r` and the flags of `s`.
fn walk(program: &str, brackets: bool) -> Option<SedEffects> {
    let mut effects = SedEffects::default();
    let chars: Vec<char> = program.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        match chars[at] {
            c if c.is_whitespace()
                || matches!(c, ';' | '{' | '}' | '!' | ',' | '$' | '+' | '~' | '0'..='9') =>
            {
                at += 1
            }
            '#' => at = line_end(&chars, at),
            '/' => at = skip_regex(&chars, at + 1, '/', brackets)?,
            '\\' => at = skip_regex(&chars, at + 2, *chars.get(at + 1)?, brackets)?,
            'I' | 'M' if at > 0 => at += 1,
            's' => at = substitution(&chars, at, brackets, &mut effects)?,
            'y' => {
                let delimiter = *chars.get(at + 1)?;
                at = skip_to(&chars, at + 2, delimiter)?;
                at = skip_to(&chars, at, delimiter)?;
            }
            'e' => {
                effects.runs = true;
                at = line_end(&chars, at);
            }
            'w' | 'W' => {
                let end = line_end(&chars, at);
                effects.writes.push(chars[at + 1..end].iter().collect::<String>().trim().to_owned());
                at = end;
            }
            'r' | 'R' => {
                let end = line_end(&chars, at);
                effects.reads.push(chars[at + 1..end].iter().collect::<String>().trim().to_owned());
                at = end;
            }
            'a' | 'i' | 'c' => {
                at = line_end(&chars, at);
                while at > 0 && chars.get(at - 1) == Some(&'\\') && at < chars.len() {
                    at = line_end(&chars, at + 1);
                }
            }
            ':' | 'b' | 't' | 'T' => {
                while at < chars.len() && !matches!(chars[at], ';' | '\n' | '}') {
                    at += 1;
                }
            }
            '=' | 'd' | 'D' | 'F' | 'g' | 'G' | 'h' | 'H' | 'l' | 'n' | 'N' | 'p' | 'P' | 'q' | 'Q' | 'v'
            | 'x' | 'z' => at += 1,
            _ => return None,
        }
    }
    Some(effects)
}

fn substitution(chars: &[char], at: usize, brackets: bool, effects: &mut SedEffects) -> Option<usize> {
    let delimiter = *chars.get(at + 1)?;
    let mut at = skip_regex(chars, at + 2, delimiter, brackets)?;
    at = skip_to(chars, at, delimiter)?;
    while let Some(flag) = chars.get(at) {
        match flag {
            'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => at += 1,
            'e' => {
                effects.runs = true;
                at += 1;
            }
            'w' => {
                let end = line_end(chars, at);
                effects.writes.push(chars[at + 1..end].iter().collect::<String>().trim().to_owned());
                return Some(end);
            }
            _ => break,
        }
    }
    Some(at)
}

/// Like [`skip_to`], over a regular expression: a delimiter inside brackets may be itself.
fn skip_regex(chars: &[char], mut at: usize, wanted: char, mut brackets: bool) -> Option<usize> {
    loop {
        match chars.get(at)? {
            '\\' => at += 2,
            c if *c == wanted => return Some(at + 1),
            '[' if brackets => {
                let first = at + 1 + usize::from(chars.get(at + 1) == Some(&'^'));
                let close = chars.get(first + 1..)?.iter().position(|c| *c == ']').map(|n| first + 1 + n);
                // None is left: neither is there for any later bracket.
                brackets = close.is_some();
                at = close.map_or(at + 1, |close| close + 1);
            }
            _ => at += 1,
        }
    }
}

/// The index after the next unescaped `wanted`.
fn skip_to(chars: &[char], mut at: usize, wanted: char) -> Option<usize> {
    loop {
        match chars.get(at)? {
            '\\' => at += 2,
            c if *c == wanted => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn line_end(chars: &[char], from: usize) -> usize {
    chars[from..].iter().position(|c| *c == '\n').map_or(chars.len(), |n| from + n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_programs_are_followed_to_their_commands() {
        for harmless in [
            "1,5p",
            "s/a/b/g",
            "/x/d",
            "$!N;s/\\n/ /",
            "s|/usr|/opt|",
            "y/abc/xyz/",
            "/a/,/b/{s/x/y/;p}",
            "1i\\\nhello",
            ":a;N;$!ba;s/\\n/ /g",
            "2q",
            "s/[/]/x/",
            "s/[^]/]*//",
        ] {
            assert_eq!(sed_effects(harmless), Some(SedEffects::default()), "{harmless}");
        }
        assert!(sed_effects("1e rm x").unwrap().runs);
        assert!(sed_effects("s/.*/rm x/e").unwrap().runs);
        assert_eq!(sed_effects("w out").unwrap().writes, ["out"]);
        assert_eq!(sed_effects("s/a/b/gw log").unwrap().writes, ["log"]);
        assert_eq!(sed_effects("s/unclosed"), None);
    }
}
