//! What a front end may ask of a session (completions, agents, models, sessions, context …), answered beside a turn:
//! nothing here waits for one, and nothing here changes the conversation.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::watch;
use zdx_models::ModelError;
use zdx_protocol::display::approval::{grant_words, meant_grants};
use zdx_protocol::display::format::{ago, path};
use zdx_protocol::display::text::one_line;
use zdx_protocol::query::{
    AgentInfo, Completions, Drafted, FilesChanged, Grants, ModelOffer, Named, SessionSummary, Setting,
    SpilledOutput, Then,
};
use zdx_protocol::slash::{self, COMMANDS, SlashCommand};
use zdx_protocol::{
    CheckChoice, CheckState, ErrorKind, Event, ImageInfo, McpServer, McpState, Open, Query, Reply,
    SessionPick, Todo, Transcript, TrustState,
};

use crate::activity::SessionActivity;
use crate::added_folders;
use crate::backend::native::ModelLister;
use crate::backend::{Backend, BackendInfo, started};
use crate::context::complete::{Completer, Name, Names};
use crate::git;
use crate::history::{Asker, Handoff, file_changes, summarize};
use crate::prompt_history::PromptHistory;
use crate::session::Session;
use zdx_config::EffectiveConfig;
use zdx_config::describe;
use zdx_config::library::AgentRole;
use zdx_store::{SessionFindError, SessionId, SessionOpenError, is_same_root};

/// The size of a picture stands behind the notes of its camera.
const IMAGE_HEADER: u64 = 256 << 10;

/// Answers questions about a session and its backend.
pub(crate) struct Queries {
    pub session: Session,
    backend: watch::Receiver<BackendInfo>,
    model_lister: Option<ModelLister>,
    /// One for all questions: it knows which folders hang.
    completer: Completer,
}

/// Why there is nothing to run or to answer.
pub(crate) const NO_CHECK: &str =
    "there is no check here: nothing in this folder suggests one, and validation.command sets one";

/// Why there is no answer.
pub(crate) struct NoAnswer {
    pub kind: ErrorKind,
    pub message: String,
}

impl NoAnswer {
    fn new(kind: ErrorKind, why: impl ToString) -> Self {
        Self { kind, message: why.to_string() }
    }
}

impl Queries {
    pub(crate) fn new(session: Session, backend: &Backend) -> Self {
        let home = session.spec.setup.paths.home().map(PathBuf::from);
        Self {
            backend: backend.subscribe(),
            model_lister: backend.model_lister(),
            completer: Completer::new(session.root().to_owned(), home),
            session,
        }
    }

    pub(crate) async fn answer(self: Arc<Self>, query: Query) -> Result<Reply, NoAnswer> {
        match query {
            Query::Agents => self.agents().await.map(Reply::Agents),
            Query::Skills => Ok(Reply::Skills(named(
                self.session
                    .spec
                    .skills
                    .iter()
                    .map(|skill| (skill.name.as_str(), skill.description.as_str())),
            ))),
            Query::Commands => {
                let commands = self.session.spec.commands.iter();
                let commands = commands.map(|command| (command.name.as_str(), command.description.as_str()));
                let mut commands = named(commands);
                commands.extend(self.session.spec.servers.prompts());
                commands.extend(self.backend.borrow().commands.iter().map(|command| Named {
                    name: command.name.clone(),
                    description: command.description.clone(),
                }));
                Ok(Reply::Commands(commands))
            }
            Query::Mcp => Ok(Reply::Mcp(self.session.mcp())),
            Query::Models => self.models().await.map(Reply::Models),
            Query::Context => {
                let size = self.session.events.transcript().size();
                let usage = self.backend.borrow().context.usage(size);
                usage.map(Reply::Context).ok_or_else(|| not_ours("how full its context is"))
            }
            Query::Todos => Ok(Reply::Todos {
                items: self.session.todos(),
                draft: self.session.state.tools.todos.is_draft(),
            }),
            Query::Config => Ok(Reply::Config(self.session.config())),
            Query::Summary => self.session.summary().await.map(Reply::Summary),
            Query::Handoff { goal } => self.session.handoff(&goal).await.map(Reply::Handoff),
            // These look at files, which can hang on a dead mount.
            Query::Completions { line, cursor } => {
                let question = self.completer.ask();
                let complete = move || Ok(Reply::Completions(self.completions(question, &line, cursor)));
                off_thread(complete).await
            }
            Query::Sessions { limit } => {
                off_thread(move || self.session.sessions(limit).map(Reply::Sessions)).await
            }
            Query::FilesChanged => {
                off_thread(move || Ok(Reply::FilesChanged(self.session.files_changed()))).await
            }
            Query::SpilledOutput { file } => {
                off_thread(move || self.session.spilled_output(&file).map(Reply::SpilledOutput)).await
            }
            Query::Image { path } => off_thread(move || Ok(Reply::Image(self.session.image(&path)))).await,
            Query::Trust => off_thread(move || self.session.trust()).await,
            Query::Grants => off_thread(move || Ok(Reply::Grants(self.session.granted()))).await,
            Query::AddedFolders => Ok(Reply::AddedFolders(added_folders::listed(
                &self.session.policy.grants,
                self.session.root(),
            ))),
            Query::GitBranch => {
                off_thread(move || Ok(Reply::GitBranch(git::branch(self.session.root())))).await
            }
        }
    }

