//! `zdx acp`: drives another agent over the Agent Client Protocol, once, for a script. Arguments in, one run, an exit code out.
//! Has no session of zdx's and no model; what the agent may do here is the host's to say.

mod checked;
mod conform;
mod host;
mod lists;
mod mentions;
mod proxy;
mod render;
mod replay;
mod screen;
mod session;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use zdx_acp::shapes::{Call, StopReason};
use zdx_acp::{AcpClient, AcpError, PromptBlock};
use zdx_engine::agents::{
    AgentCommand, AgentProcess, AgentRegistry, SelectedAgent, explain, refusal, short, stopped,
};
use zdx_engine::links;
use zdx_protocol::path_text;
use zdx_protocol::redact::Redactor;
use zdx_workspace::Workspace;

use self::host::{ClientHost, HostEvent, Reach};
use self::render::Stage;
use self::screen::{AcpScreen, ScreenStop};
use self::session::{AcpRun, Plan, RunFailure};
use crate::args::AcpArgs;
use crate::commands::warn;
use crate::exit::{Ending, Failure};
use crate::pump::unless_signalled;
use crate::settings::Settings;
use crate::signals::{Caught, Signals};
use crate::start::{self, Ground};
use crate::stdin::{self, Asked, Gathered};

const NO_PROMPT: &str =
    "there is no prompt; give one with `zdx acp \"…\"`, or pipe it in: `echo \"…\" | zdx acp`";

const THE_AGENT: &str = "the agent";

/// Time that requests of the agent, and then its terminals, get to end.
const CLOSING: Duration = Duration::from_secs(2);

/// Whoever types it would wait for words that only a program says.
const FOR_PROGRAMS: &str = "this speaks ACP on stdin and stdout, for a program to run it: an editor, or zdx with `[acp.agents.NAME] \
                            command = [\"zdx\", \"acp\", \"--replay\", \"FILE\"]`; Ctrl-C leaves";

pub async fn run(args: &AcpArgs, settings: &Settings) -> Result<Ending, Failure> {
    if settings.terminal.stdin && (args.proxy.is_some() || args.replay.is_some()) {
        warn(settings, &[FOR_PROGRAMS.to_owned()]);
    }
    if let Some(file) = &args.proxy {
        return proxy::run(file, &args.words, settings).await;
    }
    if let Some(file) = &args.replay {
        return replay::run(file).await;
    }
    let mut signals = Signals::listen().map_err(Failure::runtime)?;
    let mut stage = Stage::new(args.output, settings.terminal)?;
    let ready = match unless_signalled(&mut signals, prepare(args, settings, &mut stage)).await {
        Ok(Ok(ready)) => ready,
        Ok(Err(failure)) => {
            // What there was to warn of may say more about it.
            screen::settle(&mut stage, &mut signals, None).await;
            return Err(failure);
        }
        Err(caught) => return Ok(Ending::Signalled(caught)),
    };
    if args.conform {
        screen::settle(&mut stage, &mut signals, None).await;
        return checked::run(args, settings, &ready.agent.command, ready.ground, &mut signals).await;
    }
    drive(args, settings, ready, stage, signals).await
}

/// Everything that can be wrong before an agent is started.
struct Ready {
    prompt: Option<Vec<PromptBlock>>,
    agent: SelectedAgent,
    ground: Ground,
}

async fn prepare(args: &AcpArgs, settings: &Settings, stage: &mut Stage) -> Result<Ready, Failure> {
    if settings.root.to_str().is_none() {
        let root = path_text::shown(&settings.root);
        return Err(Failure::usage(format!("an ACP agent cannot work in {root}: its name is not UTF-8")));
    }
    let prompt = prompt(args, settings, stage).await?;
    let registry = match &args.settings {
        Some(file) => AgentRegistry::from_file(file).map_err(Failure::Usage)?,
        None => start::agent_registry(settings).map_err(as_usage)?,
    };
    let agent = registry.select(args.agent.as_deref()).map_err(Failure::Usage)?;
    let ground = start::ground(settings).map_err(as_usage)?;
    stage.hide(Arc::clone(&ground.redactor));
    agent.warnings.iter().chain(&ground.notices).for_each(|warning| stage.notice(warning));
    Ok(Ready { prompt, agent, ground })
}

