//! `terminal/*`: programs really run, without a shell between, under the supervisor and behind the guard's floors.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use zdx_acp::{HostEvent, RpcError, code};
use zdx_engine::agents::command_line;
use zdx_engine::process::{ChildSpec, Shell, ShellError};

use super::Events;
use super::judged::Judged;
use super::params::Params;
use super::terminal::Terminal;

/// What is kept of a terminal's output if the agent does not say, and whatever it says.
const USUAL: u64 = 1 << 20;
const MOST: u64 = 8 << 20;
/// Terminals that were not released.
const AT_ONCE: usize = 64;

pub(super) struct Terminals {
    judged: Arc<Judged>,
    shell: Shell,
    events: Events,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    made: u64,
    /// Those that are just being made count, too.
    starting: usize,
    closed: bool,
    terminals: HashMap<String, Arc<Terminal>>,
}

/// What is to run.
struct Wanted {
    argv: Vec<String>,
    env: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    limit: usize,
    /// The same as a command line, for the guard; the variables are part of it.
    line: String,
    /// For who reads along.
    shown: String,
}

impl Terminals {
    pub(super) fn new(judged: Arc<Judged>, shell: Shell, events: Events) -> Self {
        Self { judged, shell, events, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn create(&self, params: &Params) -> Result<Value, RpcError> {
        let wanted = self.wanted(params)?;
        self.judged.command(&wanted.line, wanted.cwd.clone()).map_err(|why| {
            self.events.refused(format!("execute {}: {why}", wanted.shown));
            RpcError::new(code::INVALID_REQUEST, format!("not allowed: {why}"))
        })?;
        if !self.judged.workspace.is_in_place() {
            return Err(not_started(&ShellError::Moved(self.judged.root().to_owned())));
        }
        let _starting = self.begin()?;
        let mut argv = wanted.argv.into_iter().map(OsString::from);
        let program = argv.next().unwrap_or_default();
        let spec = ChildSpec { program, args: argv.collect(), cwd: wanted.cwd, env: wanted.env };
        let child = self.shell.spawn(spec).await.map_err(|error| not_started(&error))?;
        let id = {
            let mut open = self.open();
            if open.closed {
                // Dropped, it is gone with all that it started.
                return Err(RpcError::new(code::INTERNAL, "the client is ending"));
            }
            open.made += 1;
            let id = format!("term-{}", open.made);
            self.events.tell(HostEvent::TerminalCreated { id: id.clone(), command: wanted.shown });
            let terminal = Terminal::attend(id.clone(), child, wanted.limit, self.events.clone());
            open.terminals.insert(id.clone(), Arc::new(terminal));
            id
        };
        Ok(json!({"terminalId": id}))
    }

    fn wanted(&self, params: &Params) -> Result<Wanted, RpcError> {
        let command = params.text("command")?;
        if command.trim().is_empty() {
            return Err(RpcError::invalid_params("`command` is empty"));
        }
        let cwd = self.judged.folder(params.text_if_any("cwd")?).map_err(RpcError::invalid_params)?;
        let args: Option<Vec<String>> =
            params.list("args")?.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        let args = args.ok_or_else(|| RpcError::invalid_params("`args` must be texts"))?;
        let env = variables(params.list("env")?)?;
        let mut argv = vec![command.to_owned()];
        argv.extend(args);
        let shown = command_line(&argv);
        if argv.len() == 1 && is_line(command) && !cwd.join(command).exists() {
            argv = vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()];
        }
        let mut line = argv.clone();
        if !env.is_empty() {
            let set = env.iter().map(|(name, value)| format!("{name}={value}"));
            line = ["env".to_owned()].into_iter().chain(set).chain(line).collect();
        }
        let limit = params.count_if_any("outputByteLimit")?.unwrap_or(USUAL).min(MOST);
        Ok(Wanted {
            line: command_line(&line),
            shown: if argv.len() == 3 && argv[2] == command { command.to_owned() } else { shown },
            argv,
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        })
    }

    fn begin(&self) -> Result<Starting<'_>, RpcError> {
        let mut open = self.open();
        if open.terminals.len() + open.starting >= AT_ONCE {
            let words = format!("{AT_ONCE} terminals are open: release some first");
            return Err(RpcError::new(code::INVALID_REQUEST, words));
        }
        open.starting += 1;
        Ok(Starting(self))
    }

    fn find(&self, params: &Params) -> Result<(String, Arc<Terminal>), RpcError> {
        let id = params.text("terminalId")?;
        let found = self.open().terminals.get(id).cloned();
        found.map(|terminal| (id.to_owned(), terminal)).ok_or_else(|| unknown(id))
    }

    pub(super) fn output(&self, params: &Params) -> Result<Value, RpcError> {
        Ok(self.find(params)?.1.output())
    }

    pub(super) async fn wait(&self, params: &Params) -> Result<Value, RpcError> {
        // Not holding it: a release ends the wait.
        let (id, ended) = self.find(params).map(|(id, terminal)| (id, terminal.ended()))?;
        ended.await.map(|exit| exit.to_value()).ok_or_else(|| unknown(&id))
    }

    pub(super) async fn kill(&self, params: &Params) -> Result<Value, RpcError> {
        self.find(params)?.1.kill().await;
        Ok(json!({}))
    }

    pub(super) async fn release(&self, params: &Params) -> Result<Value, RpcError> {
        let id = params.text("terminalId")?;
        let terminal = self.open().terminals.remove(id).ok_or_else(|| unknown(id))?;
        terminal.release().await;
        self.events.tell(HostEvent::TerminalReleased { id: id.to_owned() });
        Ok(json!({}))
    }

    pub(super) async fn close(&self) {
        let all = {
            let mut open = self.open();
            open.closed = true;
            std::mem::take(&mut open.terminals)
        };
        let all: Vec<_> =
            all.into_values().map(|terminal| tokio::spawn(async move { terminal.release().await })).collect();
        for releasing in all {
            let _ = releasing.await;
        }
    }
}

struct Starting<'a>(&'a Terminals);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.open().starting -= 1;
    }
}

fn unknown(id: &str) -> RpcError {
    RpcError::new(code::NOT_FOUND, format!("Resource not found: terminal {id}")).with(json!({"uri": id}))
}

fn not_started(error: &ShellError) -> RpcError {
    let code = match error {
        ShellError::TooLong(_) | ShellError::Nul => code::INVALID_PARAMS,
        ShellError::Moved(_) | ShellError::NoFolder(_) | ShellError::Start { .. } | ShellError::Lost => {
            code::INTERNAL
        }
    };
    RpcError::new(code, error.to_string())
}

/// Names that a shell could set: the guard is shown them as arguments of `env`, where others are options.
fn variables(given: &[Value]) -> Result<Vec<(String, String)>, RpcError> {
    let one = |variable: &Value| {
        let (name, value) = (variable["name"].as_str()?, variable["value"].as_str()?);
        let named = !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        named.then(|| (name.to_owned(), value.to_owned()))
    };
    let all: Option<Vec<_>> = given.iter().map(one).collect();
    all.ok_or_else(|| {
        RpcError::invalid_params(
            "`env` must hold names of letters, digits and underscores, and values that are texts",
        )
    })
}

/// Some agents give a whole command line where the protocol has a program.
fn is_line(command: &str) -> bool {
    command.contains(|c: char| c.is_whitespace() || "|&;<>()$`\"'*?".contains(c))
}
