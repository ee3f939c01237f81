//! sed: its scripts are followed far enough to see what they run, read and write.

use super::Part;
use super::files::Change;
use super::walk::Walker;
use super::word::Arg;

impl Walker<'_> {
    pub fn sed(&mut self, argv: &[Arg], part: &mut Part) {
        let mut programs: Vec<Arg> = Vec::new();
        let (mut in_place, mut explicit) = (false, false);
        let mut files: Vec<&Arg> = Vec::new();
        let mut at = 1;
        while let Some(arg) = argv.get(at) {
            at += 1;
            let text = arg.text.as_str();
            let attached = |value: &str| Arg { text: value.to_owned(), ..arg.clone() };
            match text {
                "-e" | "--expression" => {
                    explicit = true;
                    programs.extend(argv.get(at).cloned());
                    at += 1;
                }
                "-f" | "--file" => {
                    explicit = true;
                    if let Some(file) = argv.get(at) {
                        self.reads(file, part);
                        part.ask("workspace_file", "it runs a script file");
                    }
                    at += 1;
                }
                "-l" | "--line-length" => at += 1,
                _ if text.starts_with("--expression=") => {
                    explicit = true;
                    programs.push(attached(&text[13..]));
                }
                _ if text.starts_with("--in-place") => in_place = true,
                _ if text.starts_with("--") => {}
                _ if text.starts_with('-') && text.len() > 1 => {
                    in_place |= text.contains('i');
                    if let Some(rest) =
                        text.split_once('e').map(|(_, rest)| rest).filter(|_| !text.contains('i'))
                    {
                        explicit = true;
                        if rest.is_empty() {
                            programs.extend(argv.get(at).cloned());
                            at += 1;
                        } else {
                            programs.push(attached(rest));
                        }
                    }
                }
                _ => files.push(arg),
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
        }
        for file in &files {
            if in_place {
                part.plain = false;
                self.changes(file, Change::Alter, part);
            } else {
                self.reads(file, part);
            }
        }
    }

    fn sed_program(&mut self, program: &Arg, part: &mut Part) {
        // A shell variable in the middle of a substitution is everyday use; one that could add commands is rare.
        let Some(effects) = sed_effects(&program.text) else {
            if program.has_unknown() {
                part.ask("opaque", "its program is not known before it runs");
            } else {
                part.confirm("opaque", "its program cannot be read");
            }
            return;
        };
        if effects.runs {
            part.plain = false;
            part.confirm("helper", "the e command of sed runs a shell");
        }
        for file in effects.writes {
            part.plain = false;
            self.changes(&Arg::literal(file), Change::Overwrite, part);
        }
        for file in effects.reads {
            self.reads(&Arg::literal(file), part);
        }
    }
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
fn skip_regex(chars: &[char], mut at: usize, wanted: char, brackets: bool) -> Option<usize> {
    loop {
        match chars.get(at)? {
            '\\' => at += 2,
            c if *c == wanted => return Some(at + 1),
            '[' if brackets => {
                let first = at + 1 + usize::from(chars.get(at + 1) == Some(&'^'));
                let close = chars.get(first + 1..)?.iter().position(|c| *c == ']').map(|n| first + 1 + n);
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
