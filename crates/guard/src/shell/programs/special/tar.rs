//! tar: which archive it writes, where it unpacks, and what its options run.

use zdx_protocol::ReasonCode;

use crate::shell::programs::effects::{Effect, Effects};
use crate::shell::programs::options::Call;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

/// Letters that take a value, attached or next.
const VALUES: &str = "fCTXIFbgHKLNV";

/// Long options that matter, by the letter that means the same.
const LONG: &[(&str, char)] = &[
    ("--file", 'f'),
    ("--directory", 'C'),
    ("--one-top-level", 'C'),
    ("--files-from", 'T'),
    ("--exclude-from", 'X'),
    ("--use-compress-program", 'I'),
    ("--create", 'c'),
    ("--extract", 'x'),
    ("--get", 'x'),
    ("--append", 'r'),
    ("--update", 'u'),
    ("--concatenate", 'A'),
    ("--catenate", 'A'),
    ("--delete", 'r'),
    ("--absolute-names", 'P'),
    ("--info-script", 'F'),
    ("--new-volume-script", 'F'),
    ("--to-command", '!'),
    ("--rmt-command", '!'),
    ("--rsh-command", '!'),
    ("--checkpoint-action", '@'),
    ("--remove-files", '-'),
];

/// Every `-C` is relative to the one before it.
const MAX_OPTIONS: usize = 64;

struct Options {
    found: Vec<(char, Option<Arg>)>,
    operands: Vec<Arg>,
}

pub(crate) fn tar(call: &Call<'_>, out: &mut Effects) {
    let Options { found, operands } = read(call.argv);
    if found.len() > MAX_OPTIONS {
        out.confirm(ReasonCode::TooLarge, "it has more options than can be judged");
        return;
    }
    if call.doubtful && call.argv.get(1).is_some_and(Arg::has_unknown) {
        out.confirm(ReasonCode::Opaque, "a word that is not known before it runs may be an option of tar");
    }
    let has = |letters: &str| found.iter().any(|(letter, _)| letters.contains(*letter));
    let values = |wanted: char| {
        found.iter().filter(move |(letter, _)| *letter == wanted).filter_map(|(_, value)| value.as_ref())
    };
    for (letter, value) in &found {
        let text = value.as_ref().map_or("", |value| value.text.as_str());
        match letter {
            '!' | 'F' => runs(text, out),
            '@' if text.contains("exec") || text.is_empty() => runs(text, out),
            'I' if text.contains(['/', ' ', '\0']) => runs(text, out),
            'I' => out.push(Effect::Perhaps(text.to_owned())),
            'P' => out.confirm(ReasonCode::Destructive, "it may write anywhere"),
            '-' => out.confirm(ReasonCode::Destructive, "it removes the files it packs"),
            'T' | 'X' => out.0.extend(value.clone().map(Effect::Reads)),
            _ => {}
        }
    }
    for archive in values('f') {
        match () {
            () if has("c") => out.writes(archive),
            () if has("ruA") => out.changes(archive, FileEffect::Alter),
            () => out.reads(archive),
        }
    }
    for folder in values('C') {
        match has("x") {
            true => out.changes(folder, FileEffect::Alter),
            false => out.reads(folder),
        }
        out.push(Effect::Chdir(folder.clone()));
    }
    for file in &operands {
        match has("x") {
            true => out.changes(file, FileEffect::Overwrite),
            false => out.reads(file),
        }
    }
    if has("x") {
        out.push(Effect::Unpacks(values('f').cloned().collect()));
        out.ask("it writes the files of the archive");
    }
}

fn runs(text: &str, out: &mut Effects) {
    out.helper("an option of tar runs a program");
    out.push(Effect::Perhaps(text.strip_prefix("exec=").unwrap_or(text).to_owned()));
}
/// Bundled letters take their values from the next words, in order; so does a first word without a dash.
fn read(argv: &[Arg]) -> Options {
    let mut options = Options { found: Vec::new(), operands: Vec::new() };
    let mut at = 1;
    while let Some(arg) = argv.get(at) {
        at += 1;
        let text = arg.text.as_str();
        let attached = |value: &str| Some(Arg { text: value.to_owned(), ..arg.clone() });
        if text.starts_with("--") {
            let (name, value) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let Some((_, letter)) = LONG.iter().find(|(long, _)| name.len() > 3 && long.starts_with(name))
            else {
                continue;
            };
            let takes = VALUES.contains(*letter) || "!@".contains(*letter);
            let value = match value {
                Some(value) => attached(value),
                None if takes && name != "--one-top-level" => {
                    at += 1;
                    argv.get(at - 1).cloned()
                }
                None => None,
            };
            options.found.push((*letter, value));
        } else if text.starts_with('-') && text != "-" {
            let mut letters = text[1..].chars();
            while let Some(letter) = letters.next() {
                if !VALUES.contains(letter) {
                    options.found.push((letter, None));
                    continue;
                }
                let rest = letters.as_str();
                let value = if rest.is_empty() {
                    at += 1;
                    argv.get(at - 1).cloned()
                } else {
                    attached(rest)
                };
                options.found.push((letter, value));
                break;
            }
        } else if at == 2 {
            for letter in text.chars() {
                let value = if VALUES.contains(letter) {
                    at += 1;
                    argv.get(at - 1).cloned()
                } else {
                    None
                };
                options.found.push((letter, value));
            }
        } else {
            options.operands.push(arg.clone());
        }
    }
    options
}
