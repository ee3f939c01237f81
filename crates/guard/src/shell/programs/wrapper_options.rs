//! The options of wrappers that need more than the common table.

use crate::shell::programs::options::Spec;

pub(crate) const ENV: Spec = Spec {
    flags: "i0v",
    values: "uCSa",
    long_flags: &[
        "ignore-environment",
        "null",
        "debug",
        "block-signal",
        "default-signal",
        "ignore-signal",
        "list-signal-handling",
    ],
    long_values: &["unset", "chdir", "split-string", "argv0"],
    digits: false,
};

pub(crate) const XARGS: Spec = Spec {
    flags: "0optrxile",
    values: "adEILnPs",
    long_flags: &[
        "null",
        "no-run-if-empty",
        "verbose",
        "interactive",
        "exit",
        "open-tty",
        "replace",
        "max-lines",
        "eof",
        "show-limits",
    ],
    long_values: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"],
    digits: false,
};

pub(crate) const WATCH: Spec = Spec {
    flags: "bcCdegptwxr",
    values: "nqs",
    long_flags: &[
        "beep",
        "color",
        "no-color",
        "differences",
        "errexit",
        "chgexit",
        "precise",
        "no-title",
        "no-wrap",
        "exec",
        "no-rerun",
    ],
    long_values: &["interval", "equexit"],
    digits: false,
};

pub(crate) const FLOCK: Spec = Spec {
    flags: "sxeunoFv",
    values: "wE",
    long_flags: &["shared", "exclusive", "unlock", "nonblock", "nb", "close", "no-fork", "verbose"],
    long_values: &["wait", "timeout", "conflict-exit-code"],
    digits: false,
};

pub(crate) const SCRIPT: Spec = Spec {
    flags: "aefqr",
    values: "cEIOBTmo",
    long_flags: &["append", "return", "flush", "quiet", "force"],
    long_values: &[
        "command",
        "echo",
        "log-in",
        "log-out",
        "log-io",
        "log-timing",
        "logging-format",
        "output-limit",
    ],
    digits: false,
};
