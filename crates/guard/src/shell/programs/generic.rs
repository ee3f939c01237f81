//! From the row and the words of a call to its effects, for every program alike.
//! Pure: knows no file, no folder and nothing of the script around the call.

mod words;

use zdx_protocol::ReasonCode;

use crate::shell::programs::effects::{Effect, Effects, Inner, Input};
use crate::shell::programs::options::{Call, Found, read, read_until};
use crate::shell::programs::special;
use crate::shell::programs::special::{git, runners};
use crate::shell::programs::table::{self, Files, Floor, OptionEffect, Row};
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;
use words::{listed_words, spelled};

/// Returns the effects of a call of this program. `argv[0]` is the program, or its subcommand.
pub(crate) fn effects_of(row: &'static Row, name: &str, argv: &[Arg]) -> Effects {
    let call = read(row, name, argv);
    let mut out = Effects::default();
    let word = call.behind().first().filter(|_| row.is("subs"));
    if let Some(word) = word {
        match word.known().and_then(|word| table::subcommand(row, word)) {
            Some(sub) => {
                options(&call, &mut out);
                doubts(&call, &mut out);
                out.0.extend(effects_of(sub, name, call.behind()).0);
                later_subcommands(&call, &mut out);
                return out;
            }
            None if word.known().is_none() && table::worst_subcommand(row) => {
                let why = format!("which subcommand of {name} it runs is not known before it runs");
                out.confirm(ReasonCode::Opaque, why);
            }
            None => {}
        }
    }
    if word.is_some() {
        later_subcommands(&call, &mut out);
    }
    // Nothing is known of the subcommand: options may stand behind it.
    let call = if word.is_some() { read_until(row, name, argv, false) } else { call };
    if floor(&call, &mut out) {
        out.push(Effect::Unproven);
        return out;
    }
    options(&call, &mut out);
    doubts(&call, &mut out);
    match row.special {
        Some(special) => special::effects(special, &call, &mut out),
        None => files(&call, &mut out),
    }
    runs(&call, &mut out);
    if row.is("gitreads") {
        out.push(Effect::Repository);
    } else if !row.is("reads") && row.wraps.is_none() {
        out.push(Effect::Unproven);
    }
    out
}

/// Behind an option that is not known, the first word may be its value and a later one the subcommand.
fn later_subcommands(call: &Call<'_>, out: &mut Effects) {
    if call.unknown.is_empty() {
        return;
    }
    let words = call.behind();
    let mut seen: Vec<&Row> = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let sub = word.known().and_then(|word| table::subcommand(call.row, word));
        // What stands behind the same word once more stands behind it here, too.
        let Some(sub) = sub.filter(|sub| !seen.iter().any(|row| std::ptr::eq(*row, *sub))) else { continue };
        seen.push(sub);
        out.0.extend(effects_of(sub, call.name, &words[at..]).0);
    }
}

/// True when nothing else need be said.
fn floor(call: &Call<'_>, out: &mut Effects) -> bool {
    let row = call.row;
    let only_words = matches!(call.argv, [_, only] if matches!(only.text.as_str(), "--help" | "--version"));
    let says = |name: &str| {
        if row.name.contains(' ') { format!("it {}", row.why) } else { format!("{name} {}", row.why) }
    };
    match row.floor {
        Floor::Forbidden if only_shows(call) => return true,
        Floor::Forbidden => {
            out.push(Effect::Forbid(says(call.name)));
            return true;
        }
        Floor::Listed => out.confirm(ReasonCode::ListedCommand, listed_words(call)),
        Floor::Helper => out.helper(says(call.name)),
        Floor::Secret => out.confirm(ReasonCode::ProtectedPath, says(call.name)),
        Floor::Destructive if only_words || is_spared(call) => return true,
        Floor::Destructive => out.confirm(ReasonCode::Destructive, says(call.name)),
        Floor::None => {}
    }
    if row.is("stops") {
        if call.operands.iter().any(|word| special::stops_machine(call.name, &word.text)) {
            out.push(Effect::Forbid("it stops the machine".to_owned()));
        } else if call.operands.iter().any(|word| word.known().is_none()) {
            out.confirm(ReasonCode::Opaque, "a word that is not known may stop the machine");
        }
    }
    if call.operands.iter().any(|word| table::fits(&row.finals, &word.text)) {
        out.confirm(ReasonCode::Destructive, "it deletes what is kept elsewhere, for good");
    }
    if call.operands.iter().any(|word| table::fits(&row.secrets, &word.text)) {
        out.confirm(ReasonCode::ProtectedPath, "it shows keys or passwords");
    }
    false
}

