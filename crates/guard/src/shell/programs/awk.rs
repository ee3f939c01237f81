//! awk: its programs are looked through for what they run and write; nothing of them is interpreted.

use zdx_protocol::ReasonCode;

use crate::shell::Part;
use crate::shell::programs::awk_code;
use crate::shell::programs::scripts::strings_of;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::FileEffect;

impl Walker<'_> {
    pub(crate) fn awk(&mut self, argv: &[Arg], part: &mut Part) {
        let mut programs = Vec::new();
        let mut words = Vec::new();
        let (mut explicit, mut in_place) = (false, false);
        let mut at = 1;
        let mut only_operands = false;
        while let Some(arg) = argv.get(at) {
            at += 1;
            let text = arg.text.as_str();
            if only_operands || !text.starts_with('-') || text == "-" {
                // Options end where the program or the first file stands.
                only_operands = true;
                words.push(arg.clone());
                continue;
            }
            if text == "--" {
                only_operands = true;
                continue;
            }
            let (option, attached) = option_of(text);
            let value = match attached {
                Some(value) => Some(Arg { text: value.to_owned(), ..arg.clone() }),
                None if "fvFeilE".contains(option) => {
                    at += 1;
                    argv.get(at - 1).cloned()
                }
                None => None,
            };
            match (option, value) {
                ('f' | 'E', Some(file)) => {
                    explicit = true;
                    self.awk_file(&file, part);
                }
                ('e', Some(program)) => {
                    explicit = true;
                    programs.push(program);
                }
                ('i', Some(library)) if library.text == "inplace" => in_place = true,
                ('i' | 'l', Some(_)) => part.ask("it loads a library"),
                _ => {}
            }
        }
        if !explicit && !words.is_empty() {
            programs.push(words.remove(0));
        }
        for program in &programs {
            self.awk_program(&program.text, part);
            self.each_reading(program, part, |walker, reading, part| walker.awk_program(&reading.text, part));
        }
        for file in words.iter().filter(|word| !word.text.contains('=') || word.text.contains('/')) {
            self.reads(file, part);
            if in_place {
                self.protected_only(file, part);
            }
        }
    }

    fn awk_file(&mut self, file: &Arg, part: &mut Part) {
        if let Some(program) = self.script_text(file, part) {
            self.awk_program(&program, part);
        }
    }

    fn awk_program(&mut self, code: &str, part: &mut Part) {
        let bare = awk_code::code(code).unwrap_or_else(|| code.to_owned());
        if awk_code::runs_commands(&bare) {
            part.confirm(ReasonCode::Helper, "the awk program runs other commands");
            for text in strings_of(code) {
                self.only_listed(&text, part);
            }
        }
        // `> "file"` after print opens a file; a comparison has no string behind it.
        for (index, _) in code.match_indices('>') {
            let after = code[index + 1..].trim_start_matches('>').trim_start();
            if let Some(rest) = after.strip_prefix('"') {
                let file = rest.split('"').next().unwrap_or(rest).to_owned();
                if bare.contains("print") {
                    part.plain = false;
                    self.changes(&Arg::literal(file), FileEffect::Overwrite, part);
                }
            }
        }
        if bare.split("print").skip(1).any(|rest| {
            rest.split([';', '}', '\n']).next().unwrap_or("").contains('>') && !rest.contains('(')
        }) {
            part.ask("the awk program may write files");
        }
    }
}

/// The letter of an option, and the value that is attached to it. Long ones may be cut short.
fn option_of(text: &str) -> (char, Option<&str>) {
    const LONG: &[(&str, char)] = &[
        ("--file", 'f'),
        ("--source", 'e'),
        ("--assign", 'v'),
        ("--field-separator", 'F'),
        ("--include", 'i'),
        ("--load", 'l'),
        ("--exec", 'E'),
    ];
    if text.starts_with("--") {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let long = LONG.iter().find(|(long, _)| name.len() > 3 && long.starts_with(name));
        return (long.map_or('-', |(_, letter)| *letter), value);
    }
    let mut rest = text[1..].chars();
    let letter = rest.next().unwrap_or('-');
    (letter, Some(rest.as_str()).filter(|rest| !rest.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_attached_and_cut_short() {
        assert_eq!(option_of("--source=x"), ('e', Some("x")));
        assert_eq!(option_of("--sour"), ('e', None));
        assert_eq!(option_of("-f"), ('f', None));
        assert_eq!(option_of("-vx=1"), ('v', Some("x=1")));
    }
}
