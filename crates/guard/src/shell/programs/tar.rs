//! tar: which archive it writes, where it unpacks, and what its options run.

use zdx_protocol::ReasonCode;

use crate::shell::Part;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
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

impl Walker<'_> {
    pub(crate) fn tar(&mut self, argv: &[Arg], part: &mut Part) {
        let Options { found, operands } = read(argv);
        if found.len() > MAX_OPTIONS {
            part.confirm(ReasonCode::TooLarge, "it has more options than can be judged");
            return;
        }
        let has = |letters: &str| found.iter().any(|(letter, _)| letters.contains(*letter));
        let before = self.folders.clone();
        for (letter, value) in &found {
            let text = value.as_ref().map_or("", |value| value.text.as_str());
            match letter {
                '!' | 'F' => self.tar_runs(text, part),
                '@' if text.contains("exec") || text.is_empty() => self.tar_runs(text, part),
                'I' if text.contains(['/', ' ', '\0']) => self.tar_runs(text, part),
                'I' => self.only_listed(text, part),
                'P' => part.confirm(ReasonCode::Destructive, "it may write anywhere"),
                '-' => part.confirm(ReasonCode::Destructive, "it removes the files it packs"),
                'T' | 'X' => {
                    if let Some(file) = value {
                        self.reads(file, part);
                    }
                }
                _ => {}
            }
        }
        for archive in
            found.iter().filter(|(letter, _)| *letter == 'f').filter_map(|(_, value)| value.as_ref())
        {
            if has("c") {
                part.plain = false;
                self.changes(archive, FileEffect::Overwrite, part);
            } else if has("ruA") {
                self.changes(archive, FileEffect::Alter, part);
            } else {
                self.reads(archive, part);
            }
        }
        for folder in
            found.iter().filter(|(letter, _)| *letter == 'C').filter_map(|(_, value)| value.as_ref())
        {
            if has("x") {
                self.changes(folder, FileEffect::Alter, part);
            } else {
                self.reads(folder, part);
            }
            self.change_folder(folder, part);
        }
        for file in &operands {
            match has("x") {
                true => self.changes(file, FileEffect::Overwrite, part),
                false => self.reads(file, part),
            }
        }
        if has("x") {
            self.unpacks_here(part);
        }
        self.folders = before;
        if has("x") {
            part.ask("it writes the files of the archive");
        }
    }

    fn tar_runs(&mut self, text: &str, part: &mut Part) {
        part.confirm(ReasonCode::Helper, "an option of tar runs a program");
        self.only_listed(text.strip_prefix("exec=").unwrap_or(text), part);
    }
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
            let Some((_, letter)) = LONG.iter().find(|(long, _)| name.len() > 4 && long.starts_with(name))
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
