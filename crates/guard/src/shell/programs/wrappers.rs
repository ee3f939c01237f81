//! Commands that run another command given in their arguments: a table of their options each.
//! What cannot be unwrapped with certainty is a confirmation.

use zdx_protocol::ReasonCode;

use crate::shell::Part;
use crate::shell::programs::options::{self, Parsed, Spec};
use crate::shell::programs::wrapper_options::{ENV, FLOCK, SCRIPT, WATCH, XARGS};
use crate::shell::syntax::word::Arg;
use crate::shell::walk::feed::{Stdin, joined};
use crate::shell::walk::files::FileEffect;
use crate::shell::walk::simple::split_assignment;
use crate::shell::walk::{Folders, Walker};

/// How the inner command is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WrapperKind {
    /// The rest of the words, unchanged: an allowing pattern may look through.
    Transparent,
    /// The rest of the words, run in other surroundings.
    Changed,
}

struct Wrapper {
    names: &'static [&'static str],
    spec: Spec,
    /// Operands before the command.
    operands: usize,
    kind: WrapperKind,
}

const NO_OPTIONS: Spec = Spec { flags: "", values: "", long_flags: &[], long_values: &[], digits: false };

#[rustfmt::skip]
const WRAPPERS: &[Wrapper] = &[
    Wrapper { names: &["nohup", "builtin"], spec: NO_OPTIONS, operands: 0, kind: WrapperKind::Transparent },
    // Words of other shells that stand before a command.
    Wrapper { names: &["noglob", "nocorrect", "not", "and", "or", "-", "gnohup"], spec: NO_OPTIONS, operands: 0, kind: WrapperKind::Changed },
    Wrapper { names: &["repeat"], spec: NO_OPTIONS, operands: 1, kind: WrapperKind::Changed },
    Wrapper { names: &["nice"], operands: 0, kind: WrapperKind::Transparent,
        spec: Spec { values: "n", long_values: &["adjustment"], digits: true, ..NO_OPTIONS } },
    Wrapper { names: &["timeout", "gtimeout"], operands: 1, kind: WrapperKind::Transparent,
        spec: Spec { flags: "vfp", values: "ks", long_flags: &["foreground", "preserve-status", "verbose"],
            long_values: &["kill-after", "signal"], digits: false } },
    Wrapper { names: &["time", "gtime"], operands: 0, kind: WrapperKind::Transparent,
        spec: Spec { flags: "pvaqV", values: "fo", long_flags: &["portability", "verbose", "append", "quiet"],
            long_values: &["format", "output"], digits: false } },
    Wrapper { names: &["stdbuf"], operands: 0, kind: WrapperKind::Transparent,
        spec: Spec { values: "ioe", long_values: &["input", "output", "error"], ..NO_OPTIONS } },
    Wrapper { names: &["setsid"], operands: 0, kind: WrapperKind::Transparent,
        spec: Spec { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..NO_OPTIONS } },
    Wrapper { names: &["ionice"], operands: 0, kind: WrapperKind::Transparent,
        spec: Spec { flags: "t", values: "cn", long_flags: &["ignore"], long_values: &["class", "classdata"], digits: false } },
    Wrapper { names: &["chrt"], operands: 1, kind: WrapperKind::Transparent,
        spec: Spec { flags: "bfiordaRv", values: "TPD", long_flags: &["batch", "fifo", "idle", "other", "rr", "deadline",
            "all-tasks", "reset-on-fork", "verbose"], long_values: &["sched-runtime", "sched-period", "sched-deadline"], digits: false } },
    Wrapper { names: &["taskset"], operands: 1, kind: WrapperKind::Transparent,
        spec: Spec { flags: "ac", long_flags: &["all-tasks", "cpu-list"], ..NO_OPTIONS } },
    Wrapper { names: &["numactl"], operands: 0, kind: WrapperKind::Transparent,
        spec: Spec { flags: "al", values: "iNCmpP", long_flags: &["all", "localalloc"],
            long_values: &["interleave", "cpunodebind", "physcpubind", "membind", "preferred"], digits: false } },
    Wrapper { names: &["setarch", "linux32", "linux64", "i386", "x86_64"], operands: 0, kind: WrapperKind::Changed,
        spec: Spec { flags: "vRFZLXBIST3", ..NO_OPTIONS } },
    Wrapper { names: &["strace"], operands: 0, kind: WrapperKind::Changed,
        spec: Spec { flags: "fFcCdhikKnNqrtTvVwxyYzZDA", values: "eopsauEPOSXbIU",
            long_flags: &["follow-forks", "summary-only", "no-abbrev", "seccomp-bpf"],
            long_values: &["trace", "output", "string-limit"], digits: false } },
    Wrapper { names: &["ltrace"], operands: 0, kind: WrapperKind::Changed,
        spec: Spec { flags: "bcCfhiLrStTV", values: "aADeFlnopsuwxX", long_flags: &[], long_values: &["output"], digits: false } },
    Wrapper { names: &["unshare"], operands: 0, kind: WrapperKind::Changed,
        spec: Spec { flags: "muinpUCTfrc", values: "SGRw", long_flags: &["mount", "uts", "ipc", "net", "pid", "user", "cgroup",
            "time", "fork", "map-root-user", "map-current-user", "mount-proc", "kill-child", "keep-caps"],
            long_values: &["map-user", "map-group", "propagation", "setgroups", "root", "wd", "setuid", "setgid"], digits: false } },
    Wrapper { names: &["nsenter"], operands: 0, kind: WrapperKind::Changed,
        spec: Spec { flags: "amuinpCUTFZ", values: "tSGrw", long_flags: &["all", "mount", "uts", "ipc", "net", "pid", "cgroup",
            "user", "time", "no-fork", "preserve-credentials"], long_values: &["target", "setuid", "setgid", "root", "wd"], digits: false } },
    Wrapper { names: &["chroot"], operands: 1, kind: WrapperKind::Changed,
        spec: Spec { long_flags: &["skip-chdir"], long_values: &["userspec", "groups"], ..NO_OPTIONS } },
    Wrapper { names: &["prlimit"], operands: 0, kind: WrapperKind::Changed,
        spec: Spec { long_flags: &["core", "cpu", "data", "fsize", "nofile", "nproc", "stack", "as", "rss", "memlock"], ..NO_OPTIONS } },
    Wrapper { names: &["unbuffer", "fakeroot", "dbus-run-session", "catchsegv", "torsocks", "rlwrap", "eatmydata", "chronic"],
        spec: NO_OPTIONS, operands: 0, kind: WrapperKind::Changed },
    Wrapper { names: &["valgrind"], operands: 0, kind: WrapperKind::Changed,
        spec: Spec { flags: "qv", long_values: &["tool", "leak-check", "error-exitcode", "log-file", "suppressions"],
            long_flags: &["quiet", "verbose", "track-origins", "show-leak-kinds"], ..NO_OPTIONS } },
];

