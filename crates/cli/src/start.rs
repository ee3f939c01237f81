//! The seam to the engine: configuration is loaded and a session begun here, and nowhere else in the command line.

use std::path::PathBuf;
use std::sync::Arc;

use zdx_engine::config::{Config, ResolveInput, Resolved, resolve};
use zdx_engine::context::{assemble, load_project_context};
use zdx_engine::paths::{Env, Paths};
use zdx_engine::session::SessionId;
use zdx_engine::tools::supervisor;
use zdx_protocol::{Approval, EngineHandle};

use crate::exit::Failure;
use crate::settings::{SessionPick, Settings};

pub struct Started {
    pub engine: EngineHandle,
    /// What the configuration has to say, to be shown once the session has introduced itself.
    pub notices: Vec<String>,
}

/// Who is there to be asked, and so what may happen unasked unless it was configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    Person,
    Nobody,
}

impl Audience {
    fn approval(self) -> Approval {
        match self {
            Self::Person => Approval::Balanced,
            Self::Nobody => Approval::Yolo,
        }
    }
}

pub fn configuration(settings: &Settings) -> Result<Resolved, Failure> {
    let Settings { paths, root, env, flags, .. } = settings;
    resolve(&ResolveInput { paths, root, env, flags, trusted: false }).map_err(Failure::runtime)
}

/// The system prompt as the model gets it, and what was noticed while putting it together.
pub fn system_prompt(settings: &Settings) -> Result<(String, Vec<String>), Failure> {
    let Resolved { config, mut notices, .. } = configuration(settings)?;
    let project = load_project_context(&settings.paths, &settings.root, &config.instructions);
    let prompt = assemble(&config, &settings.root, &project).map_err(Failure::runtime)?;
    notices.extend(project.notices);
    Ok((prompt, notices))
}

pub async fn engine(settings: &Settings, pick: &SessionPick, audience: Audience) -> Result<Started, Failure> {
    let session = choose(settings, pick)?;
    let Resolved { mut config, notices, .. } = configuration(settings)?;
    config.approval.get_or_insert(audience.approval());
    let setup = Setup {
        config: Arc::new(config),
        paths: settings.paths.clone(),
        env: settings.env.clone(),
        root: settings.root.clone(),
        session,
        person: audience == Audience::Person,
        allow_dangerous: settings.allow_dangerous,
        executable: supervisor::program(),
    };
    let engine = start(setup).await.map_err(Failure::runtime)?;
    Ok(Started { engine, notices })
}

fn choose(settings: &Settings, pick: &SessionPick) -> Result<SessionChoice, Failure> {
    let store = settings.sessions();
    let existing = |id: Result<SessionId, zdx_engine::session::FindError>| {
        id.map(|id| SessionChoice::Existing(id.to_string())).map_err(Failure::runtime)
    };
    match pick {
        SessionPick::New => Ok(SessionChoice::New),
        SessionPick::Unsaved => Ok(SessionChoice::Unsaved),
        SessionPick::Id(prefix) => existing(store.find(prefix)),
        SessionPick::LatestHere => existing(store.latest(Some(&settings.root))),
        SessionPick::Latest => existing(store.latest(None)),
    }
}

// A stand-in until the engine's own entry point is here.
struct Setup {
    config: Arc<Config>,
    paths: Paths,
    env: Env,
    root: PathBuf,
    session: SessionChoice,
    person: bool,
    allow_dangerous: bool,
    executable: PathBuf,
}

enum SessionChoice {
    New,
    Existing(String),
    Unsaved,
}

async fn start(setup: Setup) -> Result<EngineHandle, String> {
    use zdx_protocol::*;
    let Setup { config, paths, env, root, session, person, allow_dangerous, executable } = setup;
    let _ = (config, paths, env, allow_dangerous, executable);
    let (handle, mut end) = EngineHandle::pair();
    let (id, resumed, saved) = match session {
        SessionChoice::New => (SessionId::random().to_string(), false, true),
        SessionChoice::Unsaved => (SessionId::random().to_string(), false, false),
        SessionChoice::Existing(id) => (id, true, true),
    };
    tokio::spawn(async move {
        let e = end.events;
        let _ = e
            .send(Event::SessionStarted(SessionInfo {
                session: id,
                root,
                model: "stand/in".into(),
                resumed,
                saved,
                parent: None,
            }))
            .await;
        let mut turn = 0;
        while let Some(c) = end.commands.recv().await {
            match c {
                Command::Prompt(p) => {
                    turn += 1;
                    let _ = e.send(Event::TurnStarted { turn, prompt: p.text.clone() }).await;
                    let _ = e.send(Event::StateChanged { state: TurnState::ModelGenerating }).await;
                    let mut outcome = Outcome::Completed;
                    let text = format!("you said: {}", p.text);
                    if p.text.contains("slow") {
                        tokio::select! { _ = tokio::time::sleep(std::time::Duration::from_secs(30)) => {}, c = end.commands.recv() => { if c == Some(Command::Interrupt) { outcome = Outcome::Interrupted; let _ = e.send(Event::Interrupted).await; } } }
                    }
                    if p.text.contains("ask") && person {
                        let r = ApprovalRequest {
                            request: RequestId(1),
                            id: "c".into(),
                            tool: "bash".into(),
                            action: Action::Todo,
                            preview: Preview::Command { command: "make".into() },
                            danger: Danger::Ask,
                            reason: Reason {
                                code: "ask".into(),
                                message: "runs a program".into(),
                                rule: None,
                            },
                            grant: Some("make".into()),
                        };
                        let _ = e.send(Event::ApprovalRequested(r)).await;
                        let c = end.commands.recv().await;
                        let _ = e.send(Event::AssistantDelta { text: format!("{c:?}") }).await;
                    }
                    for w in text.split_inclusive(' ') {
                        let _ = e.send(Event::AssistantDelta { text: w.into() }).await;
                    }
                    let _ = e.send(Event::AssistantFinal { text: text.clone(), partial: false }).await;
                    let _ = e
                        .send(Event::TurnFinished(TurnSummary {
                            outcome,
                            text,
                            usage: Usage::default(),
                            denied: 0,
                            duration_ms: 12,
                        }))
                        .await;
                }
                Command::SetModel(model) => {
                    let _ = e.send(Event::ModelChanged { model }).await;
                }
                Command::Shutdown => return,
                _ => {}
            }
        }
    });
    Ok(handle)
}

/// What the configured provider offers, as `provider/name`.
pub async fn models(settings: &Settings) -> Result<(Vec<String>, Vec<String>), Failure> {
    let Resolved { notices, .. } = configuration(settings)?;
    Ok((Vec::new(), notices))
}
