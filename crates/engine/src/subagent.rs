//! Agents that work for another agent: each in a session file of its own, under its parent's rules, with its
//! questions in the parent's front end. Only a bounded report comes back.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zdx_protocol::display::text::one_line;
use zdx_protocol::display::{labels, titles};
use zdx_protocol::record::{TaskAnswer, TaskCalls};
use zdx_protocol::redact::Redactor;
use zdx_protocol::{
    ApprovalRequest, CallOrigin, Event, NoticeLevel, Outcome, Prompt, SessionInfo, ToolCode, ToolError,
    ToolOutput, Transcript, TurnSummary, Usage,
};

use crate::backend::Backend;
use crate::backend::native::Seed;
use crate::call::{CallContext, TurnIo};
use crate::emit::Emitter;
use crate::in_force::InForce;
use crate::persona::{Offer, Persona, Personas};
use crate::turn;
use zdx_store::{SessionId, SessionLog, SessionStore};
use zdx_tools::registry::ToolRegistry;
use zdx_tools::task::{SubagentLauncher, SubagentTask};
use zdx_tools::todo::TodoList;
use zdx_tools::{ToolContext, ToolRunContext};
use zdx_workspace::workspace::Workspace;

/// What a parent reads of a report; the whole is in the child's session.
const REPORT_LIMIT: usize = 16 << 10;
const EVENT_QUEUE: usize = 64;

/// Of the answers to a child that are told again, and of what each is about.
const MOST_ANSWERS: usize = 50;
const ABOUT_COLUMNS: usize = 400;

/// What children are made from. The parent's backend and rules change while it runs: they are read at each launch.
pub(crate) struct Subagents {
    pub personas: Arc<Personas>,
    /// None: the parent is not saved, so neither are its children.
    pub store: Option<SessionStore>,
    /// What their calls share with the parent's; each has tools of its own.
    pub calls: CallContext,
    pub offer: Offer,
    pub redactor: Arc<Redactor>,
    /// The parent's way to its front end, for questions and warnings.
    pub events: mpsc::Sender<Event>,
    pub parent: SessionId,
    pub now: Mutex<Option<ParentState>>,
    /// Calls that children were denied in the parent's turn.
    pub denied: AtomicU32,
    /// What children used in the parent's turn.
    pub used: Mutex<Usage>,
}

/// The parent as it is at this moment.
#[derive(Clone)]
pub(crate) struct ParentState {
    pub seed: Seed,
    pub policy: InForce,
}

/// Who tells something to the parent's front end.
struct Who<'a> {
    agent: &'a str,
    /// The call of the parent that it works for, and on what.
    task: &'a str,
    about: &'a str,
    root: &'a Path,
}

/// One child at work.
struct Child {
    backend: Backend,
    persona: Arc<Persona>,
    policy: InForce,
    info: SessionInfo,
    log: SessionLog,
    workspace: Arc<Workspace>,
    /// Without `task`: children have no children.
    registry: Arc<ToolRegistry>,
}

impl Subagents {
    /// What an agent that the user talks to is offered under its rules.
    pub(crate) fn offered(self: &Arc<Self>, persona: &Persona) -> Arc<ToolRegistry> {
        Arc::new(self.offer.tools_and_tasks(persona, Arc::clone(self) as Arc<dyn SubagentLauncher>))
    }

    /// The parent's backend and rules, for children launched from now on. None: it launches no agents of ours.
    pub(crate) fn set_parent(&self, state: Option<ParentState>) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// What was denied to children since this was last asked: the parent's turn answers for them.
    pub(crate) fn take_denied(&self) -> u32 {
        self.denied.swap(0, Ordering::Relaxed)
    }

