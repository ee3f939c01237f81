//! Programs whose words need a function of their own. Each is pure: words in, effects out.

pub(crate) mod awk;
mod awk_code;
pub(crate) mod code;
mod copy;
pub(crate) mod find;
pub(crate) mod git;
mod network;
pub(crate) mod runners;
pub(crate) mod sed;
mod tar;
mod wrappers;

use zdx_protocol::ReasonCode;

use crate::pattern::among;
use crate::shell::programs::effects::{Effect, Effects};
use crate::shell::programs::generic;
use crate::shell::programs::options::Call;
use crate::shell::programs::table::OptionEffect;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

/// Every name that a row may give. `shell` is the walker's own: it changes what is read, not what is touched.
pub(crate) fn effects(special: &str, call: &Call<'_>, out: &mut Effects) {
    match special {
        "awk" => awk::awk(call, out),
        "command" => wrappers::command(call, out),
        "container" => runners::container(call, out),
        "copy" => copy::copy(call, out),
        "curl" => network::curl(call, out),
        "database" => code::database(call, out),
        "dd" => dd(call, out),
        "editor" => code::editor(call, out),
        "env" => wrappers::env(call, out),
        "exec" => wrappers::exec(call, out),
        "fd" => find::fd(call, out),
        "find" => find::find(call, out),
        "flock" => wrappers::flock(call, out),
        "git" => git::git(call, out),
        "git-bundle" => git::bundle(call, out),
        "git-checkout" => git::checkout(call, out),
        "git-clone" => git::clone(call, out),
        "git-config" => git::config(call, out),
        "git-push" => git::push(call, out),
        "git-runs" => git::runs(call, out),
        "interpreter" => code::interpreter(call, out),
        "jq" => jq(call, out),
        "kill" => kill(call, out),
        "link" => copy::link(call, out),
        "make" => runners::make(call, out),
        "multicall" => wrappers::multicall(call, out),
        "net" => network::net(call, out),
        "pager" => pager(call, out),
        "parallel" => wrappers::parallel(call, out),
        "ps" => ps(call, out),
        "script" => wrappers::script(call, out),
        "sed" => sed::sed(call, out),
        "ssh" => network::ssh(call, out),
        "sysctl" => sysctl(call, out),
        "tar" => tar::tar(call, out),
        "tee" => tee(call, out),
        "watch" => wrappers::watch(call, out),
        "xargs" => wrappers::xargs(call, out),
        _ => out.confirm(ReasonCode::Opaque, format!("nothing is known of {special}")),
    }
}

fn tee(call: &Call<'_>, out: &mut Effects) {
    let append = call.has("a") || call.has("append");
    for file in &call.operands {
        out.changes(file, if append { FileEffect::Append } else { FileEffect::Overwrite });
    }
}

fn dd(call: &Call<'_>, out: &mut Effects) {
    for arg in call.argv.iter().skip(1) {
        let path = |text: &str| Arg { text: text.to_owned(), ..arg.clone() };
        if let Some(output) = arg.text.strip_prefix("of=") {
            out.changes(&path(output), FileEffect::Overwrite);
        } else if let Some(input) = arg.text.strip_prefix("if=") {
            out.reads(&path(input));
        }
    }
}

fn kill(call: &Call<'_>, out: &mut Effects) {
    let everything = call.argv.iter().skip(2).any(|arg| matches!(arg.text.as_str(), "-1" | "0" | "1"))
        || call.argv.iter().any(|arg| arg.text == "1");
    if everything {
        out.confirm(ReasonCode::Destructive, "it signals every process, or the one that runs the machine");
    }
}

/// `ps e` shows what other processes were started with; `ps -e` all of them.
fn ps(call: &Call<'_>, out: &mut Effects) {
    if call.operands.first().is_some_and(|letters| letters.text.contains('e')) {
        let why = "it shows the environment of other processes, where keys are";
        out.confirm(ReasonCode::ProtectedPath, why);
    }
}

fn sysctl(call: &Call<'_>, out: &mut Effects) {
    let sets = |arg: &Arg| {
        let text = arg.text.as_str();
        text.contains('=') || (text.starts_with('-') && (text.contains(['w', 'p']) || text == "--system"))
    };
    if call.argv.iter().skip(1).any(sets) {
        out.confirm(ReasonCode::Destructive, "it changes the running system");
    }
}

/// Its programs can name other files to read.
fn jq(call: &Call<'_>, out: &mut Effects) {
    generic::files(call, out);
    let given = call.has_effect(OptionEffect::PatternFile);
    let program = call.operands.first().filter(|_| !given).map_or("", |program| program.text.as_str());
    if given || program.contains("import") || program.contains("include") || program.contains('\0') {
        out.push(Effect::Unproven);
    }
}

fn pager(call: &Call<'_>, out: &mut Effects) {
    if call.operands.iter().any(|arg| arg.text.starts_with('+') && arg.text.contains(['!', '|'])) {
        out.helper("it tells the pager to run something");
    }
    generic::files(call, out);
}

/// Does this word end the session, or the machine?
pub(crate) fn stops_machine(name: &str, word: &str) -> bool {
    const WORDS: &str = "reboot poweroff halt kexec suspend hibernate rescue emergency soft-reboot shutdown runlevel0 \
        runlevel6 ctrl-alt-del systemd-reboot systemd-poweroff systemd-halt systemd-kexec systemd-suspend";
    match name {
        "systemctl" | "loginctl" => {
            let plain =
                word.strip_suffix(".target").or_else(|| word.strip_suffix(".service")).unwrap_or(word);
            among(WORDS, plain)
        }
        "init" | "telinit" => matches!(word, "0" | "6" | "1" | "s" | "S"),
        _ => matches!(
            word.rsplit('.').next().unwrap_or(word),
            "Reboot" | "PowerOff" | "Halt" | "Suspend" | "Hibernate" | "KExec"
        ),
    }
}