    async fn agents(&self) -> Result<Vec<AgentInfo>, NoAnswer> {
        let backend = started(&self.backend).await;
        match &backend.modes {
            Some(modes) if modes.offered.is_empty() => return Err(not_told(&backend, "which modes it has")),
            Some(modes) => return Ok(modes.offered.clone()),
            None => {}
        }
        let at_work = self.session.persona();
        let agents = self.session.spec.personas.agents.iter().filter(|agent| !agent.hidden);
        let info = agents.map(|agent| AgentInfo {
            name: agent.name.clone(),
            description: agent.description.clone(),
            in_use: agent.name == at_work.name,
            primary: agent.mode.serves(AgentRole::Primary),
        });
        Ok(info.collect())
    }

    async fn models(&self) -> Result<Vec<ModelOffer>, NoAnswer> {
        if let Some(lister) = &self.model_lister {
            // Servers like to quote the key that they refuse.
            let masked =
                |error: ModelError| self.session.events.redactor().redact(&error.to_string()).into_owned();
            let offered = lister.offers().await;
            return offered.map_err(|error| NoAnswer::new(ErrorKind::Provider, masked(error)));
        }
        let backend = started(&self.backend).await;
        let offer = |name: &String| ModelOffer { name: name.clone(), context_limit: None };
        let offered = backend.models.as_ref().map(|models| models.iter().map(offer).collect());
        offered.ok_or_else(|| not_told(&backend, "which models it could use"))
    }

    fn completions(&self, question: u64, line: &str, cursor: usize) -> Completions {
        let ours = || {
            let agents = self.session.spec.personas.agents.iter();
            let agents = agents.filter(|agent| !agent.hidden && agent.mode.serves(AgentRole::Primary));
            agents.map(|agent| Name::new(&agent.name, &agent.description)).collect()
        };
        let backend = self.backend.borrow().clone();
        let modes = backend.modes.map(|modes| modes.offered.into_iter());
        let modes = modes.map(|modes| modes.map(|mode| Name::new(mode.name, mode.description)));
        let own = self.session.spec.commands.iter().map(|command| Name {
            hint: command.hint.as_ref().map(|hint| format!(" {hint}")).unwrap_or_default(),
            then: Then::Line,
            ..Name::new(&command.name, &command.description)
        });
        let prompts = self
            .session
            .spec
            .servers
            .prompts()
            .into_iter()
            .map(|prompt| Name::new(prompt.name, prompt.description));
        let in_use = backend.model;
        let theirs = backend.commands.into_iter().map(|command| Name {
            hint: command.hint.map(|hint| format!(" {hint}")).unwrap_or_default(),
            then: Then::Line,
            ..Name::new(command.name, command.description)
        });
        let models = backend.models.unwrap_or_default().into_iter();
        let mut models: Vec<Name> = models.map(|model| Name::new(model, "")).collect();
        models.retain(|model| model.name != in_use);
        models.insert(0, Name::new(in_use, "in use"));
        let names = Names {
            agents: modes.map_or_else(ours, Iterator::collect),
            commands: COMMANDS.iter().map(built_in).chain(own).chain(prompts).chain(theirs).collect(),
            models,
            resources: self.session.resources(),
            sessions: &|| {
                let sessions = self.session.sessions(MOST_SESSIONS).unwrap_or_default();
                let now = Timestamp::now();
                sessions.into_iter().map(|session| self.session.session_name(session, now)).collect()
            },
            turns: &|| turns(&self.session.events.transcript()),
            grants: &|| self.session.grants_by_name(),
        };
        self.completer.complete(question, line, cursor, &names)
    }
}

