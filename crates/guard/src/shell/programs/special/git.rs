//! git: settings that run programs, and subcommands whose operands decide what is thrown away.

use zdx_protocol::ReasonCode;

use crate::pattern::{among, glob};
use crate::shell::programs::effects::{Effect, Effects, Inner};
use crate::shell::programs::options::Call;
use crate::shell::programs::table::{Files, OptionEffect};
use crate::shell::syntax::word::Arg;
use crate::shell::walk::files::FileEffect;

/// Settings whose value is a command, or takes settings from elsewhere.
const KEYS: &str = "core.alternaterefscommand core.askpass core.attributesfile core.editor core.fsmonitor core.gitproxy \
    core.hookspath core.pager core.sshcommand core.worktree commit.template credential.helper \
    diff.external difftool.cmd extensions.partialclone gpg.program gpg.ssh.defaultkeycommand imap.tunnel \
    include.path init.templatedir instaweb.httpd interactive.difffilter log.showsignature protocol.allow \
    sendemail.cccmd sendemail.smtpserver sendemail.tocmd sequence.editor uploadpack.packobjectshook \
    web.browser";
const FAMILIES: &str = "alias.* browser.*cmd credential.*helper diff.*command diff.*textconv difftool.*cmd difftool.*path \
    filter.* gpg.*program guitool.*cmd hook.* includeif.* man.*cmd merge.*driver mergetool.*cmd \
    mergetool.*path pager.* protocol.*allow remote.*promisor remote.*proxy remote.*receivepack \
    remote.*uploadpack remote.*vcs submodule.*update tar.*command trailer.*cmd trailer.*command url.*";

pub(crate) fn is_command_key(key: &str) -> bool {
    among(KEYS, key) || FAMILIES.split(' ').any(|family| glob(family, key))
}

pub(crate) fn harmless_value(value: &str) -> bool {
    matches!(
        value,
        "" | "cat" | "less" | "more" | "true" | "false" | ":" | "/dev/null" | "never" | "always" | "user"
    )
}

