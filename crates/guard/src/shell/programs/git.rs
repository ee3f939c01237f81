//! git: options and keys that run programs, and subcommands that throw work away.

use zdx_protocol::ReasonCode;

use crate::shell::programs::options::operands;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::{FileEffect, Place};
use crate::shell::{Concern, Part};

pub(crate) fn git(walker: &mut Walker<'_>, argv: &[Arg], part: &mut Part) {
    let before = walker.folders.clone();
    let mut at = 1;
    while let Some(arg) = argv.get(at).filter(|arg| arg.text.starts_with('-')) {
        at += 1;
        let text = arg.text.as_str();
        let next = argv.get(at).cloned();
        match text {
            "-c" | "--config-env" => {
                part.plain = false;
                config(next.as_ref(), part);
                at += 1;
            }
            "-C" => {
                if let Some(folder) = next {
                    walker.change_folder(&folder, part);
                }
                at += 1;
            }
            "--git-dir" | "--work-tree" => {
                if let Some(folder) = next {
                    walker.reads(&folder, part);
                }
                at += 1;
            }
            "--namespace" | "--super-prefix" => at += 1,
            _ if text.starts_with("--exec-path=") => {
                part.confirm(ReasonCode::Helper, "it takes git's own programs from elsewhere")
            }
            _ if text.starts_with("--git-dir=") || text.starts_with("--work-tree=") => {
                let value = text.split_once('=').map_or("", |(_, value)| value).to_owned();
                walker.reads(&Arg { text: value, ..arg.clone() }, part);
            }
            _ if text.starts_with("--config-env=") => config(Some(&Arg::literal(&text[13..])), part),
            _ => {}
        }
    }
    if let Some(subcommand) = argv.get(at) {
        if subcommand.has_unknown() {
            walker.each_reading(subcommand, part, |walker, reading, part| {
                let words = reading.text.split_whitespace().map(Arg::literal);
                let whole: Vec<Arg> =
                    argv[..1].iter().cloned().chain(words).chain(argv[at + 1..].to_vec()).collect();
                if whole.len() > 1 && whole.iter().all(|arg| arg != subcommand) {
                    git(walker, &whole, part);
                }
            });
        }
        let name = subcommand.text.clone();
        let rest = Command { name: &name, argv: &argv[at..] };
        helper_options(&rest, part);
        destructive(walker, &rest, part);
        runs(walker, &rest, part);
        paths(walker, &rest, part);
    }
    walker.folders = before;
}

struct Command<'a> {
    name: &'a str,
    argv: &'a [Arg],
}

impl Command<'_> {
    fn has(&self, options: &[&str]) -> bool {
        self.argv.iter().skip(1).any(|arg| {
            let given = arg.text.split('=').next().unwrap_or(&arg.text);
            // Long options may be cut short.
            options.iter().any(|option| {
                given == *option
                    || arg.text == *option
                    || (given.len() > 4 && given.starts_with("--") && option.starts_with(given))
            })
        })
    }

    /// A long option that takes its value attached or next, maybe cut short; or a short one likewise.
    fn values(&self, long: &str, short: &str) -> Vec<Arg> {
        let mut out = Vec::new();
        for (index, arg) in self.argv.iter().enumerate().skip(1) {
            let (given, value) =
                arg.text.split_once('=').map_or((arg.text.as_str(), None), |(a, b)| (a, Some(b)));
            let attached = |value: &str| Arg { text: value.to_owned(), ..arg.clone() };
            if given == long || (given.len() > 4 && given.starts_with("--") && long.starts_with(given)) {
                out.extend(value.map(attached).or_else(|| self.argv.get(index + 1).cloned()));
            } else if arg.text == short {
                out.extend(self.argv.get(index + 1).cloned());
            } else if let Some(value) = arg.text.strip_prefix(short).filter(|_| !arg.text.starts_with("--")) {
                out.push(attached(value));
            }
        }
        out
    }

    /// A letter among bundled short options.
    fn letter(&self, letter: char) -> bool {
        self.argv
            .iter()
            .skip(1)
            .any(|arg| arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.contains(letter))
    }
}

