//! Programs that run a command somewhere in their arguments, by options too many to follow: only what would
//! have to be confirmed anywhere is looked for.

use zdx_protocol::ReasonCode;

use crate::shell::programs::builtins::is_shell;
use crate::shell::programs::commands::basename;
use crate::shell::programs::dangers::{is_forbidden, is_listed};
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::feed::Stdin;
use crate::shell::{Concern, Part};

/// Programs that run a command given somewhere in their arguments, with options too many to follow.
const LOOSE_RUNNERS: &[&str] = &[
    "npx",
    "pnpx",
    "bunx",
    "uvx",
    "nix-shell",
    "dotenv",
    "cross-env",
    "hyperfine",
    "entr",
    "watchexec",
    "nodemon",
    "expect",
    "docker",
    "podman",
    "nerdctl",
    "kubectl",
    "oc",
    "firejail",
    "bwrap",
    "proot",
    "gdb",
    "lldb",
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
    "systemd-inhibit",
    "cgexec",
    "capsh",
    "setpriv",
    "trickle",
    "sem",
    "rush",
    "socat",
    "nc",
    "ncat",
    "netcat",
    "dtach",
    "abduco",
    "fzf",
    "sg",
    "newgrp",
    "wrapper",
    "gosu",
    "su-exec",
    "tsp",
    "nq",
    "run-parts",
    "ssh-agent",
    "xvfb-run",
    "xterm",
    "uxterm",
    "urxvt",
    "rxvt",
    "st",
    "kitty",
    "foot",
    "alacritty",
    "konsole",
    "gnome-terminal",
    "xfce4-terminal",
    "terminator",
    "systemd-cat",
    "systemd-nspawn",
    "runcon",
    "choom",
    "uclampset",
    "cpulimit",
    "aa-exec",
    "ifne",
    "pee",
    "mispipe",
    "mpirun",
    "mpiexec",
    "srun",
    "torify",
    "tsocks",
    "lockf",
    "lockfile-create",
    "run-one",
    "annotate-output",
    "nocache",
    "timelimit",
    "envdir",
    "setuidgid",
    "xinit",
    "startx",
    "fakechroot",
    "lxc-attach",
    "lxc-execute",
    "apply",
    "xe",
    "memusage",
    "sprof",
    "ltrace-ng",
    "uftrace",
    "heaptrack",
    "pidexec",
    "with-contenv",
    "s6-setuidgid",
    "concurrently",
    "onchange",
    "chokidar",
    "guard",
    "reflex",
];

/// Of these, the ones that have subcommands: `npm rm`, `conda env` are their own words.
const WITH_SUBCOMMANDS: &[&str] = &[
    "uv",
    "pipx",
    "poetry",
    "pipenv",
    "pdm",
    "rye",
    "hatch",
    "bundle",
    "nix",
    "mise",
    "asdf",
    "rtx",
    "doppler",
    "op",
    "tmux",
    "vagrant",
    "adb",
    "perf",
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
    "wsl",
    "distrobox",
    "toolbox",
    "flatpak",
    "zellij",
    "direnv",
    "lxc",
    "screen",
    "machinectl",
    "wezterm",
    "rr",
];

/// Subcommands after which the rest is no command: `docker rm` removes a container.
const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl", "kubectl", "oc", "lxc"];

/// Subcommands of npm that run a script of the project by its name.
const NPM_SCRIPTS: &[&str] = &["run", "run-script", "test", "t", "start"];

pub(crate) fn is_runner(name: &str) -> bool {
    LOOSE_RUNNERS.contains(&name)
        || WITH_SUBCOMMANDS.contains(&name)
        || name.starts_with("qemu-") && name != "qemu-img"
}

