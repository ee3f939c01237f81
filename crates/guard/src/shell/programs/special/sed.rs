//! sed: its scripts are followed far enough to see what they run, read and write.

use zdx_protocol::ReasonCode;

use crate::shell::programs::effects::{Effect, Effects, ProgramKind};
use crate::shell::programs::options::Call;
use crate::shell::programs::special::code::beginning;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

pub(crate) fn sed(call: &Call<'_>, out: &mut Effects) {
    let given = ["expression", "file"].iter().any(|name| call.has(name));
    let (first, files) = call.operands.split_at(usize::from(!given).min(call.operands.len()));
    if !call.has("sandbox") {
        let programs = call.values("expression").into_iter().chain(first.to_vec());
        out.0.extend(programs.map(|program| Effect::Program(program, ProgramKind::Sed)));
    }
    out.0.extend(call.values("file").into_iter().map(|file| Effect::ProgramFile(file, ProgramKind::Sed)));
    for file in files {
        if call.has("in-place") {
            out.push(Effect::NotPlain);
            out.changes(file, FileEffect::Alter);
        } else if file.text != "-" {
            out.reads(file);
        }
    }
}

/// What one program does.
pub(crate) fn program(program: &Arg) -> Effects {
    let mut out = Effects::default();
    // A shell variable in the middle of a substitution is everyday use; one that could add commands is rare.
    if program.has_unknown() {
        out.push(Effect::Unproven);
    }
    let Some(effects) = sed_effects(&program.text) else {
        match program.has_unknown() {
            true => out.ask("its program is not known before it runs"),
            false => out.confirm(ReasonCode::Opaque, "its program cannot be read"),
        }
        return out;
    };
    if effects.runs {
        out.push(Effect::NotPlain);
        out.helper("the e command of sed runs a shell");
        for (at, _) in program.text.match_indices('e').take(16) {
            let text = beginning(program.text[at + 1..].lines().next().unwrap_or(""));
            out.push(Effect::Perhaps(text.to_owned()));
        }
    }
    effects.writes.iter().for_each(|file| out.writes(&Arg::literal(file.as_str())));
    effects.reads.iter().for_each(|file| out.reads(&Arg::literal(file.as_str())));
    out
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
