//! Programs that speak to other machines: what runs there, and which files go out or come in.

use zdx_protocol::ReasonCode;

use crate::shell::Part;
use crate::shell::programs::commands::basename;
use crate::shell::programs::options::operands;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::feed::{Stdin, joined};
use crate::shell::walk::files::FileEffect;

impl Walker<'_> {
    pub(crate) fn ssh(&mut self, argv: &[Arg], part: &mut Part) {
        let mut at = 1;
        while let Some(arg) = argv.get(at).filter(|arg| arg.text.starts_with('-') && arg.text.len() > 1) {
            let letters = &arg.text[1..];
            // Flags may stand before the letter that takes a value: `-4o ProxyCommand=x`.
            let valued = letters.char_indices().find(|(_, letter)| "BbcDEeFIiJLlmOopQRSWw".contains(*letter));
            let (takes_value, letter, given) = match valued {
                Some((index, letter)) => (true, letter, &letters[index + letter.len_utf8()..]),
                None => (false, letters.chars().next().unwrap_or('-'), ""),
            };
            let value = if given.is_empty() {
                argv.get(at + 1).map(|a| a.text.clone()).unwrap_or_default()
            } else {
                given.to_owned()
            };
            let lower = value.to_lowercase();
            if letter == 'o'
                && ["proxycommand", "localcommand", "remotecommand", "knownhostscommand", "permitlocal"]
                    .iter()
                    .any(|key| lower.contains(key))
            {
                part.confirm(ReasonCode::Helper, "an ssh option runs a program");
                self.only_listed(value.split_once(['=', ' ']).map_or("", |(_, command)| command), part);
            }
            if letter == 'F' {
                part.confirm(ReasonCode::Helper, "an ssh configuration can run programs");
            }
            at += 1 + usize::from(takes_value && given.is_empty());
        }
        // `mosh host -- rm x`
        at += usize::from(argv.get(at + 1).is_some_and(|arg| arg.text == "--"));
        let remote = argv.get(at + 1..).unwrap_or(&[]);
        match self.stdin.clone() {
            _ if !remote.is_empty() => self.remote_text(remote, part),
            Stdin::Nothing => {}
            Stdin::Text(text) => self.only_floors(&text, part),
            Stdin::Unknown => part.confirm(ReasonCode::Opaque, "the other machine runs whatever it reads"),
        }
    }

    /// A command for another machine: only what it names matters, its files are not ours.
    fn remote_text(&mut self, words: &[Arg], part: &mut Part) {
        part.plain = false;
        match joined(words) {
            Some(text) => self.only_floors(&text, part),
            None => {
                part.confirm(
                    ReasonCode::Opaque,
                    "the command for the other machine is not known before it runs",
                );
                self.partly_known(words, part);
            }
        }
    }

    pub(crate) fn download(&mut self, argv: &[Arg], part: &mut Part) {
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let text = arg.text.as_str();
            if matches!(text, "-K" | "--config")
                || text.starts_with("--config=")
                || text.starts_with("--use-askpass")
            {
                part.confirm(ReasonCode::Helper, "its options come from a file or a program");
            }
            let given = |n: usize| argv.get(index + n).map(|next| next.text.clone()).unwrap_or_default();
            let sent =
                match text {
                    "-d" | "--data" | "--data-binary" | "--data-ascii" | "-F" | "--form" | "--json"
                    | "-H" | "--header" | "--data-urlencode" | "--url-query" | "--variable" => given(1),
                    "-T" | "--upload-file" | "--post-file" | "--body-file" | "-b" | "--cookie" | "-E"
                    | "--cert" | "--key" | "--netrc-file" => format!("@{}", given(1)),
                    _ if text.starts_with("-d@") || text.starts_with("-F") || text.starts_with("-H@") => {
                        text[2..].to_owned()
                    }
                    _ if ["-T", "-b", "-E", "-i"].iter().any(|letter| text.starts_with(letter))
                        && text[2..].starts_with(['/', '.', '~']) =>
                    {
                        format!("@{}", &text[2..])
                    }
                    _ if text.starts_with("--data")
                        || text.starts_with("--post-file=")
                        || text.starts_with("--body-file=") =>
                    {
                        text.split_once('=')
                            .map(|(option, value)| {
                                if option.ends_with("file") { format!("@{value}") } else { value.to_owned() }
                            })
                            .unwrap_or_default()
                    }
                    _ => continue,
                };
            // `name@file` for what is encoded, `name=@file` and `name=<file` for forms.
            let named = matches!(text, "--data-urlencode" | "--variable" | "--url-query");
            let form = text.starts_with("-F") || text == "--form";
            let marks: &[char] = if form { &['@', '<'] } else { &['@'] };
            if let Some((_, file)) = sent.split_once(marks).filter(|(before, _)| {
                before.is_empty() || before.ends_with('=') || (named && !before.contains('='))
            }) {
                let file = file.split(';').next().unwrap_or(file).to_owned();
                self.reads(&Arg { text: file, ..arg.clone() }, part);
            }
        }
        for arg in operands(argv) {
            let lower = arg.text.to_ascii_lowercase();
            if let Some(path) = lower.strip_prefix("file:").and_then(|_| arg.text.get(5..)) {
                let path = path.trim_start_matches("//").trim_start_matches("localhost");
                self.reads(&Arg { text: path.to_owned(), ..arg.clone() }, part);
            }
        }
    }

    /// What is fetched under a name of the other side's choice, and what this script may not then just run.
    pub(crate) fn downloaded(&mut self, argv: &[Arg], part: &mut Part) {
        let wget = basename(&argv[0].text) == "wget";
        let letters = if wget { WGET } else { CURL };
        let mut names = Vec::new();
        let mut by_address = wget;
        for (index, arg) in argv.iter().enumerate().skip(1) {
            match bundle(&arg.text, letters) {
                Some(('o', false, value)) if !wget => names.push((value, index)),
                Some(('O', false, value)) if wget => {
                    by_address = false;
                    names.push((value, index));
                }
                Some(('P', false, value)) if wget => names.push((value, index)),
                Some((_, true, _)) => by_address = true,
                Some(_) | None => {}
            }
            by_address |= matches!(arg.text.as_str(), "--remote-name" | "--remote-name-all");
            if matches!(arg.text.as_str(), "--output-dir" | "--directory-prefix") {
                names.push((String::new(), index));
            }
            // Where long options write was looked at with all the others.
            match (arg.text.as_str(), arg.text.strip_prefix("--output-document=")) {
                (_, Some(file)) => self.fetches(&Arg { text: file.to_owned(), ..arg.clone() }),
                ("--output" | "--output-document", _) => {
                    if let Some(file) = argv.get(index + 1) {
                        self.fetches(file);
                    }
                }
                _ => {}
            }
        }
        for (attached, index) in names {
            let file = match (attached.as_str(), argv.get(index + 1)) {
                ("", Some(next)) => next.clone(),
                ("", None) => continue,
                (value, _) => Arg { text: value.to_owned(), ..argv[index].clone() },
            };
            if file.text != "-" {
                part.plain = false;
                let folder = argv[index].text.contains("-dir") || (wget && argv[index].text.contains('P'));
                self.changes(&file, if folder { FileEffect::Alter } else { FileEffect::Overwrite }, part);
                self.fetches(&file);
            }
        }
        if !by_address {
            return;
        }
        for address in operands(argv) {
            let path = address.text.split(['?', '#']).next().unwrap_or("");
            let name = path.rsplit('/').next().unwrap_or("");
            if path.contains('/') && !name.is_empty() && address.known().is_some() {
                let file = Arg::literal(name);
                // wget finds another name for what is there already.
                self.changes(&file, if wget { FileEffect::Alter } else { FileEffect::Overwrite }, part);
                self.fetches(&file);
            }
        }
    }
}

