//! Commands that run another command given in their arguments, by rules of their own.
//! What cannot be unwrapped with certainty is a confirmation.

use zdx_protocol::ReasonCode;

use crate::limits::MAX_LISTED;
use crate::shell::programs::effects::{Effect, Effects, Inner, Input};
use crate::shell::programs::options::Call;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

fn run(words: &[Arg], how: Inner, out: &mut Effects) {
    if !words.is_empty() {
        out.push(Effect::Runs(words.to_vec(), how));
    }
}

/// Nothing more can be said where an option is not known.
fn readable(call: &Call<'_>) -> bool {
    call.unknown.is_empty() && !call.has("help") && !call.has("version")
}

/// One program that is many: the name of the one meant comes first.
pub(crate) fn multicall(call: &Call<'_>, out: &mut Effects) {
    let mut inner = call.argv[1..].to_vec();
    if let Some(first) = inner.first_mut()
        && let Some(name) = first.text.strip_prefix("--coreutils-prog=")
    {
        first.text = name.to_owned();
    }
    run(&inner, Inner::Changed, out);
}

pub(crate) fn command(call: &Call<'_>, out: &mut Effects) {
    if readable(call) && !call.has("v") && !call.has("V") {
        run(call.behind(), Inner::Transparent, out);
    }
}

pub(crate) fn exec(call: &Call<'_>, out: &mut Effects) {
    if readable(call) {
        let how = if call.found.is_empty() { Inner::Transparent } else { Inner::Changed };
        run(call.behind(), how, out);
    }
}

pub(crate) fn env(call: &Call<'_>, out: &mut Effects) {
    if !readable(call) {
        return;
    }
    let mut words = call.behind();
    if words.first().is_some_and(|arg| arg.text == "-") {
        words = &words[1..];
    }
    let mut how = if call.found.is_empty() { Inner::Transparent } else { Inner::Changed };
    while let Some((arg, rest)) = words.split_first().filter(|(arg, _)| arg.text.contains('=')) {
        let (name, value) = arg.text.split_once('=').unwrap_or((&arg.text, ""));
        out.push(Effect::Sets(name.to_owned(), arg.known().map(|_| value.to_owned())));
        how = Inner::Changed;
        words = rest;
    }
    if words.is_empty() && call.values("split-string").is_empty() {
        out.push(Effect::ShowsEnvironment);
    }
    match call.values("split-string").first() {
        Some(text) => split_string(text, words, out),
        None => run(words, how, out),
    }
}

/// `env -S 'a b'`: the text is cut into words much as a shell would cut it.
fn split_string(text: &Arg, rest: &[Arg], out: &mut Effects) {
    out.push(Effect::NotPlain);
    if text.known().is_some_and(|known| known.contains(['\\', '$'])) {
        out.confirm(ReasonCode::Opaque, "which command it runs is not plain in the text");
    }
    let mut words = vec![Arg::literal("env"), text.clone()];
    words.extend_from_slice(rest);
    out.push(Effect::Shell(words));
}

pub(crate) fn xargs(call: &Call<'_>, out: &mut Effects) {
    let mut inner = call.behind().to_vec();
    if !readable(call) || inner.is_empty() {
        return;
    }
    let replaced = call.values("I").first().map(|arg| arg.text.clone());
    let replaced = replaced.or_else(|| (call.has("i") || call.has("replace")).then(|| "{}".to_owned()));
    match replaced {
        Some(mark) if !mark.is_empty() => {
            for arg in inner.iter_mut().filter(|arg| arg.text.contains(&mark)) {
                arg.dash = arg.text == mark;
                arg.found = true;
                arg.text = arg.text.replace(&mark, "\0");
            }
        }
        _ => inner.push(read_later()),
    }
    out.ask("its arguments come from what it reads");
    let how = if call.has("arg-file") { Inner::Listed } else { Inner::Fed };
    run(&inner, how, out);
}

/// A word that it reads once it runs.
fn read_later() -> Arg {
    Arg { found: true, ..Arg::unknown() }
}

pub(crate) fn watch(call: &Call<'_>, out: &mut Effects) {
    match () {
        () if !readable(call) => {}
        () if call.has("x") || call.has("exec") => run(call.behind(), Inner::Changed, out),
        () => out.push(Effect::Shell(call.behind().to_vec())),
    }
}

pub(crate) fn flock(call: &Call<'_>, out: &mut Effects) {
    let Some((lock, command)) = call.behind().split_first().filter(|_| readable(call)) else { return };
    out.changes(lock, FileEffect::Alter);
    match command.first().map(|arg| arg.text.as_str()) {
        Some("-c" | "--command") => out.push(Effect::Shell(command[1..].to_vec())),
        _ => run(command, Inner::Changed, out),
    }
}

pub(crate) fn script(call: &Call<'_>, out: &mut Effects) {
    if !readable(call) {
        return;
    }
    call.behind().iter().take(1).for_each(|file| out.changes(file, FileEffect::Overwrite));
    match call.values("command").first() {
        Some(text) => out.push(Effect::Shell(vec![text.clone()])),
        None => out.push(Effect::Input(Input::Shell)),
    }
}

/// Template words and arguments are joined into shell text; without a template the arguments are the commands.
pub(crate) fn parallel(call: &Call<'_>, out: &mut Effects) {
    if !readable(call) {
        return;
    }
    let is_source = |arg: &Arg| arg.text.starts_with(":::");
    let words = call.behind();
    let end = words.iter().position(is_source).unwrap_or(words.len());
    let (template, sources) = words.split_at(end);
    out.push(Effect::NotPlain);
    if !template.is_empty() {
        out.ask("its arguments come from lists");
        if template[0].text.contains('{') {
            out.confirm(ReasonCode::Opaque, "which command it runs is not known before it runs");
        }
        let words: Vec<Arg> = template.iter().filter(|word| !word.text.is_empty()).cloned().collect();
        let listed =
            matches!(sources, [first, rest @ ..] if first.text == ":::" && !rest.iter().any(is_source));
        match sources {
            [_, given @ ..] if listed && given.len() <= MAX_LISTED => {
                out.0.extend(given.iter().map(|arg| Effect::Shell(filled(&words, arg))));
            }
            _ => {
                out.push(Effect::Shell(words.clone()));
                run(&filled(&words, &read_later()), Inner::Fed, out);
            }
        }
    } else if sources.first().is_none_or(|first| first.text.starts_with("::::")) {
        out.confirm(ReasonCode::Opaque, "the commands it runs come from what it reads");
    } else {
        let commands = sources.iter().filter(|arg| !is_source(arg));
        out.0.extend(commands.map(|command| Effect::Shell(vec![command.clone()])));
    }
}

/// The words with this one in place of `{}`, or behind them.
fn filled(words: &[Arg], arg: &Arg) -> Vec<Arg> {
    let mut all = words.to_vec();
    match all.iter().any(|word| word.text.contains("{}")) {
        true => {
            for word in all.iter_mut().filter(|word| word.text.contains("{}")) {
                word.text = word.text.replace("{}", &arg.text);
                (word.found, word.dash) = (arg.found, arg.dash);
            }
        }
        false => all.push(arg.clone()),
    }
    all
}