/// It only shows what it would do.
fn is_spared(call: &Call<'_>) -> bool {
    let shows = call.has_effect(OptionEffect::Spares) || (call.row.is("bare") && call.argv.len() == 1);
    shows
        && !call.has_effect(OptionEffect::Insists)
        && !call.doubtful
        && (call.row.is("open") || call.unknown.is_empty())
}

/// Options that print something about the program or the process are all it is given.
fn only_shows(call: &Call<'_>) -> bool {
    let shows = |found: &Found| found.option.effect == OptionEffect::Spares;
    let options = !call.found.is_empty() && call.found.iter().all(shows);
    options && call.operands.is_empty() && call.unknown.is_empty() && !call.ended && !call.doubtful
}

fn options(call: &Call<'_>, out: &mut Effects) {
    for found in &call.found {
        option(call, found, out);
    }
}

fn option(call: &Call<'_>, found: &Found, out: &mut Effects) {
    let value = found.values.first();
    let text = value.map_or("", |value| value.text.as_str());
    let effect = found.option.effect;
    match effect {
        OptionEffect::None
        | OptionEffect::Names
        | OptionEffect::Shapes
        | OptionEffect::Hidden
        | OptionEffect::Spares
        | OptionEffect::Pattern
        | OptionEffect::InPlace => {}
        OptionEffect::PatternFile | OptionEffect::Read => out.0.extend(value.cloned().map(Effect::Reads)),
        OptionEffect::ReadsSecond => out.0.extend(found.values.get(1).cloned().map(Effect::Reads)),
        OptionEffect::Chdir => out.0.extend(value.cloned().map(Effect::Chdir)),
        OptionEffect::More => {
            out.0.extend(value.cloned().map(Effect::Reads));
            out.push(Effect::Unproven);
        }
        OptionEffect::Format => {
            if text.contains("%G") || value.is_some_and(Arg::has_unknown) {
                out.push(Effect::Unproven);
            }
        }
        OptionEffect::Links => {
            out.push(Effect::NotPlain);
            out.push(Effect::Unproven);
            out.ask("it follows links, wherever they lead");
        }
        OptionEffect::Outside | OptionEffect::Unproven => out.push(Effect::Unproven),
        OptionEffect::Alter => {
            out.0.extend(value.cloned().map(|file| Effect::Changes(file, FileEffect::Alter)))
        }
        OptionEffect::Log | OptionEffect::Write => {
            if effect == OptionEffect::Log && text.starts_with(['|', '!']) {
                out.helper("its output goes to another program");
            }
            if let Some(file) = value.filter(|file| file.text != "-") {
                out.writes(file);
            }
        }
        OptionEffect::Helper => {
            out.push(Effect::NotPlain);
            out.push(Effect::Unproven);
            out.ask("it runs a configured helper");
        }
        OptionEffect::Config => git::setting(value, out),
        OptionEffect::Cargo if runners::chooses_no_program(text) => {}
        OptionEffect::Cargo | OptionEffect::Program => {
            out.push(Effect::NotPlain);
            out.helper(format!("{} chooses a program or code to run", spelled(found)));
            out.push(Effect::Perhaps(text.to_owned()));
        }
        OptionEffect::Method
            if text.eq_ignore_ascii_case("delete") || value.is_some_and(Arg::has_unknown) =>
        {
            out.confirm(ReasonCode::Destructive, "it deletes what is kept elsewhere, for good");
        }
        OptionEffect::Method => {}
        OptionEffect::Code => out.0.extend(value.cloned().map(Effect::CodeFile)),
        OptionEffect::Shell => out.push(Effect::Shell(found.values.clone())),
        OptionEffect::Debugger => runners::debugger(text, out),
        OptionEffect::Command => {
            let words: Vec<Arg> = value.into_iter().chain(&call.operands).cloned().collect();
            if ["rm", "remove", "rename"].iter().any(|verb| text.starts_with(verb)) {
                out.confirm(ReasonCode::Destructive, "it removes or renames files");
            }
            out.push(Effect::Runs(words, Inner::Perhaps));
        }
        OptionEffect::Sets => out.confirm(ReasonCode::Destructive, "it changes the running system"),
        OptionEffect::Destroys if call.has_effect(OptionEffect::Spares) => {}
        OptionEffect::Destroys | OptionEffect::Insists if call.row.floor == Floor::Destructive => {}
        OptionEffect::Destroys | OptionEffect::Insists => {
            let why = if call.row.why.is_empty() {
                "deletes or overwrites something for good"
            } else {
                call.row.why
            };
            out.confirm(ReasonCode::Destructive, format!("it {why}"));
        }
    }
}

