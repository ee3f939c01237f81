//! Maps the updates of an agent's turn to our events: messages, thoughts, calls with tools of its own, the plan. Keeps no more
//! of them than is needed to map the rest.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use serde_json::{Value, json};
use zdx_acp::shapes::{Block, Call, Calls, Update};
use zdx_protocol::facts::BASH;
use zdx_protocol::record::millis;
use zdx_protocol::{
    Action, CallKind, CallOrigin, ContextUsage, Event, Location, NoticeLevel, Origin, Preview, Reasoning,
    Todo, TodoStatus, ToolCode, ToolOutput,
};

use super::change::{self, Change, Ledger};
use super::offer;
use super::output::{cut, failure, output, texts};
use super::turn_host::RequestOutcome;
use crate::acp::Proposal;
use crate::call::{TurnIo, approve};

/// What is kept of an answer before it is saved as a part of it.
const LONGEST: usize = 1 << 20;
const MOST_TODOS: usize = 200;
const ORIGIN: CallOrigin = CallOrigin::Remote;

pub(super) struct EventMapper {
    io: TurnIo,
    pub(super) turn: u32,
    agent: String,
    text: String,
    /// What was saved of this message already.
    continues: bool,
    thought: String,
    /// The last message.
    said: String,
    calls: Calls,
    told: HashMap<String, MappedCall>,
    used: Option<ContextUsage>,
    denied: u32,
    /// Calls of its own that it may not make.
    refused: HashSet<String>,
    pub(super) ledger: Ledger,
    /// What a person said with a no, which the protocol has no place for.
    words: Vec<String>,
}

/// How far a call has been told.
struct MappedCall {
    name: String,
    began: Instant,
    /// A command that is proven to only read.
    only_reads: bool,
    started: bool,
    over: bool,
    /// What it has shown so far of what it prints.
    shown: String,
}

impl EventMapper {
    pub(super) fn new(io: TurnIo, turn: u32, agent: &str) -> Self {
        Self {
            io,
            turn,
            agent: agent.to_owned(),
            text: String::new(),
            continues: false,
            thought: String::new(),
            said: String::new(),
            calls: Calls::default(),
            told: HashMap::new(),
            used: None,
            denied: 0,
            refused: HashSet::new(),
            ledger: Ledger::default(),
            words: Vec::new(),
        }
    }

    pub(super) async fn update(&mut self, update: Update) {
        match update {
            Update::Message(block) => self.say(words(block)).await,
            Update::Thought(block) => self.think(words(block)).await,
            Update::Call(call) => drop(self.call(&call, false).await),
            Update::Plan(plan) => self.plan(&plan).await,
            Update::Notice { severity, text } => {
                let level = match severity.as_deref() {
                    Some("warning" | "error") => NoticeLevel::Warning,
                    Some(_) | None => NoticeLevel::Info,
                };
                self.io.session.events.notice(level, format!("{}: {text}", self.agent)).await;
            }
            Update::Unknown(update) if update["sessionUpdate"] == "usage_update" => {
                if let (Some(used), Some(size)) = (update["used"].as_u64(), update["size"].as_u64()) {
                    self.used = Some(offer::usage(used, size));
                }
            }
            Update::User(_)
            | Update::Commands(_)
            | Update::Mode(_)
            | Update::Options(_)
            | Update::Unknown(_) => {}
        }
    }

    async fn say(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.end_thought().await;
        self.text.push_str(&text);
        self.io.session.events.emit(Event::AssistantDelta { text }).await;
        if self.text.len() > LONGEST {
            self.end_text(true).await;
            self.continues = true;
        }
    }

    async fn think(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.end_text(false).await;
        self.thought.push_str(&text);
        self.io.session.events.emit(Event::ReasoningDelta { text }).await;
        if self.thought.len() > LONGEST {
            self.end_thought().await;
        }
    }

    /// What comes next is another message.
    pub(super) async fn pause(&mut self) {
        self.end_thought().await;
        self.end_text(false).await;
    }

    async fn end_text(&mut self, partial: bool) {
        let text = std::mem::take(&mut self.text);
        let continues = std::mem::take(&mut self.continues);
        if text.is_empty() {
            return;
        }
        match continues {
            true => self.said.push_str(&text),
            false => self.said.clone_from(&text),
        }
        self.io.session.events.emit(Event::AssistantFinal { text, partial, continues }).await;
    }

    async fn end_thought(&mut self) {
        let text = std::mem::take(&mut self.thought);
        if !text.is_empty() {
            let (wire, model) = ("acp".to_owned(), self.agent.clone());
            self.io
                .session
                .events
                .emit(Event::ReasoningFinal(Reasoning { text, wire, model, opaque: None, took_ms: None }))
                .await;
        }
    }

