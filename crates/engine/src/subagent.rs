//! Agents that work for another agent: each in a session file of its own, under its parent's rules, with its
//! questions in the parent's front end. Only a bounded report comes back.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use zdx_protocol::display::text::one_line;
use zdx_protocol::display::{labels, titles};
use zdx_protocol::facts::TASK;
use zdx_protocol::record::{TaskAnswer, TaskCalls};
use zdx_protocol::{
    ApprovalRequest, CallOrigin, Event, Level, NoticeLevel, Outcome, Prompt, SessionInfo, ToolCode,
    ToolError, ToolOutput, TurnSummary, Usage,
};

use crate::backend::Backend;
use crate::backend::native::Seed;
use crate::call::TurnIo;
use crate::persona::Persona;
use crate::session::Session;
use crate::turn;
use zdx_tools::ToolRunContext;
use zdx_tools::registry::ToolRegistry;
use zdx_tools::task::{SubagentLauncher, SubagentTask, TaskTool};

/// What a parent reads of a report; the whole is in the child's session.
const REPORT_LIMIT: usize = 16 << 10;
const EVENT_QUEUE: usize = 64;

/// Of the answers to a child that are told again, and of what each is about.
const MOST_ANSWERS: usize = 50;
const ABOUT_COLUMNS: usize = 400;

/// Launches subagents as child sessions.
pub(crate) struct Subagents {
    /// The parent.
    session: Session,
    /// The parent's backend as it is now, read at each launch. None: it launches no agents of ours.
    seed: Mutex<Option<Seed>>,
    /// Calls that children were denied in the parent's turn.
    denied: AtomicU32,
    /// The tokens that children used in the parent's turn.
    used: Mutex<Usage>,
    /// Permits for children at work (`tasks.max_parallel`): each is a stream of requests of its own.
    running: Semaphore,
}

/// Names a subagent to its parent's front end.
struct TaskLabel<'a> {
    agent: &'a str,
    /// The call of the parent that it works for, and on what.
    task: &'a str,
    about: &'a str,
    root: &'a Path,
}

/// One child at work.
struct Child {
    backend: Backend,
    session: Session,
    /// Without `task`: children have no children.
    registry: Arc<ToolRegistry>,
}

impl Subagents {
    pub(crate) fn new(session: Session) -> Self {
        let running = Semaphore::new(session.spec.config.tasks.max_parallel);
        Self {
            session,
            seed: Mutex::default(),
            denied: AtomicU32::default(),
            used: Mutex::default(),
            running,
        }
    }

    /// Returns the tools of an agent that the user talks to: those of every agent, and `task` for the agents that its rules
    /// let it launch.
    pub(crate) fn offered(self: &Arc<Self>, persona: &Persona) -> Arc<ToolRegistry> {
        let mut registry = self.session.tools_for(persona);
        let allowed = |agent: &str| persona.rules.named(TASK.permission.key, &[agent]).level != Level::Deny;
        if let Some(task) = TaskTool::new(Arc::clone(self) as Arc<dyn SubagentLauncher>, allowed) {
            registry.add(Arc::new(task));
        }
        Arc::new(registry)
    }

    /// Sets the backend that children launched from now on have.
    pub(crate) fn set_seed(&self, seed: Option<Seed>) {
        *self.seed.lock().unwrap_or_else(PoisonError::into_inner) = seed;
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
        // The tasks that wait here start in order as others end.
        let _permit = tokio::select! {
            biased;
            () = call.cancel.cancelled() => None,
            permit = self.running.acquire() => permit.ok(),
        };
        let (events, inbox) = mpsc::channel(EVENT_QUEUE);
        let child = match self.make(&agent, &call.id, events) {
            Ok(child) => child,
            Err(error) => return ToolOutput::Err(error),
        };
        let session = child.session.id().to_string();
        let name = child.session.persona().name.clone();
        let root = child.session.root().to_owned();
        let label = TaskLabel { agent: &name, task: &call.id, about: &about, root: &root };
        let (summary, (error, calls, answers)) = tokio::join!(
            self.turn(child, prompt, call.id.clone(), call.cancel),
            self.forward(&label, inbox, call.progress)
        );
        call.beside.set(|beside| (beside.task, beside.answers) = (Some(calls), answers));
        self.denied.fetch_add(summary.denied, Ordering::Relaxed);
        self.used.lock().unwrap_or_else(PoisonError::into_inner).add(summary.usage);
        report(&name, &session, &summary, error)
    }

