//! Reads the words of a call by its row, for every program alike: abbreviated, bundled, attached and negated options,
//! values, and words that are not literal and may be any option. What no row knows is reported, never skipped.

use crate::pattern::UNKNOWN;
use crate::shell::programs::table::{self, Opt, OptionEffect, Row, Takes};
use crate::shell::syntax::word::Arg;

/// An option that was given.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub option: &'static Opt,
    pub values: Vec<Arg>,
}

/// The words of one call, told apart.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    pub row: &'static Row,
    /// The name it was called by, without folders.
    pub name: &'a str,
    pub argv: &'a [Arg],
    pub found: Vec<Found>,
    pub operands: Vec<Arg>,
    /// Where the operands begin, for rows whose options end there.
    pub rest: usize,
    /// Options that neither the row nor anybody knows.
    pub unknown: Vec<Arg>,
    /// A word that may turn out to be an option.
    pub doubtful: bool,
    /// `--` stood before the operands.
    pub ended: bool,
}

impl Call<'_> {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.found.iter().any(|found| found.option.is(name))
    }

    pub(crate) fn values(&self, name: &str) -> Vec<Arg> {
        let of_name = self.found.iter().filter(|found| found.option.is(name));
        of_name.flat_map(|found| found.values.iter().cloned()).collect()
    }

    pub(crate) fn has_effect(&self, effect: OptionEffect) -> bool {
        self.found.iter().any(|found| found.option.effect == effect)
    }

    /// No operand is the pattern: an option is, or there is none.
    pub(crate) fn has_pattern(&self) -> bool {
        self.has_effect(OptionEffect::Pattern)
            || self.has_effect(OptionEffect::PatternFile)
            || self.has("files")
    }

    /// The words behind the options, for rows whose options end there.
    pub(crate) fn behind(&self) -> &[Arg] {
        self.argv.get(self.rest..).unwrap_or_default()
    }
}

/// Tells the words of `argv[1..]` apart.
pub(crate) fn read<'a>(row: &'static Row, name: &'a str, argv: &'a [Arg]) -> Call<'a> {
    read_until(row, name, argv, row.stops_at_operand())
}

/// The same, with options behind operands or not.
pub(crate) fn read_until<'a>(row: &'static Row, name: &'a str, argv: &'a [Arg], stops: bool) -> Call<'a> {
    let mut call = Call {
        row,
        name,
        argv,
        found: Vec::new(),
        operands: Vec::new(),
        rest: argv.len(),
        unknown: Vec::new(),
        doubtful: false,
        ended: false,
    };
    let mut at = 1;
    while let Some(arg) = argv.get(at) {
        let text = arg.text.as_str();
        if text == "--" {
            call.ended = true;
            call.rest = at + 1;
            call.operands.extend_from_slice(&argv[at + 1..]);
            return call;
        }
        if text.starts_with('-') && text != "-" {
            at = option(&mut call, arg, at + 1);
            continue;
        }
        call.doubtful |= may_be_option(arg);
        if stops {
            call.rest = at;
            call.operands.extend_from_slice(&argv[at..]);
            return call;
        }
        call.operands.push(arg.clone());
        at += 1;
    }
    call
}

/// Every argument that is no option, `--` respected.
pub(crate) fn operands(argv: &[Arg]) -> Vec<&Arg> {
    let end = argv.iter().position(|arg| arg.text == "--").unwrap_or(argv.len());
    let is_word =
        |(index, arg): &(usize, &Arg)| *index > end || !arg.text.starts_with('-') || arg.text == "-";
    argv.iter().enumerate().skip(1).filter(is_word).map(|(_, arg)| arg).collect()
}

/// A variable, a substitution or a wildcard at the beginning of a word: it may begin with a dash.
pub(crate) fn may_be_option(arg: &Arg) -> bool {
    (arg.text.starts_with(UNKNOWN) && arg.dash)
        || (arg.glob && arg.text.starts_with(['*', '?', '[', '-']) && arg.dash)
}

