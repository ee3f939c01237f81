//! `zdx sessions fork`, `revert`, `redo` and `summarize`: what can be made of a session that is over.

use serde_json::json;
use zdx_engine::{RevertPlan, SettledIntents, Way, left_behind, settle_intents, summarize};
use zdx_protocol::display::{labels, plain};
use zdx_protocol::{Event, Transcript, record};
use zdx_store::{ResumedSession, SessionId};
use zdx_workspace::Workspace;

use super::{json_line, print, warn};
use crate::args::Format;
use crate::exit::{Ending, Failure};
use crate::settings::Settings;
use crate::start;

pub fn fork(settings: &Settings, id: &str, turn: Option<u32>) -> Result<Ending, Failure> {
    let store = settings.sessions();
    let id = store.find(id).map_err(Failure::runtime)?;
    let fork = store.fork(id, turn).map_err(Failure::runtime)?;
    print(match settings.format {
        Format::Text => format!("{fork}\n"),
        Format::Json => json_line(&json!({"session": fork.to_string(), "parent": id.to_string()})),
    })
}

/// Whether to do it or to tell only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Do,
    DryRun,
}

pub fn go(settings: &Settings, id: &str, way: Way, mode: Mode) -> Result<Ending, Failure> {
    let store = settings.sessions();
    let id = store.find(id).map_err(Failure::runtime)?;
    let blobs = store.blobs(id);
    let event = match mode {
        Mode::DryRun => {
            let mut transcript = store.read(id).map_err(Failure::runtime)?.transcript;
            let workspace = workspace(settings, transcript.root.as_deref())?;
            warn(settings, &settle_intents(&mut transcript, &workspace).notices);
            let plan = plan(settings, id, &transcript, way, &workspace)?;
            plan.check(&workspace, &blobs).map_err(Failure::runtime)?
        }
        Mode::Do => {
            let opened = store.open(id).map_err(Failure::runtime)?;
            let ResumedSession { mut log, mut transcript, notices, .. } = opened;
            warn(settings, &notices);
            let workspace = workspace(settings, transcript.root.as_deref())?;
            let SettledIntents { records, notices } = settle_intents(&mut transcript, &workspace);
            warn(settings, &notices);
            records.iter().for_each(|record| warn(settings, log.append(record).notice().as_slice()));
            let plan = plan(settings, id, &transcript, way, &workspace)?;
            let done = plan.carry_out(&workspace, &blobs);
            warn(settings, workspace.take_lock_weakness().as_slice());
            let event = done.map_err(Failure::runtime)?;
            if let Some(record) = event.record(record::now()) {
                let saved = log.append(&record).notice().or(log.sync().notice());
                warn(settings, &saved.into_iter().collect::<Vec<_>>());
            }
            event
        }
    };
    print(match settings.format {
        Format::Json => {
            let mut line = json!(event);
            line["dry_run"] = json!(mode == Mode::DryRun);
            json_line(&line)
        }
        Format::Text => told(&event, mode),
    })
}

/// What is to be done, with what commands did besides.
fn plan(
    settings: &Settings,
    id: SessionId,
    transcript: &Transcript,
    way: Way,
    workspace: &Workspace,
) -> Result<RevertPlan, Failure> {
    let plan = RevertPlan::new(transcript, way).map_err(Failure::runtime)?;
    let left = plan.turn().and_then(|turn| left_behind(&settings.sessions(), id, turn, workspace));
    Ok(plan.leaving(left))
}

fn told(event: &Event, mode: Mode) -> String {
    let text = match event {
        Event::Reverted { turn, files, left } => labels::reverted(*turn, files, left.as_ref(), None),
        Event::Redone { turn, files } => labels::redone(*turn, files, None),
        other => format!("{other:?}"),
    };
    let text = match mode {
        Mode::Do => text,
        Mode::DryRun => format!("would be: {text}"),
    };
    format!("{}\n", plain(&text))
}

/// Where the session worked, wherever this is called from.
fn workspace(settings: &Settings, root: Option<&std::path::Path>) -> Result<Workspace, Failure> {
    let root = root.unwrap_or(&settings.root);
    let workspace = Workspace::open(root).map(|workspace| workspace.with_locks_in(settings.paths.locks()));
    workspace.map_err(|error| {
        Failure::runtime(format!("cannot work in {}: {}", root.display(), crate::exit::reason(&error)))
    })
}

pub async fn print_summary(settings: &Settings, id: &str) -> Result<Ending, Failure> {
    let account = start::account(settings, settings.sessions().find(id).map_err(Failure::runtime)?)?;
    let summary = summarize(&account.activity, &account.asker).await;
    warn(settings, &account.notices);
    if let Some(why) = summary.fallback {
        warn(settings, &[format!("{why}; this summary is made from the session itself")]);
    }
    print(format!("{}\n", plain(&account.redactor.redact(&summary.text))))
}
