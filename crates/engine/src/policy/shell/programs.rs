//! Programs that run others, or write files, through their options: find, tar, ssh, editors, containers.

use super::Part;
use super::builtins::is_shell;
use super::commands::{basename, is_forbidden, is_listed};
use super::feed::{Stdin, joined};
use super::files::Change;
use super::options::operands;
use super::walk::Walker;
use super::word::Arg;
use super::wrappers::fill;
use super::{git, scripts};

/// Programs that run a command given somewhere in their arguments, with options too many to follow.
const LOOSE_RUNNERS: &[&str] = &[
    "npx",
    "pnpx",
    "bunx",
    "uv",
    "uvx",
    "pipx",
    "poetry",
    "pipenv",
    "pdm",
    "rye",
    "hatch",
    "bundle",
    "direnv",
    "nix",
    "nix-shell",
    "mise",
    "asdf",
    "rtx",
    "dotenv",
    "doppler",
    "op",
    "cross-env",
    "hyperfine",
    "entr",
    "watchexec",
    "nodemon",
    "tmux",
    "screen",
    "expect",
    "docker",
    "podman",
    "nerdctl",
    "kubectl",
    "oc",
    "lxc",
    "adb",
    "vagrant",
    "firejail",
    "bwrap",
    "proot",
    "gdb",
    "lldb",
    "perf",
    "start-stop-daemon",
    "daemonize",
    "dumb-init",
    "tini",
    "chpst",
    "softlimit",
    "faketime",
    "proxychains",
    "proxychains4",
    "caffeinate",
    "cargo-watch",
    "conda",
    "mamba",
    "micromamba",
    "corepack",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "rustup",
    "just",
    "task",
    "systemd-inhibit",
    "cgexec",
    "capsh",
    "setpriv",
    "trickle",
    "sem",
    "rush",
    "wsl",
    "distrobox",
    "toolbox",
    "flatpak",
    "socat",
    "nc",
    "ncat",
    "netcat",
    "dtach",
    "abduco",
    "zellij",
    "fzf",
    "sg",
    "newgrp",
    "wrapper",
    "gosu",
    "su-exec",
    "tsp",
    "nq",
    "run-parts",
];

/// Subcommands after which the rest is no command: `docker rm` removes a container.
const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl", "kubectl", "oc", "lxc"];

/// True when the program and its files are dealt with.
pub fn program(walker: &mut Walker<'_>, name: &str, argv: &[Arg], part: &mut Part) -> bool {
    match name {
        "find" | "gfind" => walker.find(argv, part),
        "fd" | "fdfind" => walker.fd(argv, part),
        "git" => git::git(walker, argv, part),
        "ssh" | "mosh" | "autossh" | "rsh" => walker.ssh(argv, part),
        "tar" | "gtar" | "bsdtar" => walker.tar(argv, part),
        "curl" | "wget" => {
            walker.download(argv, part);
            walker.files_of(name, argv, part);
        }
        "vim" | "vi" | "nvim" | "ex" | "view" | "gvim" | "vimdiff" | "rvim" | "emacs" | "ed" => {
            walker.editor(argv, part);
            walker.files_of(name, argv, part);
        }
        "kill" => walker.kill(argv, part),
        "crontab" => walker.crontab(argv, part),
        "sysctl"
            if argv.iter().any(|arg| {
                matches!(arg.text.as_str(), "-w" | "--write" | "-p") || arg.text.contains('=')
            }) =>
        {
            part.confirm("destructive", "it changes the running system");
        }
        "make" | "gmake" => {
            walker.make(argv, part);
        }
        _ if scripts::script_program(walker, name, argv, part) => {}
        _ => {
            walker.helper_options(name, argv, part);
            if LOOSE_RUNNERS.contains(&name) {
                walker.loose_runner(name, argv, part);
            }
            return false;
        }
    }
    true
}

