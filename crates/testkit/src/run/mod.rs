//! Runs the real binary in a place of its own: temporary home, storage and workspace, and an environment that
//! carries nothing of the machine but a short safe list.

mod ending;
mod process;
mod pty;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::ModelServer;
pub use process::{Output, Running};
pub use pty::Pty;
pub use rustix::process::Signal;

/// What a child may inherit: how to find programs, and what coverage and backtraces need.
const INHERITED: [&str; 5] = ["PATH", "TMPDIR", "RUST_BACKTRACE", "LLVM_PROFILE_FILE", "CARGO_LLVM_COV"];

/// The place: several runs in one place share home, sessions and workspace.
pub struct Zdx {
    binary: PathBuf,
    home: PathBuf,
    storage: PathBuf,
    root: PathBuf,
    env: Vec<(OsString, OsString)>,
    /// Removed with everything in it when the place is dropped.
    _dir: TempDir,
}

impl Zdx {
    /// `binary` is `env!("CARGO_BIN_EXE_zdx")` in tests of the crate that builds it.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let dir = TempDir::with_prefix("zdx-test-").expect("a temporary folder");
        // Canonical, because zdx reports canonical paths and a temporary folder may lie behind a link.
        let base = dir.path().canonicalize().expect("the folder was just made");
        let place = |name: &str| {
            let path = base.join(name);
            fs::create_dir(&path).expect("a new folder");
            path
        };
        let (home, storage, root) = (place("home"), place("storage"), place("root"));
        Self { binary: binary.into(), home, storage, root, env: Vec::new(), _dir: dir }
    }

    /// `HOME`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// `ZDX_HOME`.
    pub fn storage(&self) -> &Path {
        &self.storage
    }

    /// The workspace, and the working directory of every run.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writes `config.toml` in `ZDX_HOME`.
    pub fn config(self, toml: &str) -> Self {
        fs::write(self.storage.join("config.toml"), toml).expect("writing the config");
        self
    }

    /// Configures model `test/scripted` on this server, speaking Chat Completions.
    pub fn chat(self, server: &ModelServer) -> Self {
        self.config(&provider("openai-chat", &server.openai_base()))
    }

    /// Configures model `test/scripted` on this server, speaking Anthropic Messages.
    pub fn anthropic(self, server: &ModelServer) -> Self {
        self.config(&provider("anthropic", &server.url()))
    }

    /// Adds to `config.toml`: tables behind what is there, top-level keys before it.
    pub fn config_more(self, toml: &str) -> Self {
        let path = self.storage.join("config.toml");
        let before = fs::read_to_string(&path).unwrap_or_default();
        let text = if toml.trim_start().starts_with('[') {
            format!("{before}\n{toml}\n")
        } else {
            format!("{toml}\n{before}")
        };
        self.config(&text)
    }

    /// Set for every run in this place.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Writes a file of the workspace, and the folders it lies in.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("making folders");
        fs::write(path, content).expect("writing a file of the workspace");
    }

    /// Reads a text file of the workspace.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.root.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Session files, oldest change first.
    pub fn session_files(&self) -> Vec<PathBuf> {
        session_files(&self.storage)
    }

    /// The records of the session file changed last.
    pub fn records(&self) -> Vec<Value> {
        self.session_files().last().map(|path| read_records(path)).unwrap_or_default()
    }

    pub fn command(&self) -> Run<'_> {
        Run {
            place: self,
            args: Vec::new(),
            env: Vec::new(),
            stdin: Stdin::Null,
            timeout: Duration::from_secs(180),
        }
    }

    /// Runs to the end with these arguments and no input.
    #[track_caller]
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.command().args(args).run()
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let inherited =
            INHERITED.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        let own = [
            ("HOME", self.home.as_os_str()),
            ("ZDX_HOME", self.storage.as_os_str()),
            ("LC_ALL", OsStr::new("C.UTF-8")),
            ("TERM", OsStr::new("dumb")),
        ];
        let own = own.into_iter().map(|(name, value)| (OsString::from(name), value.to_owned()));
        inherited.chain(own).chain(self.env.iter().cloned()).collect()
    }
}

/// What the child reads.
pub(crate) enum Stdin {
    Null,
    Bytes(Vec<u8>),
    /// A pipe that stays open and silent until the test writes or closes it.
    Open,
}

/// One run of the binary.
pub struct Run<'a> {
    place: &'a Zdx,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Stdin,
    timeout: Duration,
}

impl Run<'_> {
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// A pipe with these bytes, closed behind them. Without it stdin is `/dev/null`.
    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.stdin = Stdin::Bytes(bytes.as_ref().to_vec());
        self
    }

    /// A pipe that stays open; see [`Running::write`].
    pub fn stdin_open(mut self) -> Self {
        self.stdin = Stdin::Open;
        self
    }

    /// How long [`Self::run`] may take (three minutes unless set); a run that takes longer fails the test.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs to the end.
    #[track_caller]
    pub fn run(self) -> Output {
        let timeout = self.timeout;
        self.spawn().finish(timeout)
    }

    pub fn spawn(self) -> Running {
        let mut command = if hangups_are_ignored() {
            // Whoever runs the tests under nohup passes that on; the tests are about a terminal that goes away.
            let mut command = std::process::Command::new("/usr/bin/env");
            command.arg("--default-signal=HUP").arg(&self.place.binary);
            command
        } else {
            std::process::Command::new(&self.place.binary)
        };
        command.args(&self.args).current_dir(&self.place.root).env_clear();
        command.envs(self.place.environment()).envs(self.env);
        Running::start(command, self.stdin, self.place.storage.clone())
    }

    /// Runs on a terminal of this size.
    pub fn pty(self, rows: u16, cols: u16) -> Pty {
        let command = portable_pty::CommandBuilder::new(&self.place.binary);
        self.on_terminal(command, rows, cols)
    }

    /// A shell with job control on a terminal of this size, in which `$ZDX` is the binary.
    pub fn shell(self, rows: u16, cols: u16) -> Pty {
        let binary = self.place.binary.clone();
        let mut command = portable_pty::CommandBuilder::new("bash");
        command.args(["--norc", "--noprofile", "-i"]);
        self.env("ZDX", binary).env("PS1", "shell$ ").on_terminal(command, rows, cols)
    }

    fn on_terminal(self, mut command: portable_pty::CommandBuilder, rows: u16, cols: u16) -> Pty {
        command.args(&self.args);
        command.cwd(&self.place.root);
        command.env_clear();
        let terminal = [(OsString::from("TERM"), OsString::from("xterm-256color"))];
        for (name, value) in self.place.environment().into_iter().chain(terminal).chain(self.env) {
            command.env(name, value);
        }
        Pty::start(command, rows, cols)
    }

    /// The same, line by line: `--plain`.
    pub fn line_mode(self, rows: u16, cols: u16) -> Pty {
        self.arg("--plain").pty(rows, cols)
    }
}

/// SIGHUP is signal 1, the lowest bit.
fn hangups_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

/// Little patience: a test of a failure that stays is not to wait for minutes.
fn provider(wire: &str, base_url: &str) -> String {
    format!(
        "model = \"test/scripted\"\nretries = 2\n\n[providers.test]\nwire = \"{wire}\"\nbase_url = \"{base_url}\"\n"
    )
}

pub(crate) fn session_files(storage: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(storage.join("sessions")).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| (path.metadata().and_then(|data| data.modified()).ok(), path))
        .collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}

/// A line that is no JSON comes back as a string, so that a test sees it instead of missing it.
pub(crate) fn read_records(path: &Path) -> Vec<Value> {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::from(line))).collect()
}
