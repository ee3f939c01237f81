//! Reads options the way getopt does, by a table: which take a value, which do not.
//! An option that the table does not know is reported, never skipped.

use crate::shell::syntax::word::Arg;

/// The options of one command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spec {
    /// Letters without a value.
    pub flags: &'static str,
    /// Letters that take one, attached or next.
    pub values: &'static str,
    pub long_flags: &'static [&'static str],
    /// Long options that take a value.
    pub long_values: &'static [&'static str],
    /// `-5` is an option too.
    pub digits: bool,
}

/// Options found, and where the rest begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsed {
    pub options: Vec<(String, Option<Arg>)>,
    pub rest: usize,
}

impl Parsed {
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    pub(crate) fn values<'p>(&'p self, names: &'p [&str]) -> impl Iterator<Item = &'p Arg> {
        self.options
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .filter_map(|(_, value)| value.as_ref())
    }
}

/// Reads options of `argv[1..]` up to the first operand. The error is the option nobody knows.
pub(crate) fn parse(spec: &Spec, argv: &[Arg]) -> Result<Parsed, String> {
    let mut parsed = Parsed { options: Vec::new(), rest: argv.len() };
    let mut at = 1;
    while let Some(arg) = argv.get(at) {
        let text = arg.text.as_str();
        if text == "--" {
            parsed.rest = at + 1;
            return Ok(parsed);
        }
        if !text.starts_with('-') || text == "-" {
            parsed.rest = at;
            return Ok(parsed);
        }
        at += 1;
        if let Some(long) = text.strip_prefix("--") {
            let (name, attached) = match long.split_once('=') {
                Some((name, value)) => (name, Some(Arg { text: value.to_owned(), ..arg.clone() })),
                None => (long, None),
            };
            if spec.long_values.contains(&name) {
                let value = attached.or_else(|| {
                    at += 1;
                    argv.get(at - 1).cloned()
                });
                parsed.options.push((name.to_owned(), value));
            } else if spec.long_flags.contains(&name) {
                parsed.options.push((name.to_owned(), attached));
            } else {
                return Err(text.to_owned());
            }
        } else if spec.digits && text[1..].trim_start_matches(['-', '+']).bytes().all(|b| b.is_ascii_digit())
        {
            parsed.options.push(("digits".to_owned(), None));
        } else {
            at = short(spec, argv, arg, at, &mut parsed)?;
        }
    }
    parsed.rest = parsed.rest.min(argv.len());
    Ok(parsed)
}

fn short(spec: &Spec, argv: &[Arg], arg: &Arg, mut at: usize, parsed: &mut Parsed) -> Result<usize, String> {
    let letters = &arg.text[1..];
    for (index, letter) in letters.char_indices() {
        if spec.values.contains(letter) {
            let attached = &letters[index + letter.len_utf8()..];
            let value = if attached.is_empty() {
                at += 1;
                argv.get(at - 1).cloned()
            } else {
                Some(Arg { text: attached.to_owned(), ..arg.clone() })
            };
            parsed.options.push((letter.to_string(), value));
            return Ok(at);
        }
        if !spec.flags.contains(letter) {
            return Err(arg.text.clone());
        }
        parsed.options.push((letter.to_string(), None));
    }
    Ok(at)
}

/// For commands whose options we need not know: every argument that is no option, `--` respected.
pub(crate) fn operands(argv: &[Arg]) -> Vec<&Arg> {
    let mut out = Vec::new();
    let mut only_operands = false;
    for arg in argv.iter().skip(1) {
        if only_operands || !arg.text.starts_with('-') || arg.text == "-" {
            out.push(arg);
        } else if arg.text == "--" {
            only_operands = true;
        }
    }
    out
}

/// `grep -e /a/b`, `rg -g /src/**`, `jq --arg route /a/b`: which arguments are the text of an option and name no file.
/// Read from the left, as the programs do, and only as far as every option on the way is known.
pub(crate) fn pattern_values(name: &str, argv: &[Arg]) -> Vec<usize> {
    let (flags, options, values): (&str, &[&str], usize) = match name {
        "grep" | "egrep" | "fgrep" | "zgrep" => ("abchHiIlLnoPqrRsTUvwxyzEFG", &["-e", "--regexp"], 1),
        "rg" => {
            ("FHILNSUabchilnopqsuvwxzP", &["-e", "--regexp", "-g", "--glob", "--iglob", "-r", "--replace"], 1)
        }
        "jq" | "gojq" => ("rncseRSMCja", &["--arg", "--argjson"], 2),
        // What is read from a file begins with `@` and is looked at elsewhere.
        "curl" => {
            ("sSfLkviIG", &["-d", "--data", "--data-raw", "-H", "--header", "-X", "-w", "--write-out"], 1)
        }
        "uniq" => ("cdDiuz", &["-f", "-s", "-w"], 1),
        "xxd" => ("abeEipPrud", &["-l", "-s", "-c", "-g", "-o", "-n"], 1),
        _ => return Vec::new(),
    };
    // `-rne`: the last of several letters takes the value.
    let takes_value = |text: &str| {
        let bundled =
            text.strip_prefix('-').filter(|letters| letters.chars().all(|c| c.is_ascii_alphanumeric()));
        let last = bundled.and_then(|letters| letters.char_indices().next_back());
        options.contains(&text)
            || bundled.zip(last).is_some_and(|(letters, (at, last))| {
                letters[..at].chars().all(|c| flags.contains(c)) && options.contains(&&*format!("-{last}"))
            })
    };
    let mut found = Vec::new();
    let mut at = 1;
    while let Some(arg) = argv.get(at) {
        let text = arg.text.as_str();
        let known = !text.starts_with('-') || text == "-" || text.contains('=');
        let flag = text.len() > 1
            && text.strip_prefix('-').is_some_and(|letters| letters.chars().all(|c| flags.contains(c)));
        if text == "--" || arg.splits || arg.glob {
            break;
        } else if takes_value(text) {
            found.extend((at + 1..=at + values).filter(|index| *index < argv.len()));
            at += 1 + values;
        } else if known || flag {
            at += 1;
        } else {
            break;
        }
    }
    found
}
