//! Programs that run a command somewhere in their arguments, containers, debuggers and make.

use crate::pattern::among;
use crate::shell::programs::effects::{Effect, Effects, Inner};
use crate::shell::programs::options::Call;
use crate::shell::programs::table::{self, Floor};
use crate::shell::syntax::word::Arg;

pub(crate) fn basename(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

/// A name that would have to be looked at, wherever it is run.
pub(crate) fn is_dangerous(word: &str) -> bool {
    let row = table::row(&basename(word).to_lowercase());
    row.is_some_and(|row| row.floor != Floor::None) || basename(word) == "eval"
}

/// The first word from there on that names a program with something to say: it and the rest may be a command.
pub(crate) fn scan(call: &Call<'_>, from: usize, how: Inner, out: &mut Effects) {
    let runs = |word: &str| {
        let row = table::row(&basename(word).to_lowercase());
        row.is_some_and(|row| row.runs() || row.special.is_some() || row.is("subs"))
    };
    for (index, arg) in call.argv.iter().enumerate().skip(from) {
        let text = arg.text.as_str();
        if text.starts_with('-') {
            continue;
        }
        if is_dangerous(text) || runs(text) {
            out.push(Effect::Runs(call.argv[index..].to_vec(), how));
            return;
        }
        if text.contains(' ') && !text.contains('\0') {
            out.push(Effect::Perhaps(text.to_owned()));
        }
    }
}

/// Debuggers have a word for it: `!rm x`, `shell rm x`, `platform shell rm x`; and they speak python.
pub(crate) fn debugger(text: &str, out: &mut Effects) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let escape = words
        .iter()
        .position(|word| word.len() > 1 && "shell".starts_with(word) || matches!(*word, "make" | "system"));
    let command = text.trim_start().strip_prefix('!').map(str::to_owned);
    match command
        .or_else(|| escape.map(|at| words[at + 1..].join(" ").trim_matches(['"', '\'', '(', ')']).to_owned()))
    {
        Some(command) => out.push(Effect::Shell(vec![Arg::literal(command)])),
        None if ["py", "script", "source", "pipe", "|", "\0"].iter().any(|word| text.contains(word)) => {
            out.helper("the debugger is told to run something");
        }
        None => {}
    }
}

/// Options of `docker run` and its like that take no value.
const FLAGS: &str = "-d -i -t -it -ti -T -dit -P -q --rm --init --detach --interactive --tty --no-TTY --no-deps \
    --privileged --read-only --quiet";

/// docker, kubectl and their like: what runs in a container touches its files, not ours; what is mounted is ours.
pub(crate) fn container(call: &Call<'_>, out: &mut Effects) {
    let argv = call.argv;
    let starts = argv.iter().position(|arg| matches!(arg.text.as_str(), "exec" | "run" | "create" | "debug"));
    // Behind `--`, and behind the image or the container, it is another machine's disk.
    let dashes = argv.iter().position(|arg| arg.text == "--").unwrap_or(argv.len());
    let own = if call.row.name == "kubectl" { dashes } else { own_words(argv).unwrap_or(argv.len()) };
    for (index, arg) in argv.iter().enumerate().take(own).skip(1) {
        let before = argv[index - 1].text.as_str();
        let of_container = own < argv.len()
            && matches!(before, "-v" | "--volume" | "--mount" | "-w" | "--workdir" | "-e" | "--env");
        if !arg.text.starts_with('-') && !of_container {
            out.loose(arg);
        }
    }
    let Some(starts) = starts else { return };
    volumes(argv, out);
    scan(call, starts + 1, Inner::Contained, out);
}

/// How many words of `docker run` or `docker exec` are docker's own: all up to the image or container.
/// An option that is not known here is taken to have a value, which at worst makes them one word more.
fn own_words(argv: &[Arg]) -> Option<usize> {
    let mut at = argv.iter().position(|arg| matches!(arg.text.as_str(), "exec" | "run"))? + 1;
    while let Some(arg) = argv.get(at) {
        let text = arg.text.as_str();
        if !text.starts_with('-') {
            return Some(at + 1);
        }
        at += 1 + usize::from(!among(FLAGS, text) && !text.contains('='));
    }
    Some(argv.len())
}