/// `key=value` of `-c`.
pub(crate) fn setting(setting: Option<&Arg>, out: &mut Effects) {
    let Some(setting) = setting else { return };
    out.push(Effect::NotPlain);
    out.push(Effect::Unproven);
    let (key, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
    if key.contains('\0') {
        out.confirm(ReasonCode::Opaque, "which setting of git it changes is not known before it runs");
    } else if is_command_key(&key.to_lowercase()) && !harmless_value(value) {
        out.helper(format!("{key} makes git run a program"));
        out.push(Effect::Perhaps(value.trim_start_matches('!').to_owned()));
    }
}

/// A subcommand without a row: a rare one, or an alias.
pub(crate) fn git(call: &Call<'_>, out: &mut Effects) {
    for arg in call.behind().iter().skip(1).filter(|arg| !arg.text.starts_with('-')) {
        out.loose(arg);
    }
}

/// Revisions and paths. A path only where it looks like one; behind `--`, always.
pub(crate) fn paths(call: &Call<'_>, out: &mut Effects) {
    let skip = usize::from(call.row.files == Files::GitPattern && !call.has_pattern());
    for arg in call.operands.iter().skip(skip) {
        if arg.text.starts_with("ext::") || arg.text.starts_with("fd::") {
            out.helper("the address makes git run a program");
        }
        match call.has_effect(OptionEffect::Outside) {
            true => out.reads(arg),
            false => out.loose(arg),
        }
    }
    const LISTS: &[&str] = &["list", "l", "contains", "no-contains", "merged", "no-merged", "points-at", "n"];
    if call.row.files == Files::GitCreate
        && !call.operands.is_empty()
        && !LISTS.iter().any(|name| call.has(name))
    {
        out.push(Effect::Unproven);
    }
}

/// A pathspec, or a name that is a file, throws away what was changed there; a branch does not.
pub(crate) fn checkout(call: &Call<'_>, out: &mut Effects) {
    paths(call, out);
    let branches = ["b", "B", "orphan"].iter().any(|name| call.has(name));
    if branches {
        return;
    }
    let lost = "it throws away changes that were not committed";
    let magic =
        |arg: &Arg| arg.text == "." || arg.text.starts_with(':') || arg.text.contains(['*', '?', '[']);
    let dashes = call.argv.iter().any(|arg| arg.text == "--");
    if dashes || call.operands.iter().any(magic) {
        out.confirm(ReasonCode::Destructive, lost);
    }
    if call.operands.len() > 1 && !["t", "track", "detach", "d"].iter().any(|name| call.has(name)) {
        // A revision, and then only paths.
        out.confirm(ReasonCode::Destructive, lost);
    }
    out.0.extend(call.operands.iter().cloned().map(Effect::Discards));
}

pub(crate) fn push(call: &Call<'_>, out: &mut Effects) {
    paths(call, out);
    if call.operands.iter().any(|arg| arg.text.starts_with(['+', ':'])) {
        out.confirm(ReasonCode::Destructive, format!("it {}", call.row.why));
    }
    if call.operands.iter().skip(1).any(|arg| arg.text.starts_with('\0')) {
        out.ask("which reference it pushes is not known before it runs");
    }
}

/// clone, init, worktree: the last word is a folder that is made, and may come from elsewhere.
pub(crate) fn clone(call: &Call<'_>, out: &mut Effects) {
    paths(call, out);
    let Some(last) = call.operands.last() else { return };
    let text = last.text.as_str();
    if text.contains('/') && !text.contains(':') {
        out.changes(last, FileEffect::Alter);
    }
    if call.row.name == "git clone" {
        // Without a folder's name the repository's is taken.
        let name = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(text);
        let folder = if text.contains(':') { name.trim_end_matches(".git") } else { text };
        out.push(Effect::Fetches(Arg::literal(folder)));
    }
}

pub(crate) fn bundle(call: &Call<'_>, out: &mut Effects) {
    match call.operands.as_slice() {
        [verb, file, ..] if verb.text == "create" => out.writes(file),
        words => words.iter().for_each(|arg| out.loose(arg)),
    }
}

pub(crate) fn config(call: &Call<'_>, out: &mut Effects) {
    let has = |names: &str| names.split(' ').any(|name| call.has(name));
    let verb = call.operands.first().map_or("", |arg| arg.text.as_str());
    let shows = has("get get-all get-regexp get-urlmatch get-color list") || matches!(verb, "get" | "list");
    let words: Vec<&Arg> = call.operands.iter().filter(|arg| arg.text != "set").collect();
    let changes =
        !shows && (words.len() > 1 || has("unset unset-all rename-section remove-section replace-all"));
    let of_user = has("global system");
    // Addresses and headers may hold a key.
    let keys = |arg: &&Arg| {
        ["header", "token", "password", "url"].iter().any(|word| arg.text.to_lowercase().contains(word))
    };
    if !shows || of_user || words.iter().any(keys) {
        out.push(Effect::Unproven);
    }
    let file = call.values("file").pop();
    if !changes {
        out.0.extend(file.map(Effect::Reads));
    } else {
        out.0.extend(file.clone().map(|_| Effect::NotPlain));
        out.0.extend(file.map(|file| Effect::Changes(file, FileEffect::Alter)));
        out.0.extend(of_user.then_some(Effect::UserSettings));
    }
    if !shows && (verb == "edit" || call.has("edit")) {
        out.helper("it opens an editor on git's settings");
    }
    if let [key, value, ..] = words.as_slice()
        && !shows
    {
        if key.has_unknown() {
            out.confirm(ReasonCode::Opaque, "which setting of git it changes is not known before it runs");
        } else if is_command_key(&key.text.to_lowercase()) && !harmless_value(&value.text) {
            out.helper(format!("{} makes git run a program", key.text));
        }
    }
}

/// Subcommands that run a command or a text of their arguments.
pub(crate) fn runs(call: &Call<'_>, out: &mut Effects) {
    let first = call.operands.first().map_or("", |arg| arg.text.as_str());
    let after = |word: &str| {
        let at = call.argv.iter().position(|arg| arg.text == word).map_or(call.argv.len(), |at| at + 1);
        call.argv[at..].iter().skip_while(|arg| arg.text.starts_with('-')).cloned().collect::<Vec<_>>()
    };
    match first {
        "run" if call.row.name == "git bisect" => out.push(Effect::Runs(after("run"), Inner::Changed)),
        "foreach" if call.row.name == "git submodule" => out.push(Effect::Shell(after("foreach"))),
        "deinit" if call.row.name == "git submodule" => {
            out.confirm(ReasonCode::Destructive, "it deletes working files");
        }
        _ if call.operands.first().is_some_and(Arg::has_unknown) => {
            out.confirm(
                ReasonCode::Opaque,
                "a word that is not known before it runs may make git run something",
            );
        }
        _ => paths(call, out),
    }
}
