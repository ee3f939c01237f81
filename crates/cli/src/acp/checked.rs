//! `--conform`: the checklist, held against the agent that was chosen, and what came of it on stdout.

use std::sync::Arc;
use std::time::Duration;

use zdx_acp::{Inbox, Peer, Tap};
use zdx_engine::agents::{AgentCommand, AgentProcess};
use zdx_protocol::display::sanitize;
use zdx_protocol::redact::Redactor;

use super::conform::{self, Dial, Report};
use crate::args::{AcpArgs, Shown};
use crate::commands::{json_line, print};
use crate::exit::{Ending, Failure};
use crate::pump::unless_signalled;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::start::{self, Ground};

/// For agents with a model behind them: short, and answered by any.
const PROMPT: &str = "Say hello in one word.";
const TURN: Duration = Duration::from_secs(300);

struct Dialer<'a> {
    agent: &'a AgentCommand,
    settings: &'a Settings,
    redactor: Arc<Redactor>,
}

impl Dial for Dialer<'_> {
    type Agent = AgentProcess;

    async fn dial(&self, tap: Tap) -> Result<(AgentProcess, Peer, Inbox), String> {
        let launch = start::launch(self.settings, Arc::clone(&self.redactor));
        AgentProcess::start(self.agent, &launch, Some(tap)).await
    }

    async fn hang_up(&self, agent: AgentProcess) {
        agent.stop().await;
    }
}

pub async fn run(
    args: &AcpArgs,
    settings: &Settings,
    agent: &AgentCommand,
    ground: Ground,
    signals: &mut Signals,
) -> Result<Ending, Failure> {
    let redactor = Arc::clone(&ground.redactor);
    // Nobody shows what the host did.
    let (host, _) = super::host(args, settings, ground)?;
    let dialer = Dialer { agent, settings, redactor: Arc::clone(&redactor) };
    let limit = Duration::from_secs(args.timeout);
    let ground = conform::Ground {
        cwd: settings.root.clone(),
        auth: args.auth.clone(),
        prompt: if args.words.is_empty() { PROMPT.to_owned() } else { args.words.join(" ") },
        limit,
        turn_limit: limit.max(TURN),
    };
    match unless_signalled(signals, conform::run(&dialer, Arc::new(host), &ground)).await {
        Ok(report) => show(&report, args.output, &redactor),
        Err(caught) => Ok(Ending::Signalled(caught)),
    }
}

fn show(report: &Report, shown: Shown, redactor: &Redactor) -> Result<Ending, Failure> {
    match shown {
        Shown::Text | Shown::Simple => print(&*sanitize(&redactor.redact(&report.text())))?,
        Shown::Json | Shown::Jsonl => {
            let hidden = |mut item| {
                redactor.redact_value(&mut item);
                json_line(&item)
            };
            print(report.values().map(hidden).collect::<String>())?
        }
    };
    Ok(if report.failed() { Ending::Failed } else { Ending::Completed })
}