/// Bad settings are bad usage, whichever file they stand in.
fn as_usage(failure: Failure) -> Failure {
    match failure.message() {
        Some(message) => Failure::Usage(message),
        None => failure,
    }
}

async fn drive(
    args: &AcpArgs,
    settings: &Settings,
    ready: Ready,
    mut stage: Stage,
    mut signals: Signals,
) -> Result<Ending, Failure> {
    let Ready { prompt, agent: chosen, ground } = ready;
    let plan = Plan { args, agent: &chosen.command, servers: &chosen.servers, root: &settings.root, prompt };
    let (tap, frames) = stage.mirrors().then(screen::tap).unzip();
    if frames.is_some() {
        stage.frame(selected(&plan).to_string().as_bytes());
    }
    let redactor = Arc::clone(&ground.redactor);
    let (host, events) = host(args, settings, ground)?;
    let launch = start::launch(settings, Arc::clone(&redactor));
    let start = AgentProcess::start(plan.agent, &launch, tap);
    let started = match unless_signalled(&mut signals, start).await {
        Ok(Ok(started)) => started,
        Ok(Err(why)) => {
            screen::settle(&mut stage, &mut signals, None).await;
            return Err(Failure::Runtime(why));
        }
        Err(caught) => return Ok(Ending::Signalled(caught)),
    };
    let screen = AcpScreen::new(stage, signals, events, frames);
    let mut client = AcpClient::new(started, screen, Duration::from_secs(args.timeout));
    client.serve_by(Arc::new(host));
    let mut run = AcpRun { client, plan };
    let ended = run.run().await;
    close_turn(&mut run.client.observer, &ended);
    let ended = outcome(ended, &mut run.client.agent, run.plan.agent, &redactor).await;
    finish(run.client, ended).await
}

/// The host that serves the agent, and its events.
fn host(
    args: &AcpArgs,
    settings: &Settings,
    ground: Ground,
) -> Result<(ClientHost, UnboundedReceiver<HostEvent>), Failure> {
    let (tell, events) = mpsc::unbounded_channel();
    let Ground { policy, shell, .. } = ground;
    let host = ClientHost::new(&settings.root, settings.paths.locks(), reach(args), policy, shell, tell);
    Ok((host.map_err(Failure::runtime)?, events))
}

fn close_turn(screen: &mut AcpScreen, ended: &Result<Option<StopReason>, RunFailure>) {
    let is_cancelled = matches!(
        ended,
        Err(RunFailure::Agent(AcpError::Stopped { why: ScreenStop::Signal(_), .. }))
            | Ok(Some(StopReason::Cancelled))
    );
    // Calls of a replayed conversation are not told.
    let is_told = is_cancelled && !screen.is_replay;
    let undone: Vec<Call> = if is_told { screen.calls.open().collect() } else { Vec::new() };
    screen.stage.close_turn(&undone);
    if let Ok(Some(reason @ StopReason::Cancelled)) = ended {
        screen.stage.notice(&stopped(reason));
    }
}

/// How far the agent may go with files.
fn reach(args: &AcpArgs) -> Reach {
    match (args.yolo, args.write) {
        (true, _) => Reach::Yolo,
        (false, true) => Reach::Write,
        (false, false) => Reach::Default,
    }
}