impl Walker<'_> {
    /// Unwraps `argv` if its name is a wrapper's. True when nothing else need be said about the outer command.
    pub(crate) fn wrapper(&mut self, name: &str, argv: &[Arg], part: &mut Part) -> bool {
        match name {
            "env" | "genv" => self.env(argv, part),
            // Words of the language that a second `time` in front made look like arguments.
            "!" | "coproc" => self.inner(&argv[1..], part, false),
            "command" => self.command_builtin(argv, part),
            "exec" => self.exec(argv, part),
            "busybox" | "toybox" | "coreutils" => self.multi_call(argv, part),
            // The loader of programs, called by name.
            _ if name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so" => {
                self.loose_runner(name, argv, part);
            }
            "xargs" | "gxargs" => self.xargs(argv, part),
            "watch" => self.watch(argv, part),
            "flock" => self.flock(argv, part),
            "script" => self.script_wrapper(argv, part),
            "parallel" => self.parallel(argv, part),
            _ => {
                let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name)) else {
                    return false;
                };
                self.by_table(wrapper, argv, part);
            }
        }
        true
    }

    /// The options of a wrapper, or a confirmation.
    fn read(&mut self, spec: &Spec, argv: &[Arg], part: &mut Part) -> Option<Parsed> {
        match options::parse(spec, argv) {
            Ok(parsed) => {
                self.words_that_split(&argv[..parsed.rest], part);
                Some(parsed)
            }
            Err(_) if argv.len() == 2 && matches!(argv[1].text.as_str(), "--help" | "--version") => None,
            Err(option) => {
                part.confirm(
                    ReasonCode::Opaque,
                    format!("the option {option} is not known, so neither is what runs"),
                );
                None
            }
        }
    }

    /// `x='1 rm'; nice -n $x y`: what looks like one value may bring the command along.
    /// A number that a substitution makes (`-P $(nproc)`) is everyday use.
    fn words_that_split(&mut self, options: &[Arg], part: &mut Part) {
        let holds =
            !self.facts.literals.is_empty() || part.text.contains("$(echo") || part.text.contains("$(printf");
        let doubtful = |arg: &Arg| arg.glob || arg.braced || (arg.splits && holds);
        if options.iter().skip(1).any(doubtful) {
            part.confirm(
                ReasonCode::Opaque,
                "an argument that may be several words hides which command runs",
            );
        }
    }

    fn by_table(&mut self, wrapper: &Wrapper, argv: &[Arg], part: &mut Part) {
        let Some(parsed) = self.read(&wrapper.spec, argv, part) else { return };
        for file in parsed.values(&["o", "output", "log-file"]) {
            if !argv[0].text.ends_with("stdbuf") {
                part.plain = false;
                self.changes(file, FileEffect::Overwrite, part);
            }
        }
        if parsed.values(&["o", "output"]).any(|file| file.text.starts_with(['|', '!'])) {
            part.confirm(ReasonCode::Helper, "its output goes to another program");
        }
        let start = (parsed.rest + wrapper.operands).min(argv.len());
        let skipped = &argv[parsed.rest.min(argv.len())..start];
        if skipped.iter().any(|arg| arg.splits || arg.glob || arg.braced) {
            part.confirm(
                ReasonCode::Opaque,
                "an argument that may be several words hides which command runs",
            );
        }
        if argv[0].text.ends_with("chroot") {
            for root in skipped {
                self.reads(root, part);
            }
            if start == argv.len() {
                part.confirm(ReasonCode::Opaque, "it starts a shell");
            }
        }
        let mut start = start;
        if wrapper.names.contains(&"time") {
            start += self.assignments(&argv[start..], part);
        }
        self.inner(&argv[start..], part, wrapper.kind == WrapperKind::Transparent);
    }

    /// To bash, `time` is followed by a command with its assignments. Returns how many there are.
    fn assignments(&mut self, argv: &[Arg], part: &mut Part) -> usize {
        let is_name = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let count = argv.iter().take_while(|arg| arg.text.contains('=') && is_name(&arg.text)).count();
        for arg in &argv[..count] {
            part.plain = false;
            let (name, value) = split_assignment(&arg.text);
            let value = arg.known().map(|_| value.to_owned());
            self.set_variable_to(name, value.as_deref(), part);
        }
        count
    }

    /// The wrapped command, which is the same part of the script.
    pub(crate) fn inner(&mut self, argv: &[Arg], part: &mut Part, transparent: bool) {
        if !argv.is_empty() {
            self.argv(argv, part, transparent);
        }
    }

    /// One program that is many: the name of the one meant comes first.
    fn multi_call(&mut self, argv: &[Arg], part: &mut Part) {
        let mut inner = argv[1..].to_vec();
        if let Some(first) = inner.first_mut()
            && let Some(name) = first.text.strip_prefix("--coreutils-prog=")
        {
            first.text = name.to_owned();
        }
        self.inner(&inner, part, false);
    }

    fn command_builtin(&mut self, argv: &[Arg], part: &mut Part) {
        let spec = Spec { flags: "pvV", ..NO_OPTIONS };
        let Some(parsed) = self.read(&spec, argv, part) else { return };
        if !parsed.has(&["v", "V"]) {
            self.inner(&argv[parsed.rest..], part, true);
        }
    }

    fn exec(&mut self, argv: &[Arg], part: &mut Part) {
        let spec = Spec { flags: "cl", values: "a", ..NO_OPTIONS };
        let Some(parsed) = self.read(&spec, argv, part) else { return };
        self.inner(&argv[parsed.rest..], part, parsed.options.is_empty());
    }

    fn env(&mut self, argv: &[Arg], part: &mut Part) {
        let Some(parsed) = self.read(&ENV, argv, part) else { return };
        let mut at = parsed.rest;
        if argv.get(at).is_some_and(|arg| arg.text == "-") {
            at += 1;
        }
        let mut transparent = parsed.options.is_empty();
        while let Some(arg) = argv.get(at).filter(|arg| arg.text.contains('=')) {
            let (name, value) = arg.text.split_once('=').unwrap_or((&arg.text, ""));
            let known = arg.known().map(|_| value);
            self.set_variable_to(name, known, part);
            transparent = false;
            at += 1;
        }
        let before = self.folders.clone();
        for folder in parsed.values(&["C", "chdir"]) {
            self.change_folder(folder, part);
        }
        match parsed.values(&["S", "split-string"]).next() {
            Some(text) => self.split_string(text, &argv[at..], part),
            None => self.inner(&argv[at..], part, transparent),
        }
        self.folders = before;
    }

    /// `env -S 'a b'`: the text is cut into words much as a shell would cut it.
    fn split_string(&mut self, text: &Arg, rest: &[Arg], part: &mut Part) {
        part.plain = false;
        let Some(known) = text.known() else {
            part.confirm(ReasonCode::Opaque, "which command it runs is not known before it runs");
            return;
        };
        if known.contains(['\\', '$']) {
            part.confirm(ReasonCode::Opaque, "which command it runs is not plain in the text");
        }
        let whole = match joined(rest) {
            Some(rest) => format!("env {known} {rest}"),
            None => format!("env {known} \"$@\""),
        };
        self.apart(&whole);
    }

    fn xargs(&mut self, argv: &[Arg], part: &mut Part) {
        let Some(parsed) = self.read(&XARGS, argv, part) else { return };
        for file in parsed.values(&["a", "arg-file"]) {
            self.reads(file, part);
        }
        let mut inner = argv[parsed.rest..].to_vec();
        if inner.is_empty() {
            return;
        }
        let placeholder = parsed
            .values(&["I"])
            .next()
            .map(|arg| arg.text.clone())
            .or_else(|| parsed.has(&["i", "replace"]).then(|| "{}".to_owned()));
        match placeholder {
            Some(mark) if !mark.is_empty() => fill(&mut inner, &mark),
            _ => inner.push(Arg::unknown()),
        }
        part.ask("its arguments come from what it reads");
        self.fed_unknown(|walker| walker.inner(&inner, part, false));
    }

    pub(crate) fn fed_unknown(&mut self, visit: impl FnOnce(&mut Self)) {
        self.fed(Stdin::Unknown, visit);
    }

    fn watch(&mut self, argv: &[Arg], part: &mut Part) {
        let Some(parsed) = self.read(&WATCH, argv, part) else { return };
        let rest = &argv[parsed.rest..];
        if parsed.has(&["x", "exec"]) {
            self.inner(rest, part, false);
        } else {
            self.shell_words(rest, part);
        }
    }

    /// Words that are joined and given to a shell.
    pub(crate) fn shell_words(&mut self, words: &[Arg], part: &mut Part) {
        part.plain = false;
        if words.is_empty() {
            return;
        }
        match joined(words) {
            Some(text) => self.apart(&text),
            None => {
                part.confirm(
                    ReasonCode::Opaque,
                    "the command it hands to a shell is not known before it runs",
                );
                self.partly_known(words, part);
            }
        }
    }

    fn flock(&mut self, argv: &[Arg], part: &mut Part) {
        let Some(parsed) = self.read(&FLOCK, argv, part) else { return };
        let rest = &argv[parsed.rest..];
        let Some((lock, command)) = rest.split_first() else { return };
        self.changes(lock, FileEffect::Alter, part);
        match command.first().map(|arg| arg.text.as_str()) {
            Some("-c" | "--command") => self.shell_words(&command[1..], part),
            _ => self.inner(command, part, false),
        }
    }

    fn script_wrapper(&mut self, argv: &[Arg], part: &mut Part) {
        let Some(parsed) = self.read(&SCRIPT, argv, part) else { return };
        for file in
            argv[parsed.rest..].iter().take(1).chain(parsed.values(&["O", "B", "T", "log-out", "log-io"]))
        {
            self.changes(file, FileEffect::Overwrite, part);
        }
        match parsed.values(&["c", "command"]).next() {
            Some(text) => self.shell_words(std::slice::from_ref(text), part),
            None => self.stdin_script(part),
        }
    }

    /// Template words and arguments are joined into shell text; without a template the arguments are the commands.
    fn parallel(&mut self, argv: &[Arg], part: &mut Part) {
        let is_source = |arg: &Arg| arg.text.starts_with(":::");
        let end = argv.iter().position(is_source).unwrap_or(argv.len());
        let spec = Spec {
            flags: "0kqtuXm",
            values: "jaIdnNLPs",
            long_flags: &[
                "keep-order",
                "dry-run",
                "bar",
                "progress",
                "will-cite",
                "no-notice",
                "line-buffer",
                "ungroup",
                "verbose",
                "null",
                "quote",
            ],
            long_values: &["jobs", "arg-file", "delay", "retries", "timeout", "halt", "max-args", "colsep"],
            digits: false,
        };
        let Some(parsed) = self.read(&spec, &argv[..end], part) else { return };
        let template = &argv[parsed.rest.min(end)..end];
        part.plain = false;
        if !template.is_empty() {
            part.ask("its arguments come from lists");
            let mut words = template.to_vec();
            if words.iter().any(|word| word.text.contains('{')) && words[0].text.contains('{') {
                part.confirm(ReasonCode::Opaque, "which command it runs is not known before it runs");
            }
            words.retain(|word| !word.text.is_empty());
            self.shell_words(&words, part);
        } else if end == argv.len() || argv[end].text.starts_with("::::") {
            part.confirm(ReasonCode::Opaque, "the commands it runs come from what it reads");
        } else {
            for command in argv[end + 1..].iter().filter(|arg| !is_source(arg)) {
                self.shell_words(std::slice::from_ref(command), part);
            }
        }
    }

    /// `find -execdir`, and whatever else runs in folders we do not follow.
    pub(crate) fn elsewhere(&mut self, argv: &[Arg], part: &mut Part) {
        self.isolated(|walker| {
            walker.folders = Folders::unknown();
            walker.inner(argv, part, false);
        });
    }
}

/// Marks where a placeholder will be replaced.
pub(crate) fn fill(argv: &mut [Arg], mark: &str) {
    for arg in argv.iter_mut().filter(|arg| arg.text.contains(mark)) {
        arg.text = arg.text.replace(mark, "\0");
    }
}
