//! The agent's process: started under the supervisor with the whole environment, stopped with all it started, and what it
//! said last on stderr. Knows nothing of the protocol.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use zdx_acp::{Inbox, Peer, Tap, connect};
use zdx_engine::agents::AgentCommand;
use zdx_engine::process::{ChildProcess, ChildSpec, LastWords, Shell, supervisor};
use zdx_protocol::redact::Redactor;

use crate::exit::Failure;
use crate::settings::Settings;

/// What it gets to end by itself once its stdin is closed.
const GRACE: Duration = Duration::from_millis(500);
/// Streams close a moment before the process is gone, and last words may be on their way.
const A_MOMENT: Duration = Duration::from_millis(300);

pub struct Agent {
    process: ChildProcess,
    words: Arc<LastWords>,
    stderr: JoinHandle<()>,
    /// When it was seen to have ended.
    ended: Option<Instant>,
}

impl Agent {
    pub async fn start(
        command: &AgentCommand,
        settings: &Settings,
        redactor: Arc<Redactor>,
        tap: Option<Tap>,
    ) -> Result<(Self, Peer, Inbox), Failure> {
        let env = settings.env.vars().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let shell = Shell::trusting(supervisor::program(), env, Arc::clone(&redactor));
        let spec = ChildSpec {
            program: program(&command.program, settings.home()),
            args: command.args.iter().map(OsString::from).collect(),
            cwd: settings.root.clone(),
            env: command.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        };
        let child = shell.spawn(spec).await.map_err(|error| {
            Failure::runtime(format!("the agent {} does not start: {}", command.name, error.not_started()))
        })?;
        let words = Arc::<LastWords>::default();
        let stderr = tokio::spawn(Arc::clone(&words).listen(child.stderr, redactor));
        let (peer, inbox) = connect(child.stdout, child.stdin, tap);
        Ok((Self { process: child.process, words, stderr, ended: None }, peer, inbox))
    }

    /// Until it has ended, and what it said last must have arrived. What it left running may hold its streams for ever.
    pub async fn over(&mut self) {
        let ended = match self.ended {
            Some(ended) => ended,
            None => {
                self.process.wait().await;
                *self.ended.insert(Instant::now())
            }
        };
        tokio::time::sleep_until(ended + A_MOMENT).await;
    }

    /// What it said is still being taken in: it is not over yet.
    pub fn still_heard(&mut self) {
        self.ended = self.ended.map(|_| Instant::now());
    }

    /// What became of one that answers no more.
    pub async fn fate(&mut self) -> String {
        let end = tokio::time::timeout(A_MOMENT, self.process.wait()).await;
        if !self.stderr.is_finished() {
            let _ = tokio::time::timeout(A_MOMENT, &mut self.stderr).await;
        }
        let why = match end {
            Ok(end) => format!("it ended ({end})"),
            Err(_) => "it closed its stdout".to_owned(),
        };
        self.words.behind(why)
    }

    /// What it said last, for one that lives but does not answer.
    pub fn excuse(&self, why: String) -> String {
        self.words.behind(why)
    }

    /// Its stdin is closed by now; it ends, or is made to.
    pub async fn stop(self) {
        self.process.stop(GRACE).await;
    }
}

fn program(written: &str, home: Option<&Path>) -> OsString {
    match (written.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below).into(),
        (Some(_), None) | (None, _) => written.into(),
    }
}