    /// Tells what is new of a call, and gives all that is known of it. It is told once it says what it is about: many name it
    /// first and its arguments later.
    pub(super) async fn call(&mut self, update: &Value, asked: bool) -> Value {
        let whole = self.calls.fold(update);
        let call = Call::read(&whole);
        let runs = call.is_over() || call.status.as_deref() == Some("in_progress");
        let named = call.title.is_some() || call.kind.is_some();
        let about = whole["rawInput"].as_object().is_some_and(|input| !input.is_empty())
            || !call.content.is_empty()
            || !call.locations.is_empty();
        if call.id.is_empty() || !(call.is_over() || named && (runs || asked || about)) {
            return whole;
        }
        self.pause().await;
        if !self.told.contains_key(&call.id) {
            let (name, input) = name(&whole);
            let told = MappedCall {
                name: name.clone(),
                began: Instant::now(),
                only_reads: self.only_reads(&whole).await,
                started: false,
                over: false,
                shown: String::new(),
            };
            self.told.insert(call.id.clone(), told);
            let (id, raw, signature, parent) = (self.id(&call.id), None, None, None);
            let event = Event::ToolRequested { id, name, input, raw, signature, origin: ORIGIN, parent };
            self.io.session.events.emit(event).await;
        }
        if runs {
            self.start(&call, &whole).await;
        }
        if call.is_over() {
            self.end_call(&call, &whole).await;
        } else if runs {
            self.progress(&call).await;
        }
        whole
    }

    /// What it shows while it runs is all that it showed so far, again and again.
    async fn progress(&mut self, call: &Call) {
        let id = self.id(&call.id);
        let Some(told) = self.told.get_mut(&call.id) else { return };
        let shown = cut(&texts(call));
        let chunk = match shown.strip_prefix(told.shown.as_str()) {
            Some(more) => more.to_owned(),
            None => format!("\n{shown}"),
        };
        told.shown = shown;
        if !chunk.is_empty() {
            self.io.session.events.emit(Event::ToolProgress { id, chunk }).await;
        }
    }

    /// Takes the outcome of a request of the agent. The time that a question about a call took is not the call's.
    pub(super) fn answered(&mut self, outcome: RequestOutcome) {
        let RequestOutcome { denied, call, word } = outcome;
        self.denied += u32::from(denied);
        self.words.extend(word);
        let Some(call) = call else { return };
        if let Some(told) = self.told.get_mut(&call) {
            told.began = Instant::now();
        }
        if denied {
            self.refused.insert(call);
        }
    }

    pub(super) fn take_words(&mut self) -> Vec<String> {
        std::mem::take(&mut self.words)
    }

    async fn start(&mut self, call: &Call, whole: &Value) {
        let id = self.id(&call.id);
        if self.told.get(&call.id).is_none_or(|told| told.started) {
            return;
        }
        let preview = preview(whole, &change::shown(whole, call.is_over(), &self.io).await);
        let Some(told) = self.told.get_mut(&call.id) else { return };
        told.started = true;
        let locations = call.locations.iter();
        let event = Event::ToolStarted {
            id,
            name: told.name.clone(),
            origin: ORIGIN,
            kind: kind(call.kind.as_deref()),
            locations: locations
                .map(|at| Location { path: self.io.session.root().join(&at.path), line: at.line })
                .collect(),
            preview,
        };
        self.io.session.events.emit(event).await;
    }

    async fn end_call(&mut self, call: &Call, whole: &Value) {
        let id = self.id(&call.id);
        if self.told.get(&call.id).is_none_or(|told| told.over) {
            return;
        }
        let changes = change::shown(whole, true, &self.io).await;
        let Some(told) = self.told.get_mut(&call.id) else { return };
        told.over = true;
        let result = match call.status.as_deref() {
            // Whatever it says of one that it was told not to make.
            Some("completed") if self.refused.contains(&call.id) => {
                let why = "it was not allowed, and the agent says that it is done all the same";
                ToolOutput::error(ToolCode::Rejected, why)
            }
            Some("failed") => ToolOutput::error(ToolCode::ExecError, failure(call)),
            Some("cancelled") => ToolOutput::error(ToolCode::Interrupted, "the agent stopped it"),
            Some(_) | None => ToolOutput::Ok(output(&told.name, call)),
        };
        // What we wrote for it was told where we did.
        let tells = result.is_ok() && !self.ledger.has_written(&changes);
        let diff = tells.then(|| cut(&change::diffs(&changes))).filter(|diff| !diff.is_empty());
        let duration_ms = millis(told.began.elapsed());
        let name = told.name.clone();
        let reads = reads(kind(call.kind.as_deref()), told.only_reads).filter(|_| changes.is_empty());
        let event = Event::ToolFinished {
            id,
            name,
            origin: ORIGIN,
            result,
            content: Vec::new(),
            diff,
            duration_ms,
            reads,
            beside: None,
        };
        self.io.session.events.emit(event).await;
    }

    /// Of a command, by our own guard: what an agent says of it proves nothing.
    async fn only_reads(&self, call: &Value) -> bool {
        match (call["kind"].as_str(), Proposal::of(call)) {
            (Some("execute"), Proposal::Run { command: Some(command), folder }) => {
                let root = self.io.session.root();
                let cwd = folder.map_or_else(|| root.to_owned(), |folder| root.join(folder));
                let origin = Origin::Model;
                approve::only_reads(&self.io, &Action::Command { command, cwd, origin }).await
            }
            _ => false,
        }
    }

