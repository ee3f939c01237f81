//! The small process between zdx and a command: it owns the command's whole family and leaves nobody behind.
//! Runs in a re-executed zdx, before arguments are parsed; no async runtime, no configuration, no output of its own.

use std::path::PathBuf;
use std::process::ExitCode;

/// The hidden first argument. `main` hands over to `run` when it sees it, before anything else.
pub const ARGUMENT: &str = "__supervise";

/// The running executable, also after it was replaced or deleted on disk.
pub fn program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or(running) }
}

/// Everything it needs comes over its standard input, a socket from zdx.
pub fn run() -> ExitCode {
    ExitCode::SUCCESS
}
