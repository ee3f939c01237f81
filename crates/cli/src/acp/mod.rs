//! `zdx acp`: drives another agent over the Agent Client Protocol, once, for a script. Arguments in, one run, an exit code out.
//! Has no session of zdx's and no model; what the agent may do here is the host's to say.

mod checked;
mod client;
mod conform;
mod desk;
mod host;
mod lists;
mod mentions;
mod proxy;
mod render;
mod replay;
mod session;
mod settings;

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use zdx_acp::Host;
use zdx_acp::shapes::{Call, StopReason};
use zdx_engine::agents::{AgentProcess, short, stopped};
use zdx_engine::links;
use zdx_protocol::path_text;
use zdx_protocol::redact::Redactor;
use zdx_workspace::Workspace;

use self::client::{Client, Stop};
use self::host::{ClientHost, Reach};
use self::render::Stage;
use self::session::{Plan, Trouble};
use self::settings::Chosen;
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
            client::settle(&mut stage, &mut signals, None).await;
            return Err(failure);
        }
        Err(caught) => return Ok(Ending::Signalled(caught)),
    };
    if args.conform {
        client::settle(&mut stage, &mut signals, None).await;
        return checked::run(args, settings, &ready.chosen.agent, ready.ground, &mut signals).await;
    }
    drive(args, settings, ready, stage, signals).await
}

/// Everything that can be wrong before an agent is started.
struct Ready {
    prompt: Option<Vec<Value>>,
    chosen: Chosen,
    ground: Ground,
}

async fn prepare(args: &AcpArgs, settings: &Settings, stage: &mut Stage) -> Result<Ready, Failure> {
    if settings.root.to_str().is_none() {
        let root = path_text::shown(&settings.root);
        return Err(Failure::usage(format!("an ACP agent cannot work in {root}: its name is not UTF-8")));
    }
    let prompt = prompt(args, settings, stage).await?;
    let chosen = settings::choose(settings, args.settings.as_deref(), args.agent.as_deref())?;
    let ground = start::ground(settings).map_err(settings::as_usage)?;
    stage.hide(Arc::clone(&ground.redactor));
    chosen.warnings.iter().chain(&ground.notices).for_each(|warning| stage.notice(warning));
    Ok(Ready { prompt, chosen, ground })
}

async fn drive(
    args: &AcpArgs,
    settings: &Settings,
    ready: Ready,
    mut stage: Stage,
    mut signals: Signals,
) -> Result<Ending, Failure> {
    let Ready { prompt, chosen, ground } = ready;
    let plan = Plan { args, agent: &chosen.agent, servers: &chosen.servers, root: &settings.root, prompt };
    let (tap, frames) = stage.mirrors().then(client::tap).unzip();
    if frames.is_some() {
        stage.frame(selected(&plan).to_string().as_bytes());
    }
    let (told, events) = mpsc::unbounded_channel();
    let host = ClientHost::new(
        &settings.root,
        settings.paths.locks(),
        reach(args),
        ground.policy,
        ground.shell,
        told,
    )
    .map_err(Failure::runtime)?;
    let launch = start::launch(settings, Arc::clone(&ground.redactor));
    let start = AgentProcess::start(plan.agent, &launch, tap);
    let started = match unless_signalled(&mut signals, start).await {
        Ok(Ok(started)) => started,
        Ok(Err(why)) => {
            client::settle(&mut stage, &mut signals, None).await;
            return Err(Failure::Runtime(why));
        }
        Err(caught) => return Ok(Ending::Signalled(caught)),
    };
    let mut client = Client::new(started, (host, events), stage, signals, frames);
    let ended = session::run(&mut client, &plan).await;
    close_turn(&mut client, &ended);
    let ended = outcome(ended, &mut client.agent, &ground.redactor).await;
    finish(client, ended).await
}

fn close_turn<H: Host>(client: &mut Client<H>, ended: &Result<Option<StopReason>, Trouble>) {
    let is_cancelled =
        matches!(ended, Err(Trouble::Stop(_, Stop::Signal(_))) | Ok(Some(StopReason::Cancelled)));
    // Calls of an old conversation are nobody's business now.
    let is_told = is_cancelled && !client.known.quiet;
    let undone: Vec<Call> = if is_told { client.known.calls.open().collect() } else { Vec::new() };
    client.stage.close_turn(&undone);
    if let Ok(Some(reason @ StopReason::Cancelled)) = ended {
        client.stage.notice(&stopped(reason));
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
) -> Result<Option<Vec<Value>>, Failure> {
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
        io::Result::Ok(links(&typed, &workspace))
    });
    let found = found.await.map_err(Failure::runtime)?.map_err(Failure::runtime)?;
    found.notices.iter().for_each(|notice| stage.notice(notice));
    Ok(Some(mentions::blocks(&prompt.text, &found)))
}

/// Ours, before the first frame. Neither arguments nor variables: they may be secrets.
fn selected(plan: &Plan<'_>) -> Value {
    let params = json!({"name": plan.agent.name, "command": plan.agent.program});
    json!({"jsonrpc": "2.0", "method": "client/selected_agent", "params": params})
}

/// What the agent says of a failure may hold what it was given, keys among it.
async fn outcome(
    ended: Result<Option<StopReason>, Trouble>,
    agent: &mut AgentProcess,
    redactor: &Redactor,
) -> Result<Ending, Failure> {
    match ended {
        Ok(None | Some(StopReason::EndTurn)) => Ok(Ending::Completed),
        Ok(Some(StopReason::Cancelled)) => Ok(Ending::Signalled(Caught::Interrupt)),
        Ok(Some(reason)) => Err(Failure::runtime(redactor.redact(&stopped(&reason)))),
        Err(Trouble::Usage(why)) => Err(Failure::usage(redactor.redact(&why))),
        Err(Trouble::Failed(why)) => Err(Failure::runtime(redactor.redact(&why))),
        Err(Trouble::Stop(method, stop)) => match stop {
            Stop::Signal(caught) => Ok(Ending::Signalled(caught)),
            Stop::Output(error) => Err(Failure::Output(error)),
            Stop::Refused(mut error) => {
                let data = error.data.as_mut().map(|data| {
                    redactor.redact_value(data);
                    format!("; {}", short(&data.to_string()))
                });
                Err(Failure::runtime(format!(
                    "the agent refuses {method}: {} ({}){}",
                    short(&redactor.redact(&error.message)),
                    error.code,
                    data.unwrap_or_default()
                )))
            }
            Stop::Gone => {
                Err(Failure::runtime(format!("no answer of the agent to {method}: {}", agent.fate().await)))
            }
            Stop::Late(limit) => Err(Failure::runtime(agent.excuse(format!(
                "the agent did not answer {method} within {} s (--timeout)",
                limit.as_secs()
            )))),
        },
    }
}

/// Says what is left to say, ends the agent, and leaves nothing behind.
async fn finish<H: Host>(mut client: Client<H>, ended: Result<Ending, Failure>) -> Result<Ending, Failure> {
    let unwritten = client.settle().await;
    if client.hurried {
        // The supervisor ends the agent without us.
        return ended;
    }
    let rest = client.hang_up().await;
    let unwritten = unwritten.or(rest.see_off().await);
    match (ended, unwritten) {
        (Ok(Ending::Completed), Some(error)) => Err(Failure::Output(error)),
        (ended, _) => ended,
    }
}