    fn make(&self, agent: &str, call: &str, events: mpsc::Sender<Event>) -> Result<Child, ToolError> {
        let Some(seed) = self.seed.lock().unwrap_or_else(PoisonError::into_inner).clone() else {
            return Err(ToolError::new(ToolCode::Internal, "no agent can be launched here"));
        };
        let persona = self.session.spec.personas.subagent(agent, &self.session.policy.now().rules);
        let persona = persona.map_err(|error| ToolError::new(ToolCode::UnknownAgent, error.to_string()))?;
        let registry = Arc::new(self.session.tools_for(&persona));
        let backend = Backend::Native(Box::new(seed.grow(&persona, &registry)?));
        let session = self.session.child(call, Arc::new(persona), events);
        let session = session.map_err(|error| ToolError::new(ToolCode::Internal, error.to_string()))?;
        Ok(Child { backend, session, registry })
    }

    /// `call` is the parent's call that the child works for.
    async fn turn(
        &self,
        child: Child,
        prompt: String,
        call: String,
        cancel: CancellationToken,
    ) -> TurnSummary {
        let Child { mut backend, session, registry } = child;
        let info = {
            let (backend, agent) = (backend.info(), session.persona().name.clone());
            SessionInfo {
                session: session.id().to_string(),
                root: session.root().to_owned(),
                model: backend.model.clone(),
                agent,
                approval: session.policy.approval(),
                context_limit: backend.context.limit(),
                resumed: false,
                saved: session.is_saved(),
                parent: Some(self.session.id().to_string()),
                task: Some(call),
                one_prompt: false,
                last: None,
            }
        };
        let agent = info.agent.clone();
        session.events.emit(Event::SessionStarted(info)).await;
        session.events.emit(Event::AgentChanged { agent }).await;
        let io = TurnIo::new(session, registry, cancel);
        turn::run_prompt(&mut backend, Prompt::from(prompt), &io).await
    }

    /// Passes on what a front end must know of (questions, calls, warnings) and keeps the rest in the child's own file.
    /// Gives back the last error, how many calls there were, and what was answered about them.
    async fn forward(
        &self,
        label: &TaskLabel<'_>,
        mut inbox: mpsc::Receiver<Event>,
        progress: mpsc::Sender<String>,
    ) -> (Option<String>, TaskCalls, Vec<TaskAnswer>) {
        let (mut last_error, mut calls) = (None, TaskCalls::default());
        let mut answers = Answers::default();
        while let Some(event) = inbox.recv().await {
            answers.note(&event, label.root);
            match &event {
                Event::Error { message, .. } => last_error = Some(message.clone()),
                Event::ToolRequested { name, input, .. } => {
                    calls.calls += 1;
                    // A full queue drops the line: progress is never waited for.
                    let _ = progress.try_send(format!("{}: {}\n", label.agent, labels::call(name, input)));
                }
                Event::ToolFinished { name, result, .. } => {
                    let failed = !titles::ended(name, result).well;
                    let denied = result.is_refused();
                    calls.failed += u32::from(failed && !denied);
                    calls.denied += u32::from(denied);
                }
                _ => {}
            }
            if let Some(event) = passed_on(event, label) {
                self.session.events.pass_on(event).await;
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
        let known = self.session.spec.personas.launchable().into_iter();
        known.map(|(name, about)| (name.to_owned(), about.to_owned())).collect()
    }

    fn launch(&self, work: SubagentTask, call: ToolRunContext) -> BoxFuture<'_, ToolOutput> {
        async move { self.run(work, call).await }.boxed()
    }
}

/// A child's event as its parent's front end hears it: in the child's name, and under ids of its own.
fn passed_on(event: Event, label: &TaskLabel<'_>) -> Option<Event> {
    let TaskLabel { agent, task, about, .. } = *label;
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
        Event::ToolFinished { id, name, result, content, diff, duration_ms, reads, beside, .. } => {
            let id = own(id);
            Event::ToolFinished { id, name, origin, result, content, diff, duration_ms, reads, beside }
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