/// `key=value` of `-c`: keys whose value is a command.
fn config(setting: Option<&Arg>, part: &mut Part) {
    let Some(setting) = setting else { return };
    let (key, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
    if key.contains('\0') {
        part.confirm(ReasonCode::Opaque, "which setting of git it changes is not known before it runs");
    } else if is_command_key(&key.to_lowercase()) && !harmless_value(value) {
        part.confirm(ReasonCode::Helper, format!("{key} makes git run a program"));
    }
}

fn harmless_value(value: &str) -> bool {
    matches!(
        value,
        "" | "cat" | "less" | "more" | "true" | "false" | ":" | "/dev/null" | "never" | "always" | "user"
    )
}

fn is_command_key(key: &str) -> bool {
    const KEYS: &[&str] = &[
        "core.pager",
        "core.editor",
        "core.sshcommand",
        "core.fsmonitor",
        "core.hookspath",
        "core.askpass",
        "core.gitproxy",
        "core.attributesfile",
        "sequence.editor",
        "credential.helper",
        "diff.external",
        "gpg.program",
        "protocol.allow",
        "protocol.ext.allow",
        "include.path",
        "init.templatedir",
        "interactive.difffilter",
        "web.browser",
        "imap.tunnel",
        "uploadpack.packobjectshook",
        "core.alternaterefscommand",
        "sendemail.tocmd",
        "sendemail.cccmd",
        "sendemail.smtpserver",
        "core.worktree",
        "difftool.cmd",
        "instaweb.httpd",
        "commit.template",
        "gpg.ssh.defaultkeycommand",
    ];
    const FAMILIES: &[(&str, &str)] = &[
        ("alias.", ""),
        ("pager.", ""),
        ("credential.", ".helper"),
        ("diff.", ".command"),
        ("diff.", ".textconv"),
        ("difftool.", ".cmd"),
        ("difftool.", ".path"),
        ("mergetool.", ".cmd"),
        ("mergetool.", ".path"),
        ("merge.", ".driver"),
        ("filter.", ""),
        ("gpg.", ".program"),
        ("remote.", ".uploadpack"),
        ("remote.", ".receivepack"),
        ("remote.", ".vcs"),
        ("remote.", ".proxy"),
        ("url.", ""),
        ("includeif.", ""),
        ("man.", ".cmd"),
        ("browser.", ".cmd"),
        ("submodule.", ".update"),
        ("trailer.", ".command"),
        ("trailer.", ".cmd"),
        ("tar.", ".command"),
        ("protocol.", ".allow"),
        ("guitool.", ".cmd"),
        ("hook.", ""),
    ];
    KEYS.contains(&key) || FAMILIES.iter().any(|(start, end)| key.starts_with(start) && key.ends_with(end))
}

fn helper_options(command: &Command<'_>, part: &mut Part) {
    if command.has(&["--upload-pack", "--receive-pack", "--extcmd", "--open-files-in-pager", "--template"]) {
        part.confirm(ReasonCode::Helper, "an option of git names a program to run");
    }
    if command.name == "clone" && !command.values("--upload-pack", "-u").is_empty() {
        part.confirm(ReasonCode::Helper, "an option of git names a program to run");
    }
    if matches!(command.name, "clone" | "submodule") {
        for setting in command.values("--config", "-c") {
            config(Some(&setting), part);
        }
    }
    if matches!(
        command.name,
        "send-email" | "instaweb" | "for-each-repo" | "web--browse" | "submodule--helper"
    ) {
        part.confirm(ReasonCode::Helper, "it runs programs that its options or settings name");
    }
    if matches!(command.name, "archive" | "push") && command.has(&["--exec"]) {
        part.confirm(ReasonCode::Helper, "an option of git names a program to run");
    }
    if matches!(command.name, "difftool" | "mergetool")
        && (command.letter('x') || command.has(&["--extcmd", "--tool"]))
    {
        part.confirm(ReasonCode::Helper, "it runs a tool of the options' choice");
    }
    if command.name == "grep" && command.letter('O') {
        part.confirm(ReasonCode::Helper, "it opens files in a program of the options' choice");
    }
    if command.argv.iter().any(|arg| arg.text.starts_with("ext::") || arg.text.starts_with("fd::")) {
        part.confirm(ReasonCode::Helper, "the address makes git run a program");
    }
    if command.has(&["--ext-diff", "--textconv", "--show-signature", "--recurse-submodules"]) {
        part.plain = false;
        part.ask("it runs a configured helper");
    }
    if command.name == "config"
        && !command.has(&[
            "--get",
            "--list",
            "-l",
            "--get-all",
            "--get-regexp",
            "--unset",
            "--show-origin",
            "get",
            "list",
        ])
    {
        let words = operands(command.argv);
        let files = command.values("--file", "-f");
        let words: Vec<&&Arg> = words
            .iter()
            .filter(|arg| arg.text != "set" && !files.iter().any(|file| file.text == arg.text))
            .collect();
        if command.letter('e') || command.has(&["--edit"]) {
            part.confirm(ReasonCode::Helper, "it opens an editor on git's settings");
        }
        if let [key, value, ..] = words.as_slice()
            && is_command_key(&key.text.to_lowercase())
            && !harmless_value(&value.text)
        {
            part.confirm(ReasonCode::Helper, format!("{} makes git run a program", key.text));
        }
    }
}

fn destructive(walker: &mut Walker<'_>, command: &Command<'_>, part: &mut Part) {
    let words = operands(command.argv);
    let first = words.first().map_or("", |arg| arg.text.as_str());
    let dash_dash = command.argv.iter().any(|arg| arg.text == "--");
    let why = match command.name {
        "clean" if !dry(command) && !command.has(&["--dry-run"]) => {
            Some("it deletes files that git does not know")
        }
        "checkout" => {
            let names_file = words.iter().any(|arg| arg.text == "." || names_file(walker, arg));
            let forced = command.letter('f')
                || command.letter('B')
                || command.has(&["--force", "--pathspec-from-file", "--ours", "--theirs"]);
            let branches = command.has(&["-b", "-B", "--orphan"]);
            (forced || (!branches && (dash_dash || names_file)))
                .then_some("it throws away changes that were not committed")
        }
        "switch" if command.letter('f') || command.has(&["--force", "--discard-changes"]) => {
            Some("it throws away changes that were not committed")
        }
        "restore"
            if !(command.has(&["--staged"]) || command.letter('S'))
                || command.has(&["--worktree"])
                || command.letter('W') =>
        {
            Some("it throws away changes that were not committed")
        }
        "reset" if command.has(&["--hard", "--merge", "--keep"]) => {
            Some("it throws away changes that were not committed")
        }
        "push"
            if command.letter('f')
                || command.letter('d')
                || command.has(&[
                    "--force",
                    "--force-with-lease",
                    "--force-if-includes",
                    "--mirror",
                    "--delete",
                    "--prune",
                ])
                || words.iter().any(|arg| arg.text.starts_with(['+', ':'])) =>
        {
            Some("it rewrites or deletes history on the other side")
        }
        "branch"
            if command.letter('D')
                || command.letter('M')
                || command.letter('C')
                || command.letter('f')
                || command.has(&["--force"]) =>
        {
            Some("it deletes a branch for good")
        }
        "stash" if matches!(first, "drop" | "clear") => Some("it deletes stashed work"),
        "reflog" if matches!(first, "expire" | "delete") => {
            Some("it deletes what could bring lost work back")
        }
        "update-ref" | "symbolic-ref" | "tag" if command.letter('d') || command.has(&["--delete"]) => {
            Some("it deletes a reference")
        }
        "switch" if command.letter('C') => Some("it moves a branch"),
        "filter-branch" | "filter-repo" => Some("it rewrites history"),
        "gc" | "prune"
            if command.has(&["--prune=now", "--prune", "--aggressive"]) || command.name == "prune" =>
        {
            Some("it deletes what could bring lost work back")
        }
        "worktree" if first == "remove" => Some("it deletes a working tree"),
        "rm" if !command.has(&["--cached"])
            && (command.letter('r') || command.letter('f') || command.has(&["--force"])) =>
        {
            Some("it deletes files")
        }
        "checkout-index" | "read-tree" if command.letter('f') || command.letter('u') => {
            Some("it overwrites files")
        }
        "submodule" if first == "deinit" => Some("it deletes working files"),
        _ => None,
    };
    if let Some(why) = why {
        part.confirm(ReasonCode::Destructive, why);
    }
}

/// `-n` among the letters of `git clean`; what stands behind `-e` is a pattern.
fn dry(command: &Command<'_>) -> bool {
    command.argv.iter().skip(1).any(|arg| {
        arg.text.starts_with('-')
            && !arg.text.starts_with("--")
            && arg.text.split('e').next().is_some_and(|letters| letters.contains('n'))
    })
}

fn names_file(walker: &Walker<'_>, arg: &Arg) -> bool {
    match walker.place(arg) {
        Place::At(all) => all.iter().any(|located| located.exists() && !walker.is_outside(&located.path)),
        Place::Below(_) | Place::Unknown => false,
    }
}

/// Subcommands that run a command or a text of their arguments.
fn runs(walker: &mut Walker<'_>, command: &Command<'_>, part: &mut Part) {
    let argv = command.argv;
    match command.name {
        "bisect" if argv.get(1).is_some_and(|arg| arg.text == "run") => walker.inner(&argv[2..], part, false),
        "submodule" if argv.iter().any(|arg| arg.text == "foreach") => {
            let at = argv.iter().position(|arg| arg.text == "foreach").unwrap_or(0) + 1;
            let words: Vec<Arg> =
                argv[at..].iter().skip_while(|arg| arg.text.starts_with('-')).cloned().collect();
            walker.shell_words(&words, part);
        }
        "rebase" => {
            for text in command.values("--exec", "-x").into_iter().chain(command.values("--exec", "-ix")) {
                walker.shell_words(std::slice::from_ref(&text), part);
            }
        }
        _ => {}
    }
}

fn paths(walker: &mut Walker<'_>, command: &Command<'_>, part: &mut Part) {
    let argv = command.argv;
    let mut after_message = false;
    // `git grep` without `-e` or `-f` takes its first word for the pattern.
    let mut pattern_follows = command.name == "grep" && !command.letter('e') && !command.letter('f');
    for (index, arg) in argv.iter().enumerate().skip(1) {
        let text = arg.text.as_str();
        if std::mem::take(&mut after_message) {
            continue;
        }
        after_message = matches!(
            text,
            "-m" | "--message" | "--author" | "--date" | "--grep" | "-S" | "-G" | "--format" | "--pretty"
        ) || (command.name == "grep" && text == "-e" && !command.letter('f'));
        if !text.starts_with('-') && std::mem::take(&mut pattern_follows) {
            continue;
        }
        let attached = text
            .strip_prefix("-o")
            .filter(|file| !file.is_empty() && matches!(command.name, "archive" | "format-patch"));
        let settings =
            text.strip_prefix("-f").filter(|file| !file.is_empty() && matches!(command.name, "config"));
        if let Some(file) = text
            .strip_prefix("--output=")
            .or_else(|| text.strip_prefix("--output-directory="))
            .or_else(|| text.strip_prefix("--separate-git-dir="))
            .or(attached)
            .or(settings)
        {
            part.plain = false;
            walker.changes(&Arg { text: file.to_owned(), ..arg.clone() }, FileEffect::Overwrite, part);
        } else if matches!(text, "--output" | "-o")
            && matches!(command.name, "log" | "diff" | "show" | "archive" | "format-patch" | "bundle")
        {
            part.plain = false;
            if let Some(file) = argv.get(index + 1) {
                walker.changes(file, FileEffect::Overwrite, part);
            }
        } else if let Some(file) = text.strip_prefix("--file=") {
            walker.reads(&Arg { text: file.to_owned(), ..arg.clone() }, part);
        } else if command.name == "bundle" && index == 2 && argv[1].text == "create" {
            walker.changes(arg, FileEffect::Overwrite, part);
        } else if !text.starts_with('-') {
            let creates = matches!(command.name, "clone" | "init" | "worktree");
            walker.loose_path(arg, false, part);
            if creates && index == argv.len() - 1 && text.contains('/') && !text.contains(':') {
                walker.changes(arg, FileEffect::Alter, part);
            }
            if command.name == "clone" && index == argv.len() - 1 {
                // Without a folder's name the repository's is taken.
                let name = text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(text);
                let folder = if text.contains(':') { name.trim_end_matches(".git") } else { text };
                walker.fetches(&Arg::literal(folder.to_owned()));
            }
        }
    }
    if command.name == "config"
        && command.has(&["--global", "--system"])
        && operands(argv).len() > 1
        && let Some(home) = walker.around.home
    {
        part.add(Concern::Outside { path: std::path::Path::new(home).join(".gitconfig"), write: true });
    }
}
