//! Programs that speak to other machines: what runs there, and which files go out or come in.

use super::Part;
use super::feed::{Stdin, joined};
use super::options::operands;
use super::walk::Walker;
use super::word::Arg;

impl Walker<'_> {
    pub fn ssh(&mut self, argv: &[Arg], part: &mut Part) {
        let mut at = 1;
        while let Some(arg) = argv.get(at).filter(|arg| arg.text.starts_with('-') && arg.text.len() > 1) {
            let letter = arg.text.chars().nth(1).unwrap_or('-');
            let takes_value = "BbcDEeFIiJLlmOopQRSWw".contains(letter);
            let value = if arg.text.len() > 2 {
                arg.text[2..].to_owned()
            } else {
                argv.get(at + 1).map(|a| a.text.clone()).unwrap_or_default()
            };
            let lower = value.to_lowercase();
            if letter == 'o'
                && ["proxycommand", "localcommand", "remotecommand", "knownhostscommand", "permitlocal"]
                    .iter()
                    .any(|key| lower.contains(key))
            {
                part.confirm("helper", "an ssh option runs a program");
            }
            if letter == 'F' {
                part.confirm("helper", "an ssh configuration can run programs");
            }
            at += 1 + usize::from(takes_value && arg.text.len() == 2);
        }
        let remote = argv.get(at + 1..).unwrap_or(&[]);
        match self.stdin.clone() {
            _ if !remote.is_empty() => self.remote_text(remote, part),
            Stdin::Nothing => {}
            Stdin::Text(text) => self.only_floors(&text, part),
            Stdin::Unknown => part.confirm("opaque", "the other machine runs whatever it reads"),
        }
    }

    /// A command for another machine: only what it names matters, its files are not ours.
    fn remote_text(&mut self, words: &[Arg], part: &mut Part) {
        part.plain = false;
        match joined(words) {
            Some(text) => self.only_floors(&text, part),
            None => part.confirm("opaque", "the command for the other machine is not known before it runs"),
        }
    }

    pub fn download(&mut self, argv: &[Arg], part: &mut Part) {
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let text = arg.text.as_str();
            if matches!(text, "-K" | "--config")
                || text.starts_with("--config=")
                || text.starts_with("--use-askpass")
            {
                part.confirm("helper", "its options come from a file or a program");
            }
            let given = |n: usize| argv.get(index + n).map(|next| next.text.clone()).unwrap_or_default();
            let sent =
                match text {
                    "-d" | "--data" | "--data-binary" | "--data-raw" | "--data-ascii" | "-F" | "--form"
                    | "--json" | "-H" => given(1),
                    "-T" | "--upload-file" | "--post-file" | "--body-file" | "-b" | "--cookie" | "-E"
                    | "--cert" | "--key" | "--netrc-file" => format!("@{}", given(1)),
                    _ if text.starts_with("-d@") => text[2..].to_owned(),
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
            if let Some((_, file)) =
                sent.split_once('@').filter(|(before, _)| before.is_empty() || before.ends_with('='))
            {
                let file = file.split(';').next().unwrap_or(file).to_owned();
                self.reads(&Arg { text: file, ..arg.clone() }, part);
            }
        }
        for arg in operands(argv) {
            if let Some(path) = arg.text.strip_prefix("file://") {
                self.reads(&Arg { text: path.to_owned(), ..arg.clone() }, part);
            }
        }
    }
}
