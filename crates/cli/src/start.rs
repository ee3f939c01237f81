//! The seam to the engine: configuration is loaded and a session begun here, and nowhere else in the command line.

use std::sync::Arc;

use zdx_engine::config::{ResolveInput, Resolved, Source, resolve};
use zdx_engine::context::{assemble, load_project_context};
use zdx_engine::history::{self, Asker};
use zdx_engine::library::{Agents, Places};
use zdx_engine::policy::PolicyContext;
use zdx_engine::policy::grants::GrantStore;
use zdx_engine::policy::trust::{self, Project, Standing, TrustedFiles, Want};
use zdx_engine::secrets;
use zdx_engine::session::{FindError, SessionId};
use zdx_engine::tools::supervisor;
use zdx_engine::{GuardSetup, ModelPicker, SessionChoice, Setup, start};
use zdx_models::{Client, Endpoint, ModelError, list_models};
use zdx_protocol::redact::Redactor;
use zdx_protocol::{Approval, EngineHandle};

use crate::exit::Failure;
use crate::settings::{SessionPick, Settings};

pub struct Started {
    pub engine: EngineHandle,
    /// What the configuration has to say, to be shown once the session has introduced itself.
    pub notices: Vec<String>,
    /// Knows what must not be written to a file.
    pub redactor: Arc<Redactor>,
}

/// Whether somebody is there to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    Person,
    Nobody,
}

/// Configuration, and how this folder's own files stand.
pub struct Configured {
    pub resolved: Resolved,
    pub standing: Standing,
    /// What those files want and do not get; empty once they are trusted.
    pub wants: Vec<Want>,
    /// The files that were read, and so what the wants were taken from: what is trusted when the user says so.
    pub files: TrustedFiles,
}

impl Configured {
    /// What the project's files may do: nothing, before the user trusts them.
    fn trusted(&self) -> TrustedFiles {
        match self.standing {
            Standing::Trusted => self.files.clone(),
            Standing::Changed | Standing::Unknown => TrustedFiles::default(),
        }
    }
}

pub fn configuration(settings: &Settings) -> Result<Resolved, Failure> {
    let Configured { mut resolved, standing, wants, .. } = configured(settings)?;
    resolved.notices.extend(trust::notice(&wants, standing));
    Ok(resolved)
}

pub fn configured(settings: &Settings) -> Result<Configured, Failure> {
    let project = Project::read(&settings.paths, &settings.root).map_err(Failure::runtime)?;
    let digest = project.digest();
    let (standing, trouble) = match settings.trust_store().status(&settings.root, &digest) {
        _ if settings.trust => (Standing::Trusted, None),
        Ok(standing) => (standing, None),
        Err(error) => (Standing::Unknown, Some(error.to_string())),
    };
    let mut configured = resolved_as(settings, &project, standing)?;
    configured.resolved.notices.extend(trouble);
    Ok(configured)
}

/// Configuration as it is without trust, whatever was trusted: for showing what trust would change.
pub fn untrusted(settings: &Settings) -> Result<Configured, Failure> {
    let project = Project::read(&settings.paths, &settings.root).map_err(Failure::runtime)?;
    resolved_as(settings, &project, Standing::Unknown)
}

fn resolved_as(settings: &Settings, project: &Project, standing: Standing) -> Result<Configured, Failure> {
    let Settings { paths, root, env, flags, .. } = settings;
    let trusted = standing == Standing::Trusted;
    let mut resolved = resolve(&ResolveInput { paths, root, env, flags, project: project.config(), trusted })
        .map_err(Failure::runtime)?;
    resolved.notices.extend(project.notices().iter().cloned());
    let mut wants = std::mem::take(&mut resolved.wants);
    if !trusted {
        wants.extend(project.wants().iter().cloned());
    }
    Ok(Configured { resolved, standing, wants, files: project.trusted_files() })
}

