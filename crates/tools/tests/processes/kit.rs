//! A shell to run commands in.

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use zdx_tools::{CommandEnd, CommandOutput, RunOptions, Shell, ShellSettings};

use crate::wait::until_made;

/// Far less than the commands of these tests would go on for. That stopping takes two seconds at most is measured with
/// `ZDX_STRESS`, on a machine that does nothing else.
pub const PROMPTLY: Duration = Duration::from_secs(40);

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

    pub async fn run_for(&self, command: &str, timeout: Duration) -> CommandOutput {
        let options = RunOptions { timeout: Some(timeout), ..self.options() };
        let started = Instant::now();
        let output = self.shell.run(command, options).await.unwrap();
        assert!(started.elapsed().saturating_sub(timeout) < PROMPTLY, "{command}");
        output
    }

    /// Cancels the command as soon as it has made the file `ready`.
    pub async fn run_until_ready(&self, command: &str) -> CommandOutput {
        let cancel = CancellationToken::new();
        let options = RunOptions { cancel: cancel.clone(), ..self.options() };
        let stop = async {
            until_made(self.dir.path(), &["ready"]).await;
            cancel.cancel();
        };
        let (output, ()) = tokio::join!(self.shell.run(command, options), stop);
        let output = output.unwrap();
        assert_eq!(output.end, CommandEnd::Cancelled, "{output:?}");
        output
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// `stdout`, or what went wrong.
pub fn stdout(output: &CommandOutput) -> &str {
    assert_eq!(output.end, CommandEnd::Exited(0), "{output:?}");
    &output.stdout.text
}

pub fn trial<F: Future<Output = ()> + 'static>(name: &'static str, body: fn() -> F) -> Trial {
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Failed::from)?.block_on(body());
        Ok(())
    })
}