/// Options that nobody knows, and words that may be options: judged by the worst that any option of the program does.
fn doubts(call: &Call<'_>, out: &mut Effects) {
    let row = call.row;
    let worst = row.worst();
    if !call.unknown.is_empty() && !row.is("words") {
        let not_known = words::not_known(&call.unknown);
        if row.special == Some("interpreter") {
            let unknown = special::code::unknown_options(call);
            if !unknown.is_empty() {
                out.ask(words::not_known(&unknown));
            }
        } else if row.is("open") {
            // Where nothing is known of a program, neither are its options.
            if !std::ptr::eq(row, table::any()) {
                out.ask(not_known);
            }
        } else if row.stops_at_operand() && !row.is("subs") {
            out.confirm(ReasonCode::Opaque, format!("{not_known}, so neither is what runs"));
        } else if worst >= OptionEffect::Alter || !row.is("reads") {
            out.push(Effect::NotPlain);
            out.ask(not_known);
        }
        out.push(Effect::Unproven);
    }
    for unknown in &call.unknown {
        attached_path(unknown, row.is("open") || row.is("words"), out);
    }
    // A name could still be one that somebody chose with care; and dash knows no braces.
    let unclear =
        call.operands.iter().any(|arg| arg.has_unknown() && !arg.inside) && worst >= OptionEffect::Read;
    // A pattern, or the value of an option, that becomes several words leaves the others for files.
    let several = |arg: &Arg| arg.glob || arg.splits || arg.braced;
    let programs = ["sed", "awk", "jq", "fd"];
    let first = matches!(row.files, Files::Pattern | Files::GitPattern)
        || row.special.is_some_and(|special| programs.contains(&special));
    let spills = call.found.iter().flat_map(|found| &found.values).any(several)
        || (first && call.operands.first().is_some_and(several));
    // dash takes braces as they stand: that must make no other use of the words.
    let names = row.special.is_none() && matches!(row.files, Files::Read | Files::None | Files::Pattern);
    let braced = call.argv.iter().any(|arg| arg.braced)
        && (!names || call.found.iter().flat_map(|found| &found.values).any(|arg| arg.braced));
    if unclear || spills || braced {
        out.push(Effect::Unproven);
    }
    let splits = |arg: &Arg| (arg.splits && arg.dash) || arg.glob || arg.braced;
    let hides = row.wraps.is_some()
        || row.special.is_some_and(|name| matches!(name, "env" | "xargs" | "watch" | "flock"));
    if hides && call.found.iter().flat_map(|found| &found.values).any(splits) {
        out.confirm(ReasonCode::Opaque, "an argument that may be several words hides which command runs");
    }
    if call.doubtful && !row.is("subs") && !hides {
        if worst >= OptionEffect::Shell {
            let why = format!("a word that is not known before it runs may be an option of {}", call.name);
            out.confirm(ReasonCode::Opaque, why);
        } else if worst >= OptionEffect::Links {
            out.push(Effect::NotPlain);
            out.ask(format!("a word that is not known before it runs may be an option of {}", call.name));
        }
        if worst >= OptionEffect::Read {
            out.push(Effect::Unproven);
        }
    }
}