    /// What children used since this was last asked: a turn costs what they cost, too.
    pub(crate) fn take_used(&self) -> Usage {
        std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// `call` is the parent's call that this is done for.
    async fn run(&self, work: SubagentTask, call: ToolRunContext) -> ToolOutput {
        let SubagentTask { agent, prompt, about } = work;
        let child = match self.make(&agent, &call.id) {
            Ok(child) => child,
            Err(error) => return ToolOutput::Err(error),
        };
        let session = child.info.session.clone();
        let name = child.persona.name.clone();
        let (events, inbox) = mpsc::channel(EVENT_QUEUE);
        let root = child.info.root.clone();
        let who = Who { agent: &name, task: &call.id, about: &about, root: &root };
        let (summary, (error, calls, answers)) = tokio::join!(
            self.turn(child, prompt, call.cancel, events),
            self.forward(&who, inbox, call.progress)
        );
        call.beside.set(|beside| (beside.task, beside.answers) = (Some(calls), answers));
        self.denied.fetch_add(summary.denied, Ordering::Relaxed);
        self.used.lock().unwrap_or_else(PoisonError::into_inner).add(summary.usage);
        report(&name, &session, &summary, error)
    }

    fn make(&self, agent: &str, call: &str) -> Result<Child, ToolError> {
        let state = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(ParentState { seed, policy }) = state else {
            return Err(ToolError::new(ToolCode::Internal, "no agent can be launched here"));
        };
        let now = policy.now();
        let persona = self.personas.subagent(agent, &now.rules);
        let persona = persona.map_err(|error| ToolError::new(ToolCode::UnknownAgent, error.to_string()))?;
        let registry = Arc::new(self.offer.tools(&persona));
        let backend = Backend::Native(Box::new(seed.grow(&persona, &registry)?));
        let id = SessionId::random();
        let blobs = self.store.as_ref().map(|store| store.blobs(id));
        let workspace = self.calls.tools.workspace.for_child(call, blobs);
        let workspace = workspace.map_err(|error| ToolError::new(ToolCode::Internal, error.to_string()))?;
        let info = SessionInfo {
            session: id.to_string(),
            root: now.root,
            model: backend.info().model.clone(),
            agent: persona.name.clone(),
            approval: now.approval,
            context_limit: backend.info().context.limit(),
            resumed: false,
            saved: self.store.is_some(),
            parent: Some(self.parent.to_string()),
            task: Some(call.to_owned()),
            one_prompt: false,
            last: None,
        };
        Ok(Child {
            backend,
            policy: policy.under(Arc::clone(&persona.rules)),
            persona: Arc::new(persona),
            info,
            workspace: Arc::new(workspace),
            registry,
            log: self.store.as_ref().map_or_else(|| SessionLog::disabled(id), |store| store.create(id)),
        })
    }

    async fn turn(
        &self,
        mut child: Child,
        prompt: String,
        cancel: CancellationToken,
        events: mpsc::Sender<Event>,
    ) -> TurnSummary {
        let redactor = Arc::clone(&self.redactor);
        let emit = Emitter::new(child.log, Transcript::default(), redactor, events, None);
        child.workspace.journal().record_to(emit.recorder());
        emit.emit(Event::SessionStarted(child.info)).await;
        emit.emit(Event::AgentChanged { agent: child.persona.name.clone() }).await;
        let todos = Arc::new(TodoList::default());
        let tools = ToolContext { todos, workspace: child.workspace, ..self.calls.tools.clone() };
        let calls = CallContext { tools, registry: child.registry, ..self.calls.clone() };
        let io = TurnIo::new(emit, &calls, child.persona, child.policy, cancel);
        turn::run_prompt(&mut child.backend, Prompt::from(prompt), &io).await
    }

    /// Passes on what a front end must know of (questions, calls, warnings) and keeps the rest in the child's own file.
    /// Gives back the last error, how many calls there were, and what was answered about them.
    async fn forward(
        &self,
        who: &Who<'_>,
        mut inbox: mpsc::Receiver<Event>,
        progress: mpsc::Sender<String>,
    ) -> (Option<String>, TaskCalls, Vec<TaskAnswer>) {
        let (mut last_error, mut calls) = (None, TaskCalls::default());
        let mut answers = Answers::default();
        while let Some(event) = inbox.recv().await {
            answers.note(&event, who.root);
            match &event {
                Event::Error { message, .. } => last_error = Some(message.clone()),
                Event::ToolRequested { name, input, .. } => {
                    calls.calls += 1;
                    // A full queue drops the line: progress is never waited for.
                    let _ = progress.try_send(format!("{}: {}\n", who.agent, labels::call(name, input)));
                }
                Event::ToolFinished { name, result, .. } => {
                    let failed = !titles::ended(name, result).well;
                    let denied = result.is_refused();
                    calls.failed += u32::from(failed && !denied);
                    calls.denied += u32::from(denied);
                }
                _ => {}
            }
            if let Some(event) = passed_on(event, who) {
                let _ = self.events.send(event).await;
            }
        }
        (last_error, calls, answers.given)
    }
}

/// What was answered about calls of a child. Its parent's session keeps that: there it is told again.
#[derive(Default)]
struct Answers {
    /// Calls that are not over: id, tool, what it is about.
    open: Vec<(String, String, String)>,
    given: Vec<TaskAnswer>,
}

impl Answers {
    fn note(&mut self, event: &Event, root: &Path) {
        match event {
            Event::ToolRequested { id, name, input, .. } => {
                let about = one_line(&titles::title(name, input, Some(root)).subject, ABOUT_COLUMNS);
                self.open.push((id.clone(), name.clone(), about));
            }
            Event::ApprovalResolved { id, decision, grant, by, .. } if self.given.len() < MOST_ANSWERS => {
                let Some((_, tool, about)) = self.open.iter().find(|(open, ..)| open == id) else { return };
                let (tool, about, decision) = (tool.clone(), about.clone(), decision.clone());
                self.given.push(TaskAnswer { tool, about, decision, grant: grant.clone(), by: by.clone() });
            }
            Event::ToolFinished { id, .. } => self.open.retain(|(open, ..)| open != id),
            _ => {}
        }
    }
}

impl SubagentLauncher for Subagents {
    fn launchable(&self) -> Vec<(String, String)> {
        let known = self.personas.launchable().into_iter();
        known.map(|(name, about)| (name.to_owned(), about.to_owned())).collect()
    }

