//! MCP servers through the real binary: a scripted model on one side, a server that behaves as it is told on the other.

mod lifecycle;
pub mod tools;
pub mod trusted;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use zdx_testkit::{ModelServer, Zdx, mcp_fake};

use crate::{SOON, with_model};

/// A server's table in the configuration.
fn server(name: &str, options: &[&str], more: &str) -> String {
    let mut command = format!("{:?}", mcp_fake());
    options.iter().for_each(|option| write!(command, ", {option:?}").unwrap());
    format!("[mcp.{name}]\ncommand = [{command}]\n{more}\n")
}

/// Waited for when nobody knows it yet, however busy the machine is.
pub const PATIENT: &str = "[mcp]\nfirst_wait_ms = 60000\n";

fn with_fake(model: &ModelServer, options: &[&str]) -> Zdx {
    with_model(model).config_more(PATIENT).config_more(&server("fake", options, ""))
}

/// Where the fake server notes what it is sent.
fn log_of(zdx: &Zdx) -> PathBuf {
    zdx.home().join("sent")
}

fn sent(zdx: &Zdx) -> String {
    fs::read_to_string(log_of(zdx)).unwrap_or_default()
}

/// Until it is so.
#[track_caller]
pub fn wait_until(what: &str, so: impl Fn() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < SOON, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes that were started with this word among their arguments.
pub fn processes_with(word: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let says = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let state = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let is_dead = state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
        !is_dead && String::from_utf8_lossy(&line).contains(word)
    };
    entries
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|entry| says(entry).then_some(()))
        .count()
}