/// What decisions depend on here, as a session with a person would have it, and what deserves a warning.
pub fn guard(settings: &Settings) -> Result<(PolicyContext, Vec<String>), Failure> {
    let configured = configured(settings)?;
    let trusted = configured.trusted();
    let Configured { resolved: Resolved { config, mut notices, .. }, standing, wants, .. } = configured;
    notices.extend(trust::notice(&wants, standing));
    let (mut context, warnings) = zdx_engine::guard(GuardSetup {
        config: &config,
        root: &settings.root,
        home: settings.env.home(),
        base: settings.paths.base(),
        grants: &GrantStore::new(settings.paths.grants_file()),
        session_grants: &[],
        default_approval: Approval::Balanced,
        person: true,
        allow_dangerous: settings.allow_dangerous,
    })
    .map_err(Failure::runtime)?;
    notices.extend(warnings);
    if let Some(agent) = &settings.agent {
        let places = Places::new(&settings.root, &settings.paths).trusting(trusted);
        let (agents, told) = Agents::load(&places, &config.agent);
        notices.extend(told);
        context = zdx_engine::guard_as(context, agent, agents).map_err(Failure::runtime)?;
    }
    Ok((context, notices))
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
    let configured = configured(settings)?;
    let trusted = configured.trusted();
    let Configured { mut resolved, standing, wants, .. } = configured;
    resolved.notices.extend(trust::notice(&wants, standing));
    let redactor = secrets::redactor(&resolved.config, &settings.env, &settings.root);
    let redactor = Arc::new(redactor.map_err(Failure::runtime)?);
    let setup = Setup {
        redactor: Arc::clone(&redactor),
        explicit_model: asked_for(&resolved),
        config: Arc::new(resolved.config),
        paths: settings.paths.clone(),
        env: settings.env.clone(),
        root: settings.root.clone(),
        session,
        agent: settings.agent.clone(),
        trusted,
        person: audience == Audience::Person,
        allow_dangerous: settings.allow_dangerous,
        executable: supervisor::program(),
    };
    let engine = start(setup).await.map_err(Failure::runtime)?;
    Ok(Started { engine, notices: resolved.notices, redactor })
}

fn choose(settings: &Settings, pick: &SessionPick) -> Result<SessionChoice, Failure> {
    let store = settings.sessions();
    let existing =
        |id: Result<SessionId, FindError>| id.map(SessionChoice::Existing).map_err(Failure::runtime);
    match pick {
        SessionPick::New => Ok(SessionChoice::New),
        SessionPick::Unsaved => Ok(SessionChoice::Unsaved),
        SessionPick::Id(prefix) => existing(store.find(prefix)),
        SessionPick::LatestHere => existing(store.latest(Some(&settings.root))),
        SessionPick::Latest => existing(store.latest(None)),
    }
}

pub struct Offered {
    /// `provider/name`: what `--model` takes.
    pub name: String,
    pub context_limit: Option<u64>,
}

/// A session looked back on, and whom to ask about it.
pub struct Account {
    pub digest: history::Digest,
    pub asker: Asker,
    pub redactor: Redactor,
    pub notices: Vec<String>,
}

pub fn account(settings: &Settings, id: SessionId) -> Result<Account, Failure> {
    let resolved = configuration(settings)?;
    let mut digest = history::Digest::new();
    settings.sessions().scan(id, |record| digest.note(record)).map_err(Failure::runtime)?;
    let redactor = secrets::redactor(&resolved.config, &settings.env, &settings.root);
    Ok(Account {
        digest,
        redactor: redactor.map_err(Failure::runtime)?,
        asker: Asker {
            explicit_model: asked_for(&resolved),
            config: Arc::new(resolved.config),
            env: settings.env.clone(),
        },
        notices: resolved.notices,
    })
}

/// What the provider in use offers, and what the configuration has to say.
pub async fn models(settings: &Settings) -> Result<(Vec<Offered>, Vec<String>), Failure> {
    let Resolved { config, notices, .. } = configuration(settings)?;
    let redactor = secrets::redactor(&config, &settings.env, &settings.root).map_err(Failure::runtime)?;
    let client = Client::new(config.timeouts);
    let provider = config.provider.clone();
    let picker = ModelPicker::new(Arc::new(config), settings.env.clone()).map_err(Failure::runtime)?;
    let endpoint = match provider {
        Some(name) => picker.provider(&name).map_err(Failure::runtime)?,
        None => picker.pick(&client, None, None).await.map_err(Failure::runtime)?.endpoint,
    };
    // Servers like to quote the key that they refuse.
    let refused = |error: ModelError| Failure::runtime(redactor.redact(&error.to_string()).into_owned());
    let offered = list_models(&client, &endpoint).await.map_err(refused)?;
    let offered = offered.into_iter().map(|model| Offered {
        name: Endpoint { model: model.id, ..endpoint.clone() }.label(),
        context_limit: model.context_limit,
    });
    Ok((offered.collect(), notices))
}

/// The model that this very command line or its environment asks for, as opposed to a file.
fn asked_for(resolved: &Resolved) -> Option<String> {
    match resolved.origins.get(&["model".to_owned()])?.source {
        Source::Env(_) | Source::Flag(_) => resolved.config.model.clone(),
        Source::Default | Source::File { .. } => None,
    }
}