/// Reads the option at `at - 1`; returns where to go on.
fn option(call: &mut Call<'_>, arg: &Arg, at: usize) -> usize {
    let row = call.row;
    // Half an option: what the rest of it is was not written.
    let cut_open = arg.text.contains(UNKNOWN) && !arg.text.contains('=') && arg.text.starts_with("--");
    call.doubtful |= cut_open || (arg.text.len() < 3 && arg.text.contains(UNKNOWN));
    let text = &arg.text[1..];
    if let Some(long) = text.strip_prefix('-') {
        return long_option(call, arg, long, at);
    }
    if row.is("single") {
        // Only whole words; a letter with its value attached is still one.
        let name = text.split('=').next().unwrap_or(text);
        let exact = row.options.iter().any(|option| option.long == Some(name));
        let letter =
            row.options.iter().find(|option| option.short.is_some_and(|letter| text.starts_with(letter)));
        return match letter.filter(|_| !exact) {
            Some(_) => letters(call, arg, text, at),
            None => long_option(call, arg, text, at),
        };
    }
    if (row.digits || row.is("open") || row.is("words"))
        && text.trim_start_matches(['-', '+']).bytes().all(|b| b.is_ascii_digit())
    {
        return at;
    }
    letters(call, arg, text, at)
}

fn long_option(call: &mut Call<'_>, arg: &Arg, long: &str, mut at: usize) -> usize {
    let (name, attached) = match long.split_once('=') {
        Some((name, value)) => (name, Some(Arg { text: value.to_owned(), ..arg.clone() })),
        None => (long, None),
    };
    let Some(option) = strictest(call.row, name).or_else(|| strictest(table::any(), name)) else {
        // What was said before is taken back; what is not known cannot be.
        let Some(negated) = name.strip_prefix("no-").and_then(|name| strictest(call.row, name)) else {
            call.unknown.push(arg.clone());
            return at;
        };
        call.found.retain(|found| found.option.long != negated.long || negated.long.is_none());
        return at;
    };
    let mut values: Vec<Arg> = attached.into_iter().collect();
    // Cut so short that it may take the next word or not: then that word is not taken for its value.
    let unclear = is_unclear(call.row, name);
    if unclear {
        call.unknown.push(arg.clone());
    }
    let wanted = match option.takes {
        _ if unclear => 0,
        Takes::Nothing | Takes::Maybe => 0,
        Takes::One => 1,
        Takes::Two => 2,
    };
    while values.len() < wanted {
        values.extend(call.argv.get(at).cloned());
        at += 1;
        if at > call.argv.len() {
            break;
        }
    }
    call.found.push(Found { option, values });
    at
}

/// The option that a name, whole or cut short, means; of several the strictest.
fn strictest(row: &'static Row, name: &str) -> Option<&'static Opt> {
    let exact = row.options.iter().find(|option| option.long == Some(name));
    exact.or_else(|| {
        let fits = |option: &&'static Opt| {
            !name.is_empty() && option.long.is_some_and(|long| long.starts_with(name))
        };
        row.options.iter().filter(fits).max_by_key(|option| option.effect)
    })
}

/// Does a name that is cut short fit options of which some take a value and some do not?
fn is_unclear(row: &Row, name: &str) -> bool {
    let longs = || row.options.iter().filter(|option| option.long.is_some_and(|long| long.starts_with(name)));
    let exact = longs().any(|option| option.long == Some(name));
    let valued = |option: &Opt| matches!(option.takes, Takes::One | Takes::Two);
    !exact && longs().any(valued) && !longs().all(valued)
}

/// Bundled letters; the first that takes a value takes the rest, or the next word.
fn letters(call: &mut Call<'_>, arg: &Arg, text: &str, mut at: usize) -> usize {
    for (index, letter) in text.char_indices() {
        let Some(option) = call.row.options.iter().find(|option| option.short == Some(letter)) else {
            // What follows it may be its value, or more letters: of these the worst counts.
            if call.unknown.last() != Some(arg) {
                call.unknown.push(arg.clone());
            }
            continue;
        };
        let attached = &text[index + letter.len_utf8()..];
        let value = || Arg { text: attached.to_owned(), ..arg.clone() };
        match option.takes {
            Takes::Nothing => call.found.push(Found { option, values: Vec::new() }),
            Takes::Maybe => {
                let values = if attached.is_empty() { Vec::new() } else { vec![value()] };
                call.found.push(Found { option, values });
                return at;
            }
            Takes::One | Takes::Two => {
                let values = if attached.is_empty() {
                    at += 1;
                    call.argv.get(at - 1).cloned().into_iter().collect()
                } else {
                    vec![value()]
                };
                call.found.push(Found { option, values });
                return at;
            }
        }
    }
    at
}