/// `--x=/a`, `-x/a`: where an option is not known, a path in it may be one.
fn attached_path(option: &Arg, open: bool, out: &mut Effects) {
    let text = option.text.as_str();
    let at = |value: &str| Arg { text: value.to_owned(), ..option.clone() };
    if let Some((_, value)) = text.split_once('=') {
        out.loose(&at(value));
    } else if let Some(slash) = text.find(['/', '~']).filter(|slash| *slash == 2 && text.len() > 3) {
        match open {
            true => out.loose(&at(&text[slash..])),
            false => out.reads(&at(&text[slash..])),
        }
    }
}

/// Adds the effects on the operands.
pub(crate) fn files(call: &Call<'_>, out: &mut Effects) {
    let row = call.row;
    let local: Vec<&Arg> =
        call.operands.iter().filter(|arg| arg.text != "-" && !is_remote(&arg.text)).collect();
    let each = |out: &mut Effects, change| local.iter().for_each(|file| out.changes(file, change));
    match row.files {
        Files::None => {}
        Files::Loose => loose(call, out),
        Files::Read => local.iter().for_each(|file| out.reads(file)),
        Files::First => local.iter().take(1).for_each(|file| out.reads(file)),
        Files::Pattern => {
            let skip = usize::from(!call.has_pattern());
            for file in call.operands.iter().skip(skip).filter(|arg| arg.text != "-" && !is_remote(&arg.text))
            {
                match call.has_effect(OptionEffect::InPlace) {
                    true => out.changes(file, FileEffect::Alter),
                    false => out.reads(file),
                }
            }
        }
        Files::Second => {
            local.iter().for_each(|file| out.reads(file));
            let written =
                call.operands.get(1).or_else(|| call.operands.first().filter(|arg| arg.glob || arg.splits));
            if let Some(written) = written {
                out.changes(written, FileEffect::Overwrite);
            }
        }
        Files::Write => each(out, FileEffect::Overwrite),
        Files::Alter => each(out, FileEffect::Alter),
        Files::Folders => {
            each(out, FileEffect::Alter);
            out.0.extend(local.iter().map(|folder| Effect::MakesFolder((*folder).clone())));
        }
        Files::Protects => {
            for file in &local {
                out.reads(file);
                out.push(Effect::Protects((*file).clone()));
            }
            if row.is("here") && !call.has_effect(OptionEffect::Alter) {
                out.push(Effect::Unpacks(local.iter().map(|file| (*file).clone()).collect()));
            }
        }
        Files::Remove => {
            let recursive = ["r", "R", "recursive"].iter().any(|name| call.has(name))
                || call.argv.iter().skip(1).any(|arg| arg.splits);
            let removed = call.operands.iter().map(|arg| Effect::Removes { arg: arg.clone(), recursive });
            out.0.extend(removed);
        }
        Files::Mode => call.operands.iter().skip(1).for_each(|file| out.changes(file, FileEffect::Alter)),
        Files::Device => {
            for file in &call.operands {
                out.push(Effect::Device(file.clone()));
                out.push(Effect::Loose { arg: file.clone(), write: true });
            }
        }
        Files::Plus | Files::Sets => {
            let sets = |arg: &&Arg| row.files == Files::Sets || !arg.text.starts_with('+');
            match call.operands.iter().find(sets) {
                Some(word) if word.known().is_some() => {
                    out.confirm(ReasonCode::Destructive, "it changes the running system");
                }
                Some(_) => out.push(Effect::Unproven),
                None => {}
            }
        }
        Files::Git | Files::GitPattern | Files::GitCreate => git::paths(call, out),
    }
}