/// The blocks of the prompt. Without one, something else must have been asked for.
async fn prompt(
    args: &AcpArgs,
    settings: &Settings,
    stage: &mut Stage,
) -> Result<Option<Vec<PromptBlock>>, Failure> {
    if args.conform {
        // The checklist has a prompt of its own.
        return Ok(None);
    }
    let words = (!args.words.is_empty()).then(|| args.words.join(" "));
    let asked = Asked::new(None, words)?;
    let terminal = settings.terminal.stdin;
    let gathered = match args.asks_without_prompt() {
        true => stdin::gather_any(asked, terminal).await?,
        false => Some(stdin::gather(asked, terminal, NO_PROMPT).await?),
    };
    let Some(Gathered { prompt, notices }) = gathered else { return Ok(None) };
    notices.iter().for_each(|notice| stage.notice(notice));
    // Beside a prompt, what is piped in is data; alone it is the prompt.
    let typed = if prompt.typed().is_empty() { prompt.text.clone() } else { prompt.typed().to_owned() };
    let (root, home) = (settings.root.clone(), settings.home().map(Into::into));
    let found = tokio::task::spawn_blocking(move || {
        let workspace = Workspace::open(&root)?.with_home(home);
        let found = links(&typed, &workspace);
        io::Result::Ok((mentions::blocks(prompt.text, &found, &workspace), found.notices))
    });
    let (blocks, notices) = found.await.map_err(Failure::runtime)?.map_err(Failure::runtime)?;
    notices.iter().for_each(|notice| stage.notice(notice));
    Ok(Some(blocks))
}

/// Ours, before the first frame. Neither arguments nor variables: they may be secrets.
fn selected(plan: &Plan<'_>) -> Value {
    let params = json!({"name": plan.agent.name, "command": plan.agent.program});
    json!({"jsonrpc": "2.0", "method": "client/selected_agent", "params": params})
}

/// What the agent says of a failure may hold what it was given, keys among it.
async fn outcome(
    ended: Result<Option<StopReason>, RunFailure>,
    agent: &mut AgentProcess,
    command: &AgentCommand,
    redactor: &Redactor,
) -> Result<Ending, Failure> {
    let error = match ended {
        Ok(None | Some(StopReason::EndTurn)) => return Ok(Ending::Completed),
        Ok(Some(StopReason::Cancelled)) => return Ok(Ending::Signalled(Caught::Interrupt)),
        Ok(Some(reason)) => return Err(Failure::runtime(redactor.redact(&stopped(&reason)))),
        Err(RunFailure::Usage(why)) => return Err(Failure::usage(redactor.redact(&why))),
        Err(RunFailure::Failed(why)) => return Err(Failure::runtime(redactor.redact(&why))),
        Err(RunFailure::Agent(error)) => error,
    };
    match error {
        AcpError::Stopped { why: ScreenStop::Signal(caught), .. } => Ok(Ending::Signalled(caught)),
        AcpError::Stopped { why: ScreenStop::Output(error), .. } => Err(Failure::Output(error)),
        AcpError::LoginRequired { message, methods } => {
            Err(Failure::runtime(redactor.redact(&session::login_hint(&message, &methods, command))))
        }
        AcpError::Refused { method, mut error } => {
            let data = error.data.as_mut().map(|data| {
                redactor.redact_value(data);
                format!("; {}", short(&data.to_string()))
            });
            error.message = redactor.redact(&error.message).into_owned();
            Err(Failure::runtime(refusal(THE_AGENT, method, &error) + &data.unwrap_or_default()))
        }
        AcpError::Late { method, limit } => {
            let why = format!("{THE_AGENT} did not answer {method} within {} s (--timeout)", limit.as_secs());
            Err(Failure::runtime(agent.excuse(why)))
        }
        error @ (AcpError::Gone { .. } | AcpError::Version { .. } | AcpError::NoSessionId) => {
            let why = explain(&error, THE_AGENT, agent).await;
            Err(Failure::runtime(redactor.redact(&why)))
        }
    }
}

/// Says what is left to say, ends the agent, and leaves nothing behind.
async fn finish(
    mut client: AcpClient<AgentProcess, ClientHost, AcpScreen>,
    ended: Result<Ending, Failure>,
) -> Result<Ending, Failure> {
    let unwritten = client.observer.settle().await;
    if client.observer.is_hurried {
        // The supervisor ends the agent without us.
        return ended;
    }
    client.end_requests(CLOSING).await;
    let (agent, screen) = client.hang_up();
    let unwritten = unwritten.or(screen.see_off(agent).await);
    match (ended, unwritten) {
        (Ok(Ending::Completed), Some(error)) => Err(Failure::Output(error)),
        (ended, _) => ended,
    }
}
