//! Programs that speak to other machines: what runs there, and which files go out or come in.

use crate::shell::programs::effects::{Effect, Effects, Input};
use crate::shell::programs::options::Call;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

/// Keys of `ssh -o` whose value is run.
const SSH_RUNS: &[&str] =
    &["proxycommand", "localcommand", "remotecommand", "knownhostscommand", "permitlocal"];

pub(crate) fn ssh(call: &Call<'_>, out: &mut Effects) {
    let argv = call.argv;
    let mut at = 1;
    while let Some(arg) = argv.get(at).filter(|arg| arg.text.starts_with('-') && arg.text.len() > 1) {
        let letters = &arg.text[1..];
        // Flags may stand before the letter that takes a value: `-4o ProxyCommand=x`.
        let valued = letters.char_indices().find(|(_, letter)| "BbcDEeFIiJLlmOopQRSWw".contains(*letter));
        let (letter, given) = match valued {
            Some((index, letter)) => (Some(letter), &letters[index + letter.len_utf8()..]),
            None => (None, ""),
        };
        let next = || argv.get(at + 1).map(|next| next.text.clone()).unwrap_or_default();
        let value = if given.is_empty() { next() } else { given.to_owned() };
        if letter == Some('o') && SSH_RUNS.iter().any(|key| value.to_lowercase().contains(key)) {
            out.helper("an ssh option runs a program");
            let command = value.split_once(['=', ' ']).map_or("", |(_, command)| command);
            out.push(Effect::Perhaps(command.to_owned()));
        }
        if letter == Some('F') {
            out.helper("an ssh configuration can run programs");
        }
        if letter == Some('E') {
            out.changes(&Arg { text: value, ..arg.clone() }, FileEffect::Append);
        }
        at += 1 + usize::from(letter.is_some() && given.is_empty());
    }
    // `mosh host -- rm x`
    at += usize::from(argv.get(at + 1).is_some_and(|arg| arg.text == "--"));
    match argv.get(at + 1..).unwrap_or(&[]) {
        [] => out.push(Effect::Input(Input::Remote)),
        remote => out.push(Effect::Remote(remote.to_vec())),
    }
}

pub(crate) fn net(call: &Call<'_>, out: &mut Effects) {
    let runs = |arg: &Arg| {
        let lower = arg.text.to_lowercase();
        lower.contains("exec:") || lower.contains("system:") || lower.contains("shell:")
    };
    if call.argv.iter().any(runs) {
        out.helper("it gives a program to the network");
    }
    for arg in &call.operands {
        let lower = arg.text.to_lowercase();
        for (mark, write) in [("open:", true), ("create:", true), ("file:", true), ("gopen:", true)] {
            if let Some(at) = lower.find(mark).filter(|_| call.name == "socat") {
                let path = arg.text[at + mark.len()..].split([',', '!']).next().unwrap_or_default();
                out.push(Effect::Loose { arg: Arg { text: path.to_owned(), ..arg.clone() }, write });
            }
        }
        out.loose(arg);
    }
}

/// Options of curl whose value may name a file to send.
const SENDS: &str =
    "data data-binary data-ascii form json header data-urlencode url-query variable proxy-header";

/// curl and wget: what they save under which name, and what goes out.
pub(crate) fn curl(call: &Call<'_>, out: &mut Effects) {
    let wget = call.name == "wget";
    let mut by_address = wget || ["O", "remote-name", "remote-name-all"].iter().any(|name| call.has(name));
    let (file, folder) =
        if wget { ("output-document", "directory-prefix") } else { ("output", "output-dir") };
    for (name, change) in [(file, FileEffect::Overwrite), (folder, FileEffect::Alter)] {
        for value in call.values(name) {
            by_address &= !wget || name == folder;
            if value.text != "-" {
                out.push(Effect::NotPlain);
                out.changes(&value, change);
                out.push(Effect::Fetches(value));
            }
        }
    }
    for name in SENDS.split(' ') {
        call.values(name).iter().for_each(|value| sent_file(name, value, out));
    }
    call.values("cookie").iter().filter(|value| !value.text.contains('=')).for_each(|file| out.reads(file));
    for address in call.operands.iter().chain(&call.values("url")) {
        let lower = address.text.to_ascii_lowercase();
        if let Some(path) = lower.strip_prefix("file:").and_then(|_| address.text.get(5..)) {
            let path = path.trim_start_matches("//").trim_start_matches("localhost");
            out.reads(&Arg { text: path.to_owned(), ..address.clone() });
        } else if by_address {
            let path = address.text.split(['?', '#']).next().unwrap_or("");
            let name = path.rsplit('/').next().unwrap_or("");
            if path.contains('/') && !name.is_empty() && address.known().is_some() {
                let file = Arg::literal(name);
                // wget finds another name for what is there already.
                out.changes(&file, if wget { FileEffect::Alter } else { FileEffect::Overwrite });
                out.push(Effect::Fetches(file));
            }
        } else {
            out.loose(address);
        }
    }
}

/// `name@file` for what is encoded, `name=@file` and `name=<file` for forms.
fn sent_file(option: &str, value: &Arg, out: &mut Effects) {
    let named = matches!(option, "data-urlencode" | "variable" | "url-query");
    let marks: &[char] = if option == "form" { &['@', '<'] } else { &['@'] };
    let file = value
        .text
        .split_once(marks)
        .filter(|(before, _)| before.is_empty() || before.ends_with('=') || (named && !before.contains('=')));
    if let Some((_, file)) = file {
        let file = file.split(';').next().unwrap_or(file).to_owned();
        out.reads(&Arg { text: file, ..value.clone() });
    }
}