impl Walker<'_> {
    fn find(&mut self, argv: &[Arg], part: &mut Part) {
        let mut at = 1;
        let mut in_paths = true;
        while let Some(arg) = argv.get(at) {
            at += 1;
            let text = arg.text.clone();
            match text.as_str() {
                "-delete" => part.confirm("destructive", "find deletes what it finds"),
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let end = argv[at..]
                        .iter()
                        .position(|arg| arg.text == ";" || arg.text == "+")
                        .map_or(argv.len(), |n| at + n);
                    let mut inner = argv[at..end].to_vec();
                    fill(&mut inner, "{}");
                    if text.ends_with("dir") {
                        self.elsewhere(&inner, part)
                    } else {
                        self.inner(&inner, part, false)
                    }
                    at = end + 1;
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(file) = argv.get(at).cloned() {
                        part.plain = false;
                        self.changes(&file, Change::Overwrite, part);
                    }
                    at += 1 + usize::from(text == "-fprintf");
                }
                "-name" | "-iname" | "-path" | "-ipath" | "-regex" | "-iregex" | "-type" | "-maxdepth"
                | "-mindepth" | "-size" | "-mtime" | "-mmin" | "-user" | "-group" | "-perm" | "-printf"
                | "-wholename" | "-lname" | "-atime" | "-ctime" => at += 1,
                "-newer" | "-samefile" | "-anewer" | "-cnewer" => {
                    if let Some(file) = argv.get(at).cloned() {
                        self.reads(&file, part);
                    }
                    at += 1;
                }
                _ if text.starts_with(['-', '(', '!', ')', ',']) && text != "-" => {
                    in_paths = in_paths && matches!(text.as_str(), "-L" | "-H" | "-P")
                }
                _ => {
                    if arg.has_unknown() && (!in_paths || arg.splits) && self.may_hold_action(part) {
                        part.confirm(
                            "opaque",
                            "an argument of find may tell it to delete or to run something",
                        );
                    }
                    if in_paths {
                        self.reads(arg, part);
                    }
                }
            }
        }
    }

    /// An unknown word of `find` matters when the script itself holds an action to put there, or input does.
    fn may_hold_action(&self, part: &Part) -> bool {
        !self.facts.assigned.is_empty()
            || part.text.trim_start().starts_with("xargs")
            || part.text.contains("$(")
            || part.text.contains('`')
    }

    fn fd(&mut self, argv: &[Arg], part: &mut Part) {
        let exec =
            argv.iter().position(|arg| matches!(arg.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
        let attached = argv.iter().find(|arg| {
            arg.text.starts_with("--exec=")
                || arg.text.starts_with("--exec-batch=")
                || (arg.text.len() > 2 && (arg.text.starts_with("-x") || arg.text.starts_with("-X")))
        });
        if attached.is_some() {
            part.confirm("opaque", "it runs a command for every file it finds");
        }
        if let Some(at) = exec {
            let mut inner = argv[at + 1..].to_vec();
            fill(&mut inner, "{}");
            inner.push(Arg::unknown());
            self.inner(&inner, part, false);
        }
        let own = &argv[..exec.unwrap_or(argv.len())];
        for path in operands(own).into_iter().skip(1) {
            self.reads(path, part);
        }
    }

    fn ssh(&mut self, argv: &[Arg], part: &mut Part) {
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

    /// Reads a text as a script but keeps only what must be confirmed or refused wherever it runs.
    pub fn only_floors(&mut self, text: &str, part: &mut Part) {
        let from = self.parts.len();
        self.apart(text);
        let inner: Vec<Part> = self.parts.split_off(from);
        for concern in inner.into_iter().flat_map(|part| part.concerns) {
            match &concern {
                super::Concern::Forbidden { .. } => part.add(concern),
                super::Concern::Confirm { code, .. }
                    if !matches!(*code, "unreadable" | "overwrite" | "protected_path") =>
                {
                    part.add(concern)
                }
                super::Concern::Confirm { .. }
                | super::Concern::Outside { .. }
                | super::Concern::Ask { .. } => {}
            }
        }
    }

    fn tar(&mut self, argv: &[Arg], part: &mut Part) {
        let mut letters = String::new();
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let text = arg.text.as_str();
            if text.starts_with("--") {
                let (option, value) = text.split_once('=').unwrap_or((text, ""));
                let runs = matches!(
                    option,
                    "--to-command"
                        | "--info-script"
                        | "--new-volume-script"
                        | "--rmt-command"
                        | "--rsh-command"
                ) || (option == "--checkpoint-action"
                    && (value.contains("exec") || value.is_empty()))
                    || (option == "--use-compress-program" && value.contains(['/', ' ', '\0']));
                if runs {
                    part.confirm("helper", format!("{option} runs a program"));
                }
                match option {
                    "--create" => letters.push('c'),
                    "--extract" | "--get" => letters.push('x'),
                    "--remove-files" => part.confirm("destructive", "it removes the files it packs"),
                    _ => {}
                }
            } else if index == 1 || text.starts_with('-') {
                letters.push_str(text.trim_start_matches('-'));
                let program = argv.get(index + 1).filter(|_| text.ends_with('I') || text.ends_with('F'));
                if program.is_some_and(|program| program.text.contains(['/', ' ', '\0'])) {
                    part.confirm("helper", "it runs a program of its options' choice");
                }
            }
        }
        if letters.contains('P') || argv.iter().any(|arg| arg.text == "--absolute-names") {
            part.confirm("destructive", "it may write anywhere");
        }
        let archive = argv
            .iter()
            .position(|arg| {
                arg.text.starts_with("--file") || (!arg.text.starts_with("--") && arg.text.ends_with('f'))
            })
            .and_then(|at| {
                argv[at]
                    .text
                    .split_once('=')
                    .map(|(_, value)| Arg { text: value.to_owned(), ..argv[at].clone() })
                    .or_else(|| argv.get(at + 1).cloned())
            });
        if let Some(archive) = archive.filter(|_| letters.contains('c')) {
            part.plain = false;
            self.changes(&archive, Change::Overwrite, part);
        }
        for file in operands(argv)
            .into_iter()
            .skip(usize::from(!argv.get(1).is_some_and(|arg| arg.text.starts_with('-'))))
        {
            self.reads(file, part);
        }
        if letters.contains('x') {
            part.ask("changes", "it writes the files of the archive");
        }
    }

    fn download(&mut self, argv: &[Arg], part: &mut Part) {
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

    fn editor(&mut self, argv: &[Arg], part: &mut Part) {
        let escapes = |text: &str| {
            [
                "!",
                "system(",
                "term",
                "exe",
                "py",
                "lua",
                "perl",
                "ruby",
                "so ",
                "source",
                "shell",
                "call-process",
                "async",
            ]
            .iter()
            .any(|word| text.contains(word))
        };
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let command = match arg.text.as_str() {
                "-c" | "--cmd" | "--eval" | "-eval" | "-S" | "-s" | "-u" | "-l" | "--load" | "-f"
                | "--script" | "-W" | "-w" => argv.get(index + 1).map(|next| next.text.clone()),
                text if text.starts_with('+') => Some(text[1..].to_owned()),
                text if text.starts_with("--eval=") || text.starts_with("-c") => Some(text.to_owned()),
                _ => None,
            };
            match command {
                Some(text)
                    if text.contains('\0')
                        || escapes(&text)
                        || matches!(arg.text.as_str(), "-S" | "-s" | "-u" | "-l" | "--load") =>
                {
                    part.confirm("helper", "the editor is told to run something");
                }
                _ => {}
            }
        }
        if !matches!(self.stdin, Stdin::Nothing) {
            part.confirm("opaque", "the editor takes its orders from what it reads");
        }
    }

    fn kill(&mut self, argv: &[Arg], part: &mut Part) {
        let everything = argv.iter().skip(2).any(|arg| matches!(arg.text.as_str(), "-1" | "0" | "1"))
            || argv.iter().any(|arg| arg.text == "1");
        if everything {
            part.confirm("destructive", "it ends every process of the user");
        }
    }

    fn crontab(&mut self, argv: &[Arg], part: &mut Part) {
        let only_lists = argv.len() > 1 && argv.iter().skip(1).all(|arg| arg.text == "-l");
        if !only_lists {
            part.confirm("destructive", "it changes what runs later, without zdx");
        }
    }

    fn make(&mut self, argv: &[Arg], part: &mut Part) {
        part.ask("workspace_file", "it runs what a file of the workspace says");
        let makefile = |path: &std::path::PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().ends_with("makefile"))
        };
        if self.written.iter().any(makefile) {
            part.confirm("opaque", "it runs a file that this very script writes");
        }
        for (index, arg) in argv.iter().enumerate().skip(1) {
            let text = arg.text.as_str();
            let next = argv.get(index + 1).cloned();
            match text {
                "-f" | "--file" | "--makefile" | "-C" | "--directory" | "-I" => {
                    if let Some(file) = next {
                        if file.text == "-" || file.text == "/dev/stdin" || file.text.starts_with("/dev/fd/")
                        {
                            part.confirm("opaque", "it runs whatever it reads");
                        } else {
                            self.reads(&file, part);
                        }
                    }
                }
                _ if text.starts_with("-f") || text.starts_with("-C") => {
                    self.reads(&Arg { text: text[2..].to_owned(), ..arg.clone() }, part)
                }
                _ if text.starts_with("--file=")
                    || text.starts_with("--directory=")
                    || text.starts_with("--makefile=") =>
                {
                    let value = text.split_once('=').map_or("", |(_, value)| value).to_owned();
                    self.reads(&Arg { text: value, ..arg.clone() }, part);
                }
                _ if text == "--eval"
                    || text.starts_with("--eval=")
                    || text.starts_with("SHELL=")
                    || text.starts_with("MAKEFLAGS=") =>
                {
                    part.confirm("helper", "it tells make what to run");
                }
                _ => {}
            }
        }
    }

    /// Options of otherwise harmless tools that run a program.
    fn helper_options(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        let runs: &[&str] = match name {
            "rg" | "ugrep" => &["--pre", "--hostname-bin", "--filter", "--pager"],
            "sort" => &["--compress-program"],
            "man" => &["-P", "--pager", "-H", "--html"],
            "rsync" => &["-e", "--rsh", "--rsync-path"],
            "scp" | "sftp" => &["-S", "-o", "-D"],
            "zip" => &["-TT", "--unzip-command"],
            "go" => &["-exec", "-toolexec", "--exec", "--toolexec"],
            "gcc" | "g++" | "cc" | "clang" => &["-wrapper", "-fplugin", "-B", "-specs"],
            "tcpdump" => &["-z"],
            "cargo" => &["--config"],
            "ip" => &["exec"],
            "less" | "more" | "most" => &["-k", "--lesskey-src"],
            "nmap" => &["--script", "--interactive"],
            "split" => &["--filter"],
            "date" => &["-s", "--set"],
            "pip" | "pip3" => &["--python"],
            "bat" | "batcat" | "delta" => &["--pager"],
            "jq" => &[],
            _ => return,
        };
        for arg in argv.iter().skip(1) {
            let text = arg.text.as_str();
            let option = text.split('=').next().unwrap_or(text);
            if runs.contains(&option) {
                part.plain = false;
                part.confirm("helper", format!("{option} chooses a program or code to run"));
            }
            if matches!(name, "less" | "more") && text.starts_with('+') && text.contains(['!', '|']) {
                part.confirm("helper", "it tells the pager to run something");
            }
        }
    }

    /// Finds listed commands and shells behind a runner's own arguments.
    fn loose_runner(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
        let start = if CONTAINERS.contains(&name) {
            match argv.iter().position(|arg| matches!(arg.text.as_str(), "exec" | "run" | "create" | "debug"))
            {
                Some(at) => at + 1,
                None => return,
            }
        } else {
            1
        };
        if CONTAINERS.contains(&name) {
            self.volumes(argv, part);
        }
        for (index, arg) in argv.iter().enumerate().skip(start) {
            let text = arg.text.as_str();
            // `npm rm`, `uv pip`: a subcommand right behind the name is the runner's own.
            let own_subcommand = index == 1;
            let inner = basename(text);
            if !own_subcommand
                && (is_listed(inner)
                    || is_forbidden(inner)
                    || is_shell(inner)
                    || matches!(inner, "env" | "eval" | "xargs" | "find"))
            {
                let from = self.parts.len();
                let mut probe = Part::of("");
                self.fed_unknown(|walker| walker.argv(&argv[index..], &mut probe, false));
                let nested: Vec<Part> = self.parts.split_off(from);
                for concern in nested.into_iter().flat_map(|part| part.concerns).chain(probe.concerns) {
                    if matches!(concern, super::Concern::Forbidden { .. } | super::Concern::Confirm { .. }) {
                        part.add(concern);
                    }
                }
                break;
            }
            if text.contains(' ') && !text.contains('\0') && !text.starts_with('-') {
                self.only_listed(text, part);
            }
        }
        if matches!(name, "nc" | "ncat" | "netcat" | "socat")
            && argv.iter().any(|arg| {
                matches!(arg.text.as_str(), "-e" | "-c" | "--exec" | "--sh-exec" | "--lua-exec")
                    || arg.text.to_lowercase().contains("exec:")
                    || arg.text.to_lowercase().contains("system:")
            })
        {
            part.confirm("helper", "it gives a program to the network");
        }
    }

    /// A text that may or may not be a script: only a listed command in it counts.
    pub fn only_listed(&mut self, text: &str, part: &mut Part) {
        let from = self.parts.len();
        self.apart(text);
        let inner: Vec<Part> = self.parts.split_off(from);
        for concern in inner.into_iter().flat_map(|part| part.concerns) {
            let counts = matches!(&concern, super::Concern::Forbidden { .. })
                || matches!(&concern, super::Concern::Confirm { code, .. } if *code == "listed_command");
            if counts {
                part.add(concern);
            }
        }
    }

    /// `-v /:/host`: the outside comes in.
    fn volumes(&mut self, argv: &[Arg], part: &mut Part) {
        for (index, arg) in argv.iter().enumerate() {
            let text = arg.text.as_str();
            let value = match text {
                "-v" | "--volume" | "--mount" => argv.get(index + 1).map(|next| next.text.as_str()),
                _ => text
                    .strip_prefix("-v")
                    .or_else(|| text.strip_prefix("--volume="))
                    .or_else(|| text.strip_prefix("--mount=")),
            };
            if matches!(text, "--privileged" | "--pid=host" | "--net=host" | "--network=host") {
                part.confirm("helper", "the container is not kept apart from the machine");
            }
            let Some(value) = value else { continue };
            let source = value.split([',', ':']).find_map(|piece| match piece.split_once('=') {
                Some(("source" | "src", path)) => Some(path),
                Some(_) => None,
                None => Some(piece),
            });
            if let Some(source) = source.filter(|source| source.starts_with(['/', '.', '~'])) {
                self.reads(&Arg { text: source.to_owned(), ..arg.clone() }, part);
            }
        }
    }
}
