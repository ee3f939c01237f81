//! The agent's process: started under the supervisor with the whole environment, stopped with all it started, and what it
//! said last on stderr. Knows nothing of the protocol.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use zdx_acp::{AgentLiveness, Inbox, Peer, Tap, connect};
use zdx_protocol::redact::Redactor;

use super::AgentCommand;
use zdx_config::Environment;
use zdx_mcp::StderrTail;
use zdx_tools::{ChildProcess, ChildSpec, Shell};

/// What it gets to end by itself once its stdin is closed.
const GRACE: Duration = Duration::from_millis(500);
/// Streams close a moment before the process is gone, and last words may be on their way.
const A_MOMENT: Duration = Duration::from_millis(300);

/// Where and with what agents are started.
#[derive(Clone)]
pub struct Launch {
    pub env: Environment,
    pub root: PathBuf,
    /// This program, re-executed around it.
    pub supervisor: PathBuf,
    pub redactor: Arc<Redactor>,
}

pub struct AgentProcess {
    process: ChildProcess,
    words: Arc<StderrTail>,
    stderr: JoinHandle<()>,
    /// When it was seen to have ended.
    ended: Option<Instant>,
}

impl AgentProcess {
    /// Or why it does not start.
    pub async fn start(
        command: &AgentCommand,
        launch: &Launch,
        tap: Option<Tap>,
    ) -> Result<(Self, Peer, Inbox), String> {
        if let Some(pinned) = &command.pinned
            && let Some(why) = pinned.refusal().await
        {
            return Err(format!("the agent {} is not started: {why}", command.name));
        }
        let Launch { env, root, supervisor, redactor } = launch;
        let vars = env.vars().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let shell = Shell::trusting(supervisor.clone(), vars, Arc::clone(redactor));
        let spec = ChildSpec {
            program: program(&command.program, env.home().as_deref()),
            args: command.args.iter().map(OsString::from).collect(),
            cwd: root.clone(),
            env: command.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        };
        let child = shell
            .spawn(spec)
            .await
            .map_err(|error| format!("the agent {} does not start: {}", command.name, error.not_started()))?;
        let words = Arc::<StderrTail>::default();
        let stderr = tokio::spawn(Arc::clone(&words).listen(child.stderr, Arc::clone(redactor)));
        let (peer, inbox) = connect(child.stdout, child.stdin, tap);
        Ok((Self { process: child.process, words, stderr, ended: None }, peer, inbox))
    }

    /// Whether it is known to have ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.ended.is_some() || self.process.wait().now_or_never().is_some()
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

impl AgentLiveness for AgentProcess {
    async fn ended(&mut self) {
        let ended = match self.ended {
            Some(ended) => ended,
            None => {
                self.process.wait().await;
                *self.ended.insert(Instant::now())
            }
        };
        tokio::time::sleep_until(ended + A_MOMENT).await;
    }

    fn still_heard(&mut self) {
        self.ended = self.ended.map(|_| Instant::now());
    }
}

fn program(written: &str, home: Option<&Path>) -> OsString {
    match (written.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below).into(),
        (Some(_), None) | (None, _) => written.into(),
    }
}
