//! Programs that stay (MCP servers, ACP agents, language servers): started like commands, under a supervisor, but talked
//! to over their three streams. What they say comes raw, as protocols need it: who shows it to anybody masks it first.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncRead, copy, sink};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::supervised::SupervisedFamily;
use super::{CommandEnd, Shell, ShellError};

pub struct ChildSpec {
    /// Run as it is, no shell between. Without a slash it is looked for in the `PATH` that the child gets.
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// Set beyond what commands get, and instead of it. Not judged: who asks for a child answers for these.
    pub env: Vec<(OsString, OsString)>,
}

/// A running program with its streams. Take it apart to give them to several tasks; whoever holds `process` then is the
/// one to stop it.
pub struct RunningProgram {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
    pub process: ChildProcess,
}

impl RunningProgram {
    /// See `ChildProcess::wait`.
    pub async fn wait(&mut self) -> CommandEnd {
        self.process.wait().await
    }

    /// Closes its standard input and then does as `ChildProcess::stop`. What it still says is read and dropped, so that
    /// no full pipe keeps it from ending.
    pub async fn stop(self, grace: Duration) -> CommandEnd {
        let Self { stdin, stdout, stderr, process } = self;
        drop(stdin);
        tokio::select! {
            end = process.stop(grace) => end,
            never = async { tokio::join!(discard(stdout), discard(stderr)); std::future::pending().await } => never,
        }
    }
}

async fn discard(mut stream: impl AsyncRead + Unpin) {
    let _ = copy(&mut stream, &mut sink()).await;
}

/// A program and everything it started, all of which goes when this is dropped.
pub struct ChildProcess {
    pid: u32,
    end: watch::Receiver<Option<CommandEnd>>,
    stop: DropGuard,
    /// Holds the supervisor, so that a child is cared for also while nobody waits for it.
    task: JoinHandle<()>,
}

impl ChildProcess {
    /// Returns when the program runs; given up before that, the start is undone.
    async fn start(supervised: SupervisedFamily, arguments: Vec<OsString>) -> Result<Self, ShellError> {
        let (begun, begins) = oneshot::channel();
        let (ended, end) = watch::channel(None);
        let stop = CancellationToken::new();
        let pid = supervised.pid();
        let task = tokio::spawn(attend(supervised, arguments, begun, ended, stop.clone()));
        let process = Self { pid, end, stop: stop.drop_guard(), task };
        begins.await.unwrap_or(Err(ShellError::Lost)).map(|()| process)
    }

    /// Of its supervisor, which is also its session.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns at the end of the program itself, as often as asked. What it left running stays until `stop` or the drop.
    /// A wait that is given up halfway loses nothing.
    pub async fn wait(&mut self) -> CommandEnd {
        match self.end.wait_for(Option::is_some).await {
            Ok(end) => end.unwrap_or(KILLED),
            // The task went with its runtime, and the family with it.
            Err(_) => KILLED,
        }
    }

    /// Gives the program `grace` to end by itself, which most do when their standard input closes: close it first. Then
    /// the whole family is asked to end, and half a second later made to.
    pub async fn stop(mut self, grace: Duration) -> CommandEnd {
        let _ = tokio::time::timeout(grace, self.wait()).await;
        drop(self.stop);
        let _ = self.task.await;
        (*self.end.borrow()).unwrap_or(KILLED)
    }
}

/// What is told of a program whose own end nobody saw: when its supervisor was lost, zdx kills what it finds.
const KILLED: CommandEnd = CommandEnd::Signalled(9);

async fn attend(
    mut supervised: SupervisedFamily,
    arguments: Vec<OsString>,
    begun: oneshot::Sender<Result<(), ShellError>>,
    ended: watch::Sender<Option<CommandEnd>>,
    stop: CancellationToken,
) {
    let begins = tokio::select! {
        begins = supervised.begin(&arguments) => begins,
        () = stop.cancelled() => Err(ShellError::Lost),
    };
    if begins.is_err() {
        supervised.stop().await;
        let _ = begun.send(begins);
        return;
    }
    let _ = begun.send(begins);
    let heard = tokio::select! {
        heard = supervised.ended() => heard.ok(),
        () = stop.cancelled() => None,
    };
    if let Some((end, _)) = heard {
        ended.send_replace(Some(end));
        supervised.stay(stop).await;
        return;
    }
    supervised.stop().await;
    // All that was said has been heard by now.
    let end = supervised.told().map_or(KILLED, |(end, _)| end);
    ended.send_replace(Some(end));
}

fn pipe() -> io::Result<(OwnedFd, ChildStdin)> {
    let (theirs, ours) = io::pipe()?;
    let stdin = std::process::ChildStdin::from(OwnedFd::from(ours));
    Ok((theirs.into(), ChildStdin::from_std(stdin)?))
}

impl Shell {
    /// Starts a program that stays, and returns once it runs. It ends when stopped or dropped, and with zdx however that
    /// ends.
    pub async fn spawn(&self, spec: ChildSpec) -> Result<RunningProgram, ShellError> {
        let ChildSpec { program, args, cwd, env: own } = spec;
        let mut arguments = vec![program];
        arguments.extend(args);
        let variables = own.iter().flat_map(|(name, value)| [name, value]);
        if arguments.iter().chain(variables).any(|text| text.as_bytes().contains(&0)) {
            return Err(ShellError::Nul);
        }
        let mut env = self.env.clone();
        env.retain(|(name, _)| own.iter().all(|(set, _)| set != name));
        env.extend(own);

        let (theirs, stdin) = pipe().map_err(|source| self.not_started(source))?;
        let (supervised, stdout, stderr) = self.supervise(&env, &cwd, theirs)?;
        let process = ChildProcess::start(supervised, arguments).await?;
        Ok(RunningProgram { stdin, stdout, stderr, process })
    }
}