impl Walker<'_> {
    /// Finds listed commands and shells behind a runner's own arguments.
    pub(crate) fn loose_runner(&mut self, name: &str, argv: &[Arg], part: &mut Part) {
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
        // `npm run x -- words`: the first is the name of a script, the words are for that script.
        let script = name == "npm" && argv.get(1).is_some_and(|arg| NPM_SCRIPTS.contains(&arg.text.as_str()));
        // A container's shell gets our own input; what other runners feed theirs is not known.
        let feed = if CONTAINERS.contains(&name) { self.stdin.clone() } else { Stdin::Unknown };
        for (index, arg) in argv.iter().enumerate().skip(start) {
            let text = arg.text.as_str();
            // `npm rm`, `uv pip`: a subcommand right behind the name is the runner's own.
            let own_subcommand = (index == 1 && WITH_SUBCOMMANDS.contains(&name)) || (index == 2 && script);
            let inner = basename(text);
            if !own_subcommand
                && (is_listed(inner)
                    || is_forbidden(inner)
                    || is_shell(inner)
                    || matches!(inner, "env" | "eval" | "xargs" | "find"))
            {
                let from = self.parts.len();
                let mut probe = Part::of("");
                self.fed(feed.clone(), |walker| walker.argv(&argv[index..], &mut probe, false));
                let nested: Vec<Part> = self.parts.split_off(from);
                for concern in nested.into_iter().flat_map(|part| part.concerns).chain(probe.concerns) {
                    if matches!(concern, Concern::Forbidden { .. } | Concern::Confirm { .. }) {
                        part.add(concern);
                    }
                }
                break;
            }
            if !script && text.contains(' ') && !text.contains('\0') && !text.starts_with('-') {
                self.only_listed(text, part);
                // Debuggers have a word for it: `!rm x`, `shell rm x`, `platform shell rm x`.
                let escaped =
                    text.strip_prefix('!').or_else(|| text.split_once("shell ").map(|(_, rest)| rest));
                if let Some(command) = escaped {
                    self.only_listed(command, part);
                }
            }
        }
        if matches!(name, "nc" | "ncat" | "netcat" | "socat")
            && argv.iter().any(|arg| {
                matches!(arg.text.as_str(), "-e" | "-c" | "--exec" | "--sh-exec" | "--lua-exec")
                    || arg.text.to_lowercase().contains("exec:")
                    || arg.text.to_lowercase().contains("system:")
            })
        {
            part.confirm(ReasonCode::Helper, "it gives a program to the network");
        }
    }

    /// Files of this machine among the words of `docker` and its like. What stands behind the container's or the
    /// image's name is about files of the container; mounts are judged by [`Self::volumes`].
    pub(crate) fn container_files(&mut self, argv: &[Arg], part: &mut Part) -> usize {
        let (end, contained) = match own_words(argv) {
            Some(end) => (end, true),
            None => (argv.len(), false),
        };
        for (index, arg) in argv.iter().enumerate().take(end).skip(1) {
            let of_container = contained
                && matches!(
                    argv[index - 1].text.as_str(),
                    "-v" | "--volume" | "--mount" | "-w" | "--workdir" | "-e" | "--env"
                );
            if !arg.text.starts_with('-') && !of_container {
                self.loose_path(arg, false, part);
            }
        }
        end
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
            let next = argv.get(index + 1).map_or("", |next| next.text.as_str());
            if matches!(text, "--privileged" | "--pid=host" | "--net=host" | "--network=host")
                || (matches!(text, "--pid" | "--ipc" | "--userns") && next == "host")
                || ["--cap-add", "--device", "--security-opt"].iter().any(|option| text.starts_with(option))
            {
                part.confirm(ReasonCode::Helper, "the container is not kept apart from the machine");
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

    /// A text that may or may not be a script: only a listed command in it counts.
    pub(crate) fn only_listed(&mut self, text: &str, part: &mut Part) {
        let from = self.parts.len();
        self.apart(text);
        let inner: Vec<Part> = self.parts.split_off(from);
        for concern in inner.into_iter().flat_map(|part| part.concerns) {
            let counts = matches!(
                concern,
                Concern::Forbidden { .. } | Concern::Confirm { code: ReasonCode::ListedCommand, .. }
            );
            if counts {
                part.add(concern);
            }
        }
    }

    /// Reads a text as a script but keeps only what must be confirmed or refused wherever it runs.
    pub(crate) fn only_floors(&mut self, text: &str, part: &mut Part) {
        let from = self.parts.len();
        self.apart(text);
        let inner: Vec<Part> = self.parts.split_off(from);
        for concern in inner.into_iter().flat_map(|part| part.concerns) {
            match &concern {
                Concern::Forbidden { .. } => part.add(concern),
                Concern::Confirm { code: ReasonCode::Overwrite | ReasonCode::ProtectedPath, .. }
                | Concern::Outside { .. }
                | Concern::Ask { .. }
                | Concern::Instructions => {}
                Concern::Confirm { .. } => part.add(concern),
            }
        }
    }
}

/// How many words of `docker run` or `docker exec` are docker's own: all up to the image or container.
/// None when it starts nothing in a container.
/// An option that is not known here is taken to have a value, which at worst makes them one word more.
fn own_words(argv: &[Arg]) -> Option<usize> {
    const FLAGS: &[&str] = &[
        "-d",
        "-i",
        "-t",
        "-it",
        "-ti",
        "-T",
        "-dit",
        "-P",
        "-q",
        "--rm",
        "--init",
        "--detach",
        "--interactive",
        "--tty",
        "--no-TTY",
        "--no-deps",
        "--privileged",
        "--read-only",
        "--quiet",
    ];
    let mut at = argv.iter().position(|arg| matches!(arg.text.as_str(), "exec" | "run"))? + 1;
    while let Some(arg) = argv.get(at) {
        let text = arg.text.as_str();
        if !text.starts_with('-') {
            return Some(at + 1);
        }
        at += 1 + usize::from(!FLAGS.contains(&text) && !text.contains('='));
    }
    Some(argv.len())
}