/// Letters without a value, and those that take one, for each of the two.
const CURL: (&str, &str) = ("#0123468aBfgGiIjJklLMnNOpqsSvZ", "AbcCdDeEFhHKmoPQrtTuUwxXyYz");
const WGET: (&str, &str) = ("46bcdFHhkKLmnNpqrSvVxE", "aABDeGiIlOoPQRTtUwX");

/// The letter with a value in bundled letters, whether one before it was curl's `-O`, and the attached value.
fn bundle(text: &str, (flags, values): (&str, &str)) -> Option<(char, bool, String)> {
    let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let mut by_address = false;
    for (index, letter) in letters.char_indices() {
        if values.contains(letter) {
            return Some((letter, by_address, letters[index + letter.len_utf8()..].to_owned()));
        }
        if !flags.contains(letter) {
            return None;
        }
        by_address |= letter == 'O';
    }
    by_address.then(|| ('O', true, String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_downloads_are_taken_apart() {
        assert_eq!(bundle("-fsSLo", CURL), Some(('o', false, String::new())));
        assert_eq!(bundle("-so/tmp/x", CURL), Some(('o', false, "/tmp/x".to_owned())));
        assert_eq!(bundle("-LO", CURL), Some(('O', true, String::new())));
        assert_eq!(bundle("-sS", CURL), None);
        assert_eq!(bundle("-qO-", WGET), Some(('O', false, "-".to_owned())));
    }
}