/// Programs that nothing is known of: what they are given may be written, and what stands in plain sight may be run.
fn loose(call: &Call<'_>, out: &mut Effects) {
    let argv = call.argv;
    for (index, arg) in argv.iter().enumerate().skip(1) {
        let value = arg.text.split_once('=').filter(|(option, _)| option.starts_with('-'));
        if let Some((option, value)) = value {
            if !leaves_out(option) {
                let value = Arg { text: value.to_owned(), ..arg.clone() };
                out.push(Effect::MayWrite { by: option.to_owned(), arg: value });
            }
        } else if !arg.text.starts_with('-') {
            out.loose(arg);
            if !leaves_out(&argv[index - 1].text) {
                out.push(Effect::MayWrite { by: call.name.to_owned(), arg: arg.clone() });
            }
        }
    }
    // `volta run rm x`: whatever runs it, a listed command is in plain sight.
    const RUNS: &[&str] = &["exec", "run", "dlx", "shell", "unshare", "-c", "-e", "-a", "--", "--wrap"];
    if call.row.runs() || call.row.is("project") || call.row.name.contains(' ') {
        return;
    }
    let inside = |two: &&[Arg]| RUNS.contains(&two[0].text.as_str()) && runners::is_dangerous(&two[1].text);
    if argv.windows(2).any(|two| inside(&two)) {
        let at = argv.windows(2).position(|two| inside(&two)).unwrap_or(0) + 1;
        out.push(Effect::Runs(argv[at..].to_vec(), Inner::Perhaps));
    }
}

/// `--exclude .git`: what follows is left alone.
fn leaves_out(option: &str) -> bool {
    matches!(option, "-x" | "-X" | "-I" | "-e" | "-E" | "-i")
        || ["excl", "ignore", "skip", "prune", "omit", "without"].iter().any(|word| option.contains(word))
}

/// The command that a row wraps, or that stands somewhere in its words.
fn runs(call: &Call<'_>, out: &mut Effects) {
    let row = call.row;
    if row.is("project") {
        out.push(Effect::Project);
    }
    for (word, input) in [("input=perhaps", Input::Perhaps), ("input=orders", Input::Orders)] {
        if row.is(word) {
            out.push(Effect::Input(input));
        }
    }
    if row.is("environment") {
        out.push(Effect::ShowsEnvironment);
    }
    if row.is("sends") {
        out.push(Effect::Sends);
    }
    if let Some(from) = row.scans {
        runners::scan(call, from, Inner::Perhaps, out);
    }
    let Some(operands) = row.wraps else { return };
    let words = call.behind();
    let (skipped, command) = words.split_at(operands.min(words.len()));
    if skipped.iter().any(|arg| arg.splits || arg.glob || arg.braced) {
        out.confirm(ReasonCode::Opaque, "an argument that may be several words hides which command runs");
    }
    for arg in skipped {
        match () {
            () if row.is("root") => out.reads(arg),
            () if row.is("logs") => out.writes(arg),
            () => {}
        }
    }
    if row.is("root") && command.is_empty() {
        out.confirm(ReasonCode::Opaque, "it starts a shell");
    }
    if row.is("shell") && command.is_empty() && !call.has("help") && !call.has("version") {
        out.push(Effect::Input(Input::Shell));
    }
    if row.is("assigns") {
        out.push(Effect::Arguments(command.to_vec()));
    } else if !command.is_empty() && (call.unknown.is_empty() || row.is("open")) {
        let inner = if row.is("transparent") { Inner::Transparent } else { Inner::Changed };
        out.push(Effect::Runs(command.to_vec(), inner));
    }
}

/// `host:path`, `https://…`: not on this disk. A `file:` address is.
pub(crate) fn is_remote(text: &str) -> bool {
    match text.split_once(':') {
        Some(("file", _)) | None => false,
        Some((host, rest)) => rest.starts_with("//") || (!host.contains('/') && !host.is_empty()),
    }
}
