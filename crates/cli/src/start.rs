//! The seam to the engine: it is started here, and nowhere else in the command line. What utility commands want of the
//! configuration without a session is here too.

use std::path::Path;
use std::sync::Arc;

use zdx_config::library::{AgentLibrary, LibraryFolders};
use zdx_config::{ConfigLocation, EffectiveConfig, ResolvedConfig};
use zdx_engine::agents::{AgentRegistry, Launch};
use zdx_engine::{
    Asker, GrantStore, GuardSetup, ModelPicker, SessionActivity, Setup, assemble, load_project_context,
    redactor, spawn,
};
use zdx_guard::{PolicyContext, folder_grant};
use zdx_mcp::{ServerInspection, inspect};
use zdx_models::{Client, Endpoint, ModelError, list_models};
use zdx_protocol::query::{ModelOffer, SessionSummary};
use zdx_protocol::redact::Redactor;
use zdx_protocol::{Approval, EditorFiles, EngineHandle};
use zdx_store::SessionId;
use zdx_tools::{Shell, ShellSettings, supervisor};

use crate::exit::Failure;
use crate::settings::Settings;

/// How much of a resumed conversation somebody who reads lines is shown when he comes back.
const TURNS_TOLD_AGAIN: usize = 10;

/// Whether somebody is there to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Reads lines.
    Person,
    /// A person whose screen shows the whole conversation, also that of a session gone on with.
    Screen,
    Nobody,
    /// Nobody, and there is one prompt only.
    OnePrompt,
}

/// An engine for as long as the run takes; it opens what it is told to.
pub fn engine(settings: &Settings, audience: Audience) -> EngineHandle {
    engine_in(settings, audience, None)
}

/// The same in an editor that lends the files it has open.
pub fn engine_in(
    settings: &Settings,
    audience: Audience,
    editor: Option<Arc<dyn EditorFiles>>,
) -> EngineHandle {
    spawn(Setup {
        paths: settings.paths.clone(),
        env: settings.env.clone(),
        root: settings.root.clone(),
        flags: settings.flags.clone(),
        agent: settings.agent.clone(),
        remote: settings.remote.clone(),
        trust: settings.trust,
        save: settings.save,
        person: matches!(audience, Audience::Person | Audience::Screen),
        one_prompt: audience == Audience::OnePrompt,
        allow_dangerous: settings.allow_dangerous,
        add_dirs: settings.add_dirs.clone(),
        replay: match audience {
            Audience::Person => TURNS_TOLD_AGAIN,
            Audience::Screen => usize::MAX,
            Audience::Nobody | Audience::OnePrompt => 0,
        },
        editor,
        executable: supervisor::program(),
    })
}

/// The sessions that are kept, newest first, without those of tasks.
pub fn saved(settings: &Settings) -> Result<Vec<SessionSummary>, Failure> {
    settings.sessions().list(None).map_err(Failure::runtime)
}

fn place(settings: &Settings) -> ConfigLocation<'_> {
    let Settings { paths, env, root, flags, trust, .. } = settings;
    ConfigLocation { paths, env, root, flags, trust: *trust }
}

pub fn configured(settings: &Settings) -> Result<EffectiveConfig, Failure> {
    EffectiveConfig::read(place(settings)).map_err(Failure::runtime)
}

/// What a session with this configuration would warn of, or why none would start.
pub fn validate(settings: &Settings, configured: &EffectiveConfig) -> Result<Vec<String>, Failure> {
    zdx_engine::validate(configured, place(settings), settings.agent.as_deref()).map_err(Failure::runtime)
}

/// Configuration as it is without trust, whatever was trusted: for showing what trust would change.
pub fn untrusted(settings: &Settings) -> Result<EffectiveConfig, Failure> {
    EffectiveConfig::untrusted(place(settings)).map_err(Failure::runtime)
}

/// Configuration, with everything that deserves a notice among its notices.
fn noticed(settings: &Settings) -> Result<EffectiveConfig, Failure> {
    let mut configured = configured(settings)?;
    let notice = configured.notice();
    configured.resolved.notices.extend(notice);
    Ok(configured)
}

/// What decisions depend on here, as a session with a person would have it, and what deserves a warning.
pub fn guard(settings: &Settings) -> Result<(PolicyContext, Vec<String>), Failure> {
    let configured = noticed(settings)?;
    let trusted = configured.trusted();
    let ResolvedConfig { config, mut notices, .. } = configured.resolved;
    let (mut context, warnings) = zdx_engine::guard(GuardSetup {
        config: &config,
        root: &settings.root,
        env: &settings.env,
        base: settings.paths.base(),
        grants: &GrantStore::new(settings.paths.grants_file()),
        session_grants: &[],
        default_approval: Approval::Balanced,
        person: true,
        allow_dangerous: settings.allow_dangerous,
    })
    .map_err(Failure::runtime)?;
    notices.extend(warnings);
    add_folders(settings, &mut context)?;
    if let Some(agent) = &settings.agent {
        let places = LibraryFolders::new(&settings.root, &settings.paths).trusting(trusted);
        let (agents, told) = AgentLibrary::load(&places, &config.agent);
        notices.extend(told);
        context = zdx_engine::guard_as(context, agent, agents).map_err(Failure::runtime)?;
    }
    Ok((context, notices))
}