/// Questions and commands that need no backend.
impl Session {
    /// Compares what tools left in files with what is there now.
    pub(crate) async fn changed_since(&self) -> file_changes::OvertakenFiles {
        let files = file_changes::net_changes(&self.events.transcript());
        let workspace = Arc::clone(self.workspace());
        tokio::task::spawn_blocking(move || file_changes::overtaken(&files, &workspace))
            .await
            .unwrap_or_default()
    }

    /// Writes a redacted line to the prompt history, where sessions are saved.
    pub(crate) async fn remember(&self, line: String) {
        if !self.spec.setup.save {
            return;
        }
        let history = PromptHistory::new(self.spec.setup.paths.history_file());
        // A history that cannot be written is no reason to stop.
        let _ = tokio::task::spawn_blocking(move || history.append(&line, Timestamp::now())).await;
    }

    fn spilled_output(&self, file: &Path) -> Result<SpilledOutput, NoAnswer> {
        let read = self.state.tools.shell.spill().map(|folder| folder.read(file));
        let read = read.unwrap_or_else(|| Err(std::io::ErrorKind::NotFound.into()));
        read.map_err(|error| NoAnswer::new(ErrorKind::Session, format!("{}: {error}", file.display())))
    }

    fn image(&self, path: &str) -> Option<ImageInfo> {
        let target = self.workspace().resolve(path).ok()?;
        let opened = self.workspace().open_file(&target).ok()?;
        let mut start = Vec::new();
        opened.file.take(IMAGE_HEADER).read_to_end(&mut start).ok()?;
        ImageInfo::of(&start)
    }

    fn resources(&self) -> Vec<Name> {
        self.spec.servers.resources().into_iter().map(|(uri, about)| Name::new(uri, about)).collect()
    }

    /// The servers, with what the agent at work has of them.
    fn mcp(&self) -> Vec<McpServer> {
        let mask = |text: String| self.events.redactor().redact(&text).into_owned();
        let servers = self.persona().shelf(&self.spec.servers).view();
        servers.into_iter().map(|server| McpServer { error: server.error.map(mask), ..server }).collect()
    }

    fn todos(&self) -> Vec<Todo> {
        let masked =
            |todo: Todo| Todo { content: self.events.redactor().redact(&todo.content).into_owned(), ..todo };
        self.state.tools.todos.items().into_iter().map(masked).collect()
    }

    fn files_changed(&self) -> FilesChanged {
        let changes = file_changes::net_changes(&self.events.transcript());
        let store = self.store();
        file_changes::report(&changes, self.saved_id().map(|id| (&store, id)), self.workspace())
    }

    fn sessions(&self, limit: usize) -> Result<Vec<SessionSummary>, NoAnswer> {
        let failed = |error| NoAnswer::new(ErrorKind::Session, error);
        let mut found = self.store().list_for(self.root(), (limit > 0).then_some(limit)).map_err(failed)?;
        let own = self.saved_id().map(|id| id.to_string());
        found.iter_mut().for_each(|session| session.in_use &= Some(&session.id) != own.as_ref());
        Ok(found)
    }

    /// A session by when it was, where if that is elsewhere, and how it began.
    fn session_name(&self, session: SessionSummary, now: Timestamp) -> Name {
        let elsewhere = session.root.as_deref().filter(|root| !is_same_root(root, self.root()));
        let folder = elsewhere.map(|root| path(root, self.spec.setup.paths.home()));
        let in_use = session.in_use.then(|| "open in another zdx".to_owned());
        let known = [Some(ago(session.when, now)), in_use, folder, session.first_prompt];
        Name::new(session.id, known.into_iter().flatten().collect::<Vec<_>>().join(" · "))
    }

    fn trust(&self) -> Result<Reply, NoAnswer> {
        let place = self.spec.setup.place(self.root());
        let failed = |error| NoAnswer::new(ErrorKind::Config, error);
        let state = EffectiveConfig::read(place).map_err(failed)?.state(place);
        // What they want is worth knowing when they get it, too.
        let wants = EffectiveConfig::untrusted(place).map_err(failed)?.wants;
        Ok(Reply::Trust(TrustState { wants, ..state }))
    }