    fn id(&self, call: &str) -> String {
        id(self.turn, call)
    }

    async fn plan(&mut self, plan: &Value) {
        let entries = plan["entries"].as_array().into_iter().flatten().take(MOST_TODOS);
        let todo = |(at, entry): (usize, &Value)| Todo {
            id: (at + 1).to_string(),
            content: entry["content"].as_str().unwrap_or_default().to_owned(),
            status: match entry["status"].as_str() {
                Some("in_progress") => TodoStatus::InProgress,
                Some("completed") => TodoStatus::Completed,
                Some(_) | None => TodoStatus::Pending,
            },
        };
        self.io.session.state.tools.todos.set(entries.enumerate().map(todo).collect());
        if let Some(items) = self.io.session.state.tools.todos.take_change() {
            self.io.session.events.emit(Event::TodosChanged { items, draft: false }).await;
        }
    }

    /// The turn is over: what is left open is closed. What it used, how much was denied, and what was said last.
    pub(super) async fn finish(mut self, whole: bool) -> (Option<ContextUsage>, u32, String) {
        self.end_thought().await;
        self.end_text(!whole).await;
        for call in self.calls.open().collect::<Vec<_>>() {
            let id = self.id(&call.id);
            let Some(told) = self.told.get(&call.id).filter(|told| !told.over) else { continue };
            // One that says nothing of how a call ended, in a turn that ended well, has done it.
            let result = match whole {
                true => ToolOutput::Ok(json!({})),
                false => ToolOutput::error(ToolCode::Interrupted, "the agent did not say how it ended"),
            };
            let (name, duration_ms) = (told.name.clone(), millis(told.began.elapsed()));
            let reads = reads(kind(call.kind.as_deref()), told.only_reads);
            let event = Event::ToolFinished {
                id,
                name,
                origin: ORIGIN,
                result,
                content: Vec::new(),
                diff: None,
                duration_ms,
                reads,
                beside: None,
            };
            self.io.session.events.emit(event).await;
        }
        (self.used, self.denied, self.said)
    }
}

/// What a call of the agent's is told under: agents begin to count anew with each process.
pub(super) fn id(turn: u32, call: &str) -> String {
    format!("{turn}:{call}")
}

fn words(block: Block) -> String {
    match block {
        Block::Text(text) => text,
        Block::Link { uri } | Block::Resource { uri, text: None } => uri,
        Block::Resource { text: Some(text), .. } => text,
        Block::Image { size, .. } => format!("[image, {size} bytes of base64]"),
        Block::Audio { size, .. } => format!("[audio, {size} bytes of base64]"),
        Block::Unknown(_) => String::new(),
    }
}

/// What a call is named by, and its arguments: a command as ours are, all else by the agent's own title.
pub(super) fn name(call: &Value) -> (String, Value) {
    if let (Some("execute"), Proposal::Run { command: Some(command), .. }) =
        (call["kind"].as_str(), Proposal::of(call))
    {
        return (BASH.name.to_owned(), json!({"command": command}));
    }
    let title = [&call["title"], &call["name"], &call["kind"]].into_iter().find_map(Value::as_str);
    let input = match &call["rawInput"] {
        input @ Value::Object(_) => input.clone(),
        _ => json!({}),
    };
    (title.unwrap_or("tool").to_owned(), input)
}

/// What a person is shown of what it will do.
fn preview(call: &Value, changes: &[Change]) -> Preview {
    match (call["kind"].as_str(), Proposal::of(call)) {
        (Some("execute"), Proposal::Run { command: Some(command), .. }) => Preview::Command { command },
        _ => change::preview(changes),
    }
}

/// The same for a question about it: with what it says, where it shows no change.
pub(super) fn question(call: &Value, changes: &[Change]) -> Preview {
    match preview(call, changes) {
        Preview::None => {
            let text = cut(&texts(&Call::read(call)));
            if text.trim().is_empty() { Preview::None } else { Preview::Text { text } }
        }
        shown => shown,
    }
}

fn kind(kind: Option<&str>) -> CallKind {
    match kind {
        Some("read") => CallKind::Read,
        Some("edit") => CallKind::Edit,
        Some("delete") => CallKind::Delete,
        Some("move") => CallKind::Move,
        Some("search") => CallKind::Search,
        Some("execute") => CallKind::Execute,
        Some("fetch") => CallKind::Fetch,
        Some("think") => CallKind::Think,
        Some(_) | None => CallKind::Other,
    }
}

/// The kind of a call that changes nothing: what an agent calls so, and commands that are proven to.
fn reads(kind: CallKind, only_reads: bool) -> Option<CallKind> {
    match kind {
        CallKind::Read | CallKind::Search | CallKind::Fetch | CallKind::Think => Some(kind),
        CallKind::Execute => only_reads.then_some(kind),
        CallKind::Edit | CallKind::Delete | CallKind::Move | CallKind::Other => None,
    }
}
