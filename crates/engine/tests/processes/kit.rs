//! A shell to run commands in, and eyes for what they leave behind.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use zdx_engine::tools::{CommandOutput, End, RunOptions, Shell, ShellSettings};

/// Two seconds are promised. An unoptimised build on a busy machine reads a flood slowly and gets more.
const STOPPED: Duration = Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 });

pub struct Bench {
    pub dir: TempDir,
    pub shell: Shell,
}

impl Bench {
    /// Commands run under this very binary.
    pub fn new() -> Self {
        Self::under(std::env::current_exe().unwrap())
    }

    pub fn under(supervisor: PathBuf) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shell = Shell::new(ShellSettings {
            supervisor,
            env: std::env::vars_os().collect(),
            env_pass: Vec::new(),
            spill_dir: Some(dir.path().join("spill")),
            redactor: std::sync::Arc::new(zdx_protocol::redact::Redactor::new::<&str>([]).unwrap()),
        });
        Self { dir, shell }
    }

    pub fn options(&self) -> RunOptions {
        RunOptions {
            id: "call_1".to_owned(),
            cwd: self.dir.path().to_owned(),
            timeout: Some(Duration::from_secs(60)),
            cancel: CancellationToken::new(),
            progress: None,
        }
    }

    pub async fn run(&self, command: &str) -> CommandOutput {
        self.shell.run(command, self.options()).await.unwrap()
    }

    pub async fn run_for(&self, command: &str, timeout: Duration) -> CommandOutput {
        let options = RunOptions { timeout: Some(timeout), ..self.options() };
        let started = Instant::now();
        let output = self.shell.run(command, options).await.unwrap();
        let took = started.elapsed().saturating_sub(timeout);
        assert!(took < STOPPED, "stopping took {took:?}: {command}");
        output
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// `stdout`, or what went wrong.
pub fn stdout(output: &CommandOutput) -> &str {
    assert_eq!(output.end, End::Exited(0), "{output:?}");
    &output.stdout.text
}

pub fn trial<F: Future<Output = ()> + 'static>(name: &'static str, body: fn() -> F) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Failed::from)?.block_on(body());
        Ok(())
    })
}

/// Waits for something to become true; the only clock is the deadline.
pub async fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_true() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Living processes that work in this folder: what a command leaves behind is there, whatever it calls itself.
pub fn living_in(dir: &Path) -> Vec<String> {
    let dir = dir.canonicalize().unwrap();
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        if std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&dir)) {
            let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            let name = process.file_name().to_string_lossy().into_owned();
            found.push(format!("{name}: {}", String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    found
}