    fn granted(&self) -> Grants {
        let (session, project) = self.policy.grants.by_scope(self.root());
        Grants { approval: self.policy.now().approval, root: self.root().to_owned(), session, project }
    }

    fn grants_by_name(&self) -> Vec<Name> {
        let (session, project) = self.policy.grants.by_scope(self.root());
        let name = |scope: &'static str| {
            move |grant: String| Name::new(grant_words(&grant, Some(self.root())), scope)
        };
        session
            .into_iter()
            .map(name("for this session"))
            .chain(project.into_iter().map(name("for this project")))
            .collect()
    }

    fn config(&self) -> Vec<Setting> {
        let setting = |setting: zdx_config::ConfigSetting| Setting {
            key: setting.key,
            value: setting.value,
            source: setting.source.to_string(),
        };
        describe(&self.spec.resolved).into_iter().map(setting).collect()
    }

    fn asker(&self) -> Asker {
        Asker {
            config: Arc::clone(&self.spec.config),
            env: self.spec.setup.env.clone(),
            explicit_model: self.spec.explicit_model.clone(),
        }
    }

    async fn summary(&self) -> Result<Drafted, NoAnswer> {
        let activity = self.activity().await?;
        let summary = summarize(&activity, &self.asker()).await;
        let note = summary.fallback.map(|why| format!("{why}; this summary is made from the session itself"));
        Ok(self.masked(Drafted { text: summary.text, note }))
    }

    async fn handoff(&self, goal: &str) -> Result<Drafted, NoAnswer> {
        let activity = self.activity().await?;
        let handoff =
            Handoff { goal, root: self.root(), activity: &activity, redactor: self.events.redactor() };
        let bundle = handoff.prepare(&self.asker()).await;
        Ok(self.masked(Drafted { text: bundle.markdown, note: bundle.notice }))
    }

    fn masked(&self, drafted: Drafted) -> Drafted {
        let mask = |text: String| self.events.redactor().redact(&text).into_owned();
        Drafted { text: mask(drafted.text), note: drafted.note.map(mask) }
    }

    /// What the session's file says of it.
    async fn activity(&self) -> Result<SessionActivity, NoAnswer> {
        let id = self.recorded_id()?;
        let store = self.store();
        off_thread(move || {
            SessionActivity::read(&store, id).map_err(|error| NoAnswer::new(ErrorKind::Session, error))
        })
        .await
    }

    /// The next server that comes up, fails or has something else: for everybody to hear of.
    pub(crate) async fn server_changed(&self) -> Event {
        let server = self.spec.servers.changed().await;
        let seen = self.mcp().into_iter().find(|seen| seen.name == server.id);
        Event::McpChanged(seen.unwrap_or_else(|| McpServer::new(&server.id, McpState::Starting)))
    }

    /// Whether it is worth leaving this session for what is wanted. What can be told by a look at names is told here, before
    /// anything is interrupted.
    pub(crate) fn may_open(&self, open: &Open) -> Result<(), NoAnswer> {
        let failed = |error: SessionFindError| NoAnswer::new(ErrorKind::Session, error);
        match open {
            Open::New | Open::Resume(SessionPick::Latest | SessionPick::LatestHere) => Ok(()),
            Open::Resume(SessionPick::Id(prefix)) => match self.store().find(prefix).map_err(failed)? {
                id if self.saved_id() != Some(id) && self.store().is_in_use(id) => {
                    Err(NoAnswer::new(ErrorKind::Session, SessionOpenError::InUse(id)))
                }
                _ => Ok(()),
            },
            Open::Fork { .. } => self.recorded_id().map(drop),
            Open::Root(path) if self.root().join(path).is_dir() => Ok(()),
            Open::Root(path) => {
                let why = format!("cannot work in {}: it is no folder", path.display());
                Err(NoAnswer::new(ErrorKind::Config, why))
            }
        }
    }

    /// Returns the id of a session that has a turn on disk.
    pub(crate) fn recorded_id(&self) -> Result<SessionId, NoAnswer> {
        let id =
            self.saved_id().ok_or_else(|| NoAnswer::new(ErrorKind::Session, "this session is not saved"))?;
        let nothing = || NoAnswer::new(ErrorKind::Session, "nothing was said yet in this session");
        if self.events.transcript().turns == 0 { Err(nothing()) } else { Ok(id) }
    }

    /// Takes back all that is named so; what that was.
    pub(crate) async fn revoke(self, named: String) -> Result<Vec<String>, NoAnswer> {
        off_thread(move || {
            let failed = |error| NoAnswer::new(ErrorKind::Session, error);
            let (session, project) = self.policy.grants.by_scope(self.root());
            let all: Vec<String> = session.into_iter().chain(project).collect();
            let meant = meant_grants(&named, &all, self.root()).map_err(failed)?;
            let revoked =
                self.policy.grants.revoke(self.root(), |grant| meant.iter().any(|meant| meant == grant));
            match revoked {
                Ok(none) if none.is_empty() => {
                    let why = format!("nothing like {named:?} was allowed; /policy lists what was");
                    Err(NoAnswer::new(ErrorKind::Session, why))
                }
                Ok(revoked) => Ok(revoked),
                Err(error) => Err(NoAnswer::new(ErrorKind::Session, error)),
            }
        })
        .await
    }

    /// Answers the offer of a check, or only says how it stands.
    pub(crate) async fn check(self, choice: Option<CheckChoice>) -> Result<CheckState, NoAnswer> {
        let check = self.spec.check.clone().ok_or_else(|| NoAnswer::new(ErrorKind::Config, NO_CHECK))?;
        off_thread(move || match choice {
            Some(choice) => check.answer(choice).map_err(|why| NoAnswer::new(ErrorKind::Config, why)),
            None => Ok(check.state()),
        })
        .await
    }

    /// Lets a folder outside the workspace count like it, for this session.
    pub(crate) async fn add_folder(self, named: String) -> Result<PathBuf, NoAnswer> {
        off_thread(move || {
            let added =
                added_folders::add_named(&named, self.workspace(), &self.policy.now(), &self.policy.grants);
            added.map_err(|error| NoAnswer::new(ErrorKind::Session, error))
        })
        .await
    }

    /// Writes the session down as text; never over a file that is there.
    pub(crate) async fn export(self, path: Option<PathBuf>) -> Result<PathBuf, NoAnswer> {
        let id = self.recorded_id()?;
        let named = path.map(|path| self.root().join(path));
        let exports = self.spec.setup.paths.exports();
        off_thread(move || {
            let failed = |error| NoAnswer::new(ErrorKind::Session, error);
            match named {
                Some(path) => self.store().export(id, &path).map(|()| path).map_err(failed),
                None => self.store().export_into(id, &exports).map_err(failed),
            }
        })
        .await
    }
}