    fn launch(&self, work: SubagentTask, call: ToolRunContext) -> BoxFuture<'_, ToolOutput> {
        async move { self.run(work, call).await }.boxed()
    }
}

/// A child's event as its parent's front end hears it: in the child's name, and under ids of its own.
fn passed_on(event: Event, who: &Who<'_>) -> Option<Event> {
    let Who { agent, task, about, .. } = *who;
    let own = |id: String| format!("{task}/{id}");
    let origin = CallOrigin::Subagent;
    Some(match event {
        Event::ApprovalRequested(question) => Event::ApprovalRequested(ApprovalRequest {
            agent: Some(agent.to_owned()),
            task: Some(about.to_owned()),
            id: own(question.id),
            ..question
        }),
        Event::ApprovalResolved { request, id, decision, grant, by } => {
            Event::ApprovalResolved { request, id: own(id), decision, grant, by }
        }
        Event::ApprovalWithdrawn { request, id } => Event::ApprovalWithdrawn { request, id: own(id) },
        Event::ToolRequested { id, name, input, raw, .. } => {
            let parent = Some(task.to_owned());
            Event::ToolRequested { id: own(id), name, input, raw, signature: None, origin, parent }
        }
        Event::ToolStarted { id, name, kind, locations, preview, .. } => {
            Event::ToolStarted { id: own(id), name, origin, kind, locations, preview }
        }
        Event::ToolProgress { id, chunk } => Event::ToolProgress { id: own(id), chunk },
        Event::ToolFinished { id, name, result, diff, duration_ms, reads, beside, .. } => {
            Event::ToolFinished { id: own(id), name, origin, result, diff, duration_ms, reads, beside }
        }
        Event::Notice { level: NoticeLevel::Warning, message, kept: false } => {
            Event::Notice { level: NoticeLevel::Warning, message: format!("{agent}: {message}"), kept: false }
        }
        _ => return None,
    })
}

fn report(agent: &str, session: &str, summary: &TurnSummary, error: Option<String>) -> ToolOutput {
    let failed = |code, message: String| ToolOutput::error(code, message);
    match summary.outcome {
        Outcome::Interrupted => return failed(ToolCode::Interrupted, format!("{agent} was interrupted")),
        Outcome::Error => {
            let why = error.unwrap_or_else(|| "its model failed".to_owned());
            return failed(ToolCode::TaskFailed, format!("{agent} could not finish: {why}"));
        }
        Outcome::Completed | Outcome::MaxSteps | Outcome::RepeatedCalls | Outcome::CheckFailed => {}
    }
    let mut data = json!({ "agent": agent, "session": session, "report": bounded(&summary.text) });
    if summary.outcome != Outcome::Completed {
        data["stopped"] = json!(error.unwrap_or_else(|| "a limit was reached".to_owned()));
    }
    if summary.text.trim().is_empty() {
        data["note"] = json!("it ended without a report");
    }
    ToolOutput::Ok(data)
}

fn bounded(report: &str) -> String {
    if report.len() <= REPORT_LIMIT {
        return report.to_owned();
    }
    let cut = report.floor_char_boundary(REPORT_LIMIT);
    format!("{}\n… {} more bytes in the session of this task", &report[..cut], report.len() - cut)
}