/// The folders of this command line, as a session would add them.
fn add_folders(settings: &Settings, context: &mut PolicyContext) -> Result<(), Failure> {
    let refused =
        |path: &Path, why| Failure::usage(format!("cannot add --add-dir {}: {why}", path.display()));
    for path in settings.add_dirs.iter().filter(|path| !path.starts_with(&settings.root)) {
        let grant = folder_grant(path, context).map_err(|why| refused(path, why))?;
        Arc::make_mut(&mut context.grants).insert(grant);
    }
    Ok(())
}

/// The system prompt as the model gets it, and what was noticed while putting it together.
pub fn system_prompt(settings: &Settings) -> Result<(String, Vec<String>), Failure> {
    let ResolvedConfig { config, mut notices, .. } = noticed(settings)?.resolved;
    let project = load_project_context(&settings.paths, &settings.root, &config.instructions);
    let prompt = assemble(&config, &settings.root, &project).map_err(Failure::runtime)?;
    notices.extend(project.notices);
    Ok((prompt, notices))
}

/// A session looked back on, and whom to ask about it.
pub struct Account {
    pub activity: SessionActivity,
    pub asker: Asker,
    pub redactor: Redactor,
    pub notices: Vec<String>,
}

pub fn account(settings: &Settings, id: SessionId) -> Result<Account, Failure> {
    let configured = noticed(settings)?;
    let explicit_model = configured.explicit_model();
    let ResolvedConfig { config, notices, .. } = configured.resolved;
    let activity = SessionActivity::read(&settings.sessions(), id).map_err(Failure::runtime)?;
    let redactor = redactor(&config, &settings.env, &settings.root).map_err(Failure::runtime)?;
    let asker = Asker { explicit_model, config: Arc::new(config), env: settings.env.clone() };
    Ok(Account { activity, redactor, asker, notices })
}

/// What programs are run with, and judged by, that an agent of others asks for.
pub struct Ground {
    pub policy: PolicyContext,
    pub shell: Shell,
    pub redactor: Arc<Redactor>,
    pub notices: Vec<String>,
}

pub fn ground(settings: &Settings) -> Result<Ground, Failure> {
    let (policy, notices) = guard(settings)?;
    let config = configured(settings)?.resolved.config;
    let redactor = redactor(&config, &settings.env, &settings.root).map_err(Failure::runtime)?;
    let redactor = Arc::new(redactor);
    let shell = Shell::new(ShellSettings {
        supervisor: supervisor::program(),
        env: settings.env.vars().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        env_pass: config.env.pass,
        spill_dir: None,
        redactor: Arc::clone(&redactor),
    });
    Ok(Ground { policy, shell, redactor, notices })
}

/// Whether there is such an agent to answer in place of a model. One of the folder's own may yet be trusted.
pub fn check_backend(settings: &Settings) -> Result<(), Failure> {
    let Some(name) = &settings.remote else { return Ok(()) };
    let registry = agent_registry(settings)?;
    if registry.is_untrusted(name) {
        return Ok(());
    }
    registry.select(Some(name)).map(drop).map_err(Failure::Usage)
}

/// The agents of others that can be named here.
pub fn agent_registry(settings: &Settings) -> Result<AgentRegistry, Failure> {
    AgentRegistry::read(&configured(settings)?, &settings.env, settings.paths.base()).map_err(Failure::Usage)
}

/// Refuses a folder that may not be added as a mistake of the command line, before a session opens.
pub fn check_added_folders(settings: &Settings) -> Result<(), Failure> {
    if settings.add_dirs.is_empty() {
        return Ok(());
    }
    match guard(settings) {
        Err(Failure::Usage(why)) => Err(Failure::Usage(why)),
        // Other mistakes are reported when the session is opened.
        Ok(_) | Err(Failure::Runtime(_) | Failure::Refused(..) | Failure::Output(_)) => Ok(()),
    }
}

/// Where and with what an agent of others is started.
pub fn launch(settings: &Settings, redactor: Arc<Redactor>) -> Launch {
    let (env, root) = (settings.env.clone(), settings.root.clone());
    Launch { env, root, supervisor: supervisor::program(), redactor }
}

/// The configured MCP servers, or one of them, started to be looked at.
pub async fn servers(
    settings: &Settings,
    only: Option<&str>,
) -> Result<(ServerInspection, Vec<String>), Failure> {
    let configured = noticed(settings)?;
    let redactor = redactor(&configured.resolved.config, &settings.env, &settings.root);
    let redactor = Arc::new(redactor.map_err(Failure::runtime)?);
    let inspection = inspect(&configured, place(settings), supervisor::program(), &redactor, only).await;
    // What cannot be used is in the list, with why.
    let notices = configured.resolved.notices.into_iter().chain(inspection.warnings());
    let notices = notices.collect();
    Ok((inspection, notices))
}

/// What the provider in use offers, and what the configuration has to say.
pub async fn models(settings: &Settings) -> Result<(Vec<ModelOffer>, Vec<String>), Failure> {
    let ResolvedConfig { config, notices, .. } = noticed(settings)?.resolved;
    let redactor = redactor(&config, &settings.env, &settings.root).map_err(Failure::runtime)?;
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
    let offered = offered.into_iter().map(|model| ModelOffer {
        name: Endpoint { model: model.id, ..endpoint.clone() }.label(),
        context_limit: model.context_limit,
    });
    Ok((offered.collect(), notices))
}