/// `-v /:/host`: the outside comes in.
fn volumes(argv: &[Arg], out: &mut Effects) {
    for (index, arg) in argv.iter().enumerate() {
        let text = arg.text.as_str();
        let next = argv.get(index + 1).map_or("", |next| next.text.as_str());
        let value = match text {
            "-v" | "--volume" | "--mount" => Some(next),
            _ => ["-v", "--volume=", "--mount="].iter().find_map(|option| text.strip_prefix(option)),
        };
        if matches!(text, "--privileged" | "--pid=host" | "--net=host" | "--network=host")
            || (matches!(text, "--pid" | "--ipc" | "--userns") && next == "host")
            || ["--cap-add", "--device", "--security-opt"].iter().any(|option| text.starts_with(option))
        {
            out.helper("the container is not kept apart from the machine");
        }
        let Some(value) = value else { continue };
        let source = value.split([',', ':']).find_map(|piece| match piece.split_once('=') {
            Some(("source" | "src", path)) => Some(path),
            Some(_) => None,
            None => Some(piece),
        });
        if let Some(source) = source.filter(|source| source.starts_with(['/', '.', '~'])) {
            let read_only = value.split([':', ',']).any(|word| matches!(word, "ro" | "readonly"));
            out.push(Effect::Mounts { arg: Arg { text: source.to_owned(), ..arg.clone() }, read_only });
        }
    }
}

pub(crate) fn make(call: &Call<'_>, out: &mut Effects) {
    out.ask("it runs what a file of the workspace says");
    out.push(Effect::Project);
    for (index, arg) in call.argv.iter().enumerate().skip(1) {
        let text = arg.text.as_str();
        let at = |value: &str| Arg { text: value.to_owned(), ..arg.clone() };
        let (option, value) =
            text.split_once('=').map_or((text, None), |(option, value)| (option, Some(value)));
        let long = |name: &str| option.len() > 3 && name.starts_with(option);
        match option {
            "-f" | "-C" | "-I" => out.0.extend(call.argv.get(index + 1).cloned().map(Effect::Makefile)),
            _ if long("--file") || long("--makefile") || long("--directory") || long("--include-dir") => {
                let file = value.map(at).or_else(|| call.argv.get(index + 1).cloned());
                out.0.extend(file.map(Effect::Makefile));
            }
            _ if text.starts_with("-f") || text.starts_with("-C") || text.starts_with("-I") => {
                out.push(Effect::Makefile(at(&text[2..])));
            }
            // Long options may be cut short; values are expanded by make, and make runs what they say.
            _ if option == "-E"
                || long("--eval")
                || matches!(option, "SHELL" | "MAKEFLAGS" | ".SHELLFLAGS")
                || text.contains("$(shell")
                || text.contains("${shell")
                || (arg.has_unknown() && value.is_none() && text.starts_with('\0') && arg.dash) =>
            {
                out.helper("it tells make what to run");
            }
            _ if !text.starts_with('-') => {
                let value = value.unwrap_or_default();
                out.push(Effect::Perhaps(value.to_owned()));
                out.loose(&at(value));
            }
            _ => {}
        }
    }
}

/// Settings of cargo that change how much it does, not what it runs.
pub(crate) fn chooses_no_program(setting: &str) -> bool {
    const PROFILE: &str =
        "opt-level debug lto codegen-units strip incremental panic debug-assertions overflow-checks";
    let Some((key, value)) = setting.split_once('=') else { return false };
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.\"".contains(c));
    let harmless = match key.trim().split('.').collect::<Vec<_>>().as_slice() {
        ["profile", _, setting] => among(PROFILE, setting),
        ["net", "offline" | "retry"] | ["build", "jobs"] | ["term", "color" | "verbose" | "quiet"] => true,
        _ => false,
    };
    harmless && plain(key.trim()) && plain(value.trim())
}