/// Of those that could be meant by the beginning of an id.
const MOST_SESSIONS: usize = 200;

fn built_in(command: &SlashCommand) -> Name {
    Name {
        aliases: command.aliases,
        hint: command.argument.shown().to_owned(),
        then: if command.argument.is_needed() { Then::Word } else { Then::Line },
        often: slash::often(command.name),
        ..Name::new(command.name, command.help)
    }
}

fn not_told(backend: &BackendInfo, what: &str) -> NoAnswer {
    match backend.is_starting {
        true => {
            NoAnswer::new(ErrorKind::Provider, "who answers here is still starting; ask again in a moment")
        }
        false => not_ours(what),
    }
}

fn not_ours(what: &str) -> NoAnswer {
    NoAnswer::new(ErrorKind::Provider, format!("who answers here does not say {what}"))
}

fn named<'a>(items: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Named> {
    items.map(|(name, about)| Named { name: name.to_owned(), description: about.to_owned() }).collect()
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, NoAnswer> + Send + 'static,
) -> Result<T, NoAnswer> {
    let broken = || NoAnswer::new(ErrorKind::Internal, "looking it up broke down; this is a defect of zdx");
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(broken()))
}

/// Those that can be gone back to, the last first, by what was asked.
fn turns(transcript: &Transcript) -> Vec<Name> {
    const COLUMNS: usize = 60;
    let prompts = transcript.prompts_since_compaction();
    let numbers = (1..=transcript.turns).rev();
    let told = |(number, prompt): (u32, &&str)| Name::new(number.to_string(), one_line(prompt, COLUMNS));
    numbers.zip(prompts.iter().rev()).map(told).collect()
}
