//! A shell to run commands in.

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use zdx_engine::process::{CommandOutput, End, RunOptions, Shell, ShellSettings};

/// Two seconds are promised. An unoptimised build on a busy machine reads a flood slowly and gets more.
const STOPPED: Duration = Duration::from_secs(if cfg!(debug_assertions) { 4 } else { 2 });

pub const ATTEMPTS: usize = 5;

pub const LIMITS: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_secs(2), Duration::from_secs(20)];

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
            timeout: Some(Duration::from_secs(600)),
            cancel: CancellationToken::new(),
            progress: None,
        }
    }

    pub async fn run(&self, command: &str) -> CommandOutput {
        self.shell.run(command, self.options()).await.unwrap()
    }

    /// Stopped in the time that is promised; a machine that stands still may try again.
    pub async fn run_for(&self, command: &str, timeout: Duration) -> CommandOutput {
        let mut took = Duration::ZERO;
        for _ in 0..ATTEMPTS {
            let options = RunOptions { timeout: Some(timeout), ..self.options() };
            let started = Instant::now();
            let output = self.shell.run(command, options).await.unwrap();
            took = started.elapsed().saturating_sub(timeout);
            if took < STOPPED {
                return output;
            }
        }
        panic!("stopping took {took:?}: {command}");
    }

    /// Stopped as soon as it did this before its time was up: after a moment, or as long as a busy machine needs for it.
    pub async fn run_until(&self, command: &str, done: impl Fn(&CommandOutput) -> bool) -> CommandOutput {
        for limit in LIMITS {
            let output = self.run_for(command, limit).await;
            assert_eq!(output.end, End::TimedOut(limit), "{output:?}");
            if done(&output) {
                return output;
            }
        }
        panic!("not in {LIMITS:?}: {command}");
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
