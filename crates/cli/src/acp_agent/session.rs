//! One session of a client: its requests become commands, and what happens becomes updates, until it is closed or the
//! client is gone. Decides nothing that the engine decides.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use zdx_acp::{Asked, Id, RpcError};
use zdx_protocol::display::listing::{self, Place};
use zdx_protocol::display::plain;
use zdx_protocol::{
    ApprovalRequest, Command, CommandId, EngineHandle, ErrorKind, Event, NoticeLevel, Query, Reply,
    RequestId, SessionInfo, slash,
};

use super::open::Shared;
use super::options::Options;
use super::params;
use super::pending::{Pending, busy, failure, stop_reason};
use super::permission::{self, Answered};
use super::prompt::{self, Meant};
use super::told::{Said, Told, When, message};
use crate::pump::GRACE;

/// As wide as lists are laid out for somebody who reads them in an editor.
const COLUMNS: usize = 100;

pub enum Wish {
    /// `session/prompt`, `session/set_mode` and the like.
    Request(Asked),
    /// `session/cancel`.
    Cancel,
    /// It is wanted anew, with all that was said: given back once it is free.
    MakeWay(Asked, oneshot::Sender<Asked>),
    Leave,
}

pub struct Session {
    pub id: String,
    root: PathBuf,
    shared: Shared,
    engine: EngineHandle,
    told: Told,
    options: Options,
    pending: Option<Pending>,
    waiting: HashMap<CommandId, Waiting>,
    questions: JoinSet<(RequestId, Answered)>,
    /// The questions that are open at the client.
    open: HashMap<RequestId, (AbortHandle, Id)>,
    /// Came up before the client knew the session.
    pub late: Vec<Said>,
    /// There is something to tell again.
    pub said: bool,
}

enum Waiting {
    Mode(Asked),
    Option(Asked),
    Commands,
    Models,
    Nothing,
}

impl Session {
    pub fn new(
        info: SessionInfo,
        root: PathBuf,
        shared: Shared,
        engine: EngineHandle,
        told: Told,
        options: Options,
    ) -> Self {
        Self {
            id: info.session,
            root,
            shared,
            engine,
            told,
            options,
            pending: None,
            waiting: HashMap::new(),
            questions: JoinSet::new(),
            open: HashMap::new(),
            late: Vec::new(),
            said: false,
        }
    }

    pub async fn run(mut self, mut wishes: mpsc::Receiver<Wish>) {
        for said in std::mem::take(&mut self.late) {
            self.say(said).await;
        }
        self.ask(Query::Commands, Waiting::Commands).await;
        self.ask(Query::Models, Waiting::Models).await;
        let last = loop {
            tokio::select! {
                biased;
                wish = wishes.recv() => match wish {
                    Some(Wish::Request(asked)) if asked.method == "session/close" => break Some(Wish::Request(asked)),
                    Some(Wish::Request(asked)) => self.asked(asked).await,
                    Some(Wish::Cancel) => self.cancel().await,
                    Some(Wish::MakeWay(asked, back)) => {
                        if let Some(asked) = self.make_way(asked).await {
                            break Some(Wish::MakeWay(asked, back));
                        }
                    }
                    Some(Wish::Leave) | None => break None,
                },
                Some(Ok((request, answered))) = self.questions.join_next(), if !self.questions.is_empty() => {
                    self.answer(request, answered).await;
                }
                event = self.engine.events.recv() => match event {
                    Some(event) => self.hear(event).await,
                    None => break None,
                },
            }
        };
        self.shared.sessions.remove(&self.id);
        self.end().await;
        match last {
            Some(Wish::Request(asked)) => asked.answer(Ok(json!({}))).await,
            Some(Wish::MakeWay(asked, back)) => drop(back.send(asked)),
            Some(Wish::Cancel | Wish::Leave) | None => {}
        }
    }

    /// Nothing is left running, and a prompt that is open is answered.
    async fn end(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.cancelled = true;
        }
        self.questions.abort_all();
        let last_words = async {
            let shutdown = self.engine.send(Command::Shutdown).await;
            while let Some(event) = self.engine.events.recv().await {
                if event.ends() == Some(shutdown) {
                    return;
                }
                self.handle(event).await;
            }
        };
        // What takes longer is ended with the program.
        let _ = tokio::time::timeout(GRACE, last_words).await;
    }

    async fn make_way(&self, asked: Asked) -> Option<Asked> {
        if self.pending.is_some() {
            asked.answer(Err(busy())).await;
            return None;
        }
        if self.said {
            return Some(asked);
        }
        asked.answer(Ok(self.state())).await;
        None
    }

    fn state(&self) -> Value {
        json!({"modes": self.options.modes(), "configOptions": self.options.all()})
    }

    async fn asked(&mut self, asked: Asked) {
        let wish = match asked.method.as_str() {
            "session/prompt" => return self.prompt(asked).await,
            "session/resume" => return asked.answer(Ok(self.state())).await,
            "session/set_mode" => params::text(&asked.params, "modeId")
                .and_then(|mode| self.options.mode(mode))
                .map(|command| (command, Waiting::Mode as fn(Asked) -> Waiting)),
            "session/set_config_option" => params::text(&asked.params, "configId")
                .and_then(|option| self.options.choose(option, &asked.params["value"]))
                .map(|command| (command, Waiting::Option as fn(Asked) -> Waiting)),
            method => Err(RpcError::method_not_found(method)),
        };
        match wish {
            Ok((command, waiting)) => {
                let id = self.engine.send(command).await;
                self.waiting.insert(id, waiting(asked));
            }
            Err(error) => asked.answer(Err(error)).await,
        }
    }

    async fn ask(&mut self, query: Query, waiting: Waiting) {
        let id = self.engine.send(Command::Ask(query)).await;
        self.waiting.insert(id, waiting);
    }

    async fn prompt(&mut self, asked: Asked) {
        if self.pending.is_some() {
            return asked.answer(Err(busy())).await;
        }
        match prompt::read(&asked.params["prompt"], &self.root) {
            Err(error) => asked.answer(Err(error)).await,
            Ok(Meant::Say(text)) => {
                self.update(message(&text)).await;
                asked.answer(Ok(json!({"stopReason": "end_turn"}))).await;
            }
            Ok(Meant::Do(command)) => {
                self.said = true;
                let command = self.engine.send(command).await;
                self.pending = Some(Pending { asked, command, cancelled: false, summary: None, fault: None });
            }
        }
    }

    async fn cancel(&mut self) {
        let Some(pending) = &mut self.pending else { return };
        pending.cancelled = true;
        let id = self.engine.send(Command::Interrupt).await;
        self.waiting.insert(id, Waiting::Nothing);
    }

    /// Pieces of a message that already wait behind this one are told together with it.
    async fn hear(&mut self, mut event: Event) {
        loop {
            let next = match self.engine.events.try_recv() {
                Ok(next) => next,
                Err(_) => return self.handle(event).await,
            };
            match (&mut event, next) {
                (Event::AssistantDelta { text }, Event::AssistantDelta { text: more })
                | (Event::ReasoningDelta { text }, Event::ReasoningDelta { text: more }) => {
                    text.push_str(&more)
                }
                (_, next) => self.handle(std::mem::replace(&mut event, next)).await,
            }
        }
    }

    async fn handle(&mut self, event: Event) {
        match &event {
            Event::ApprovalRequested(request) => self.question(request),
            Event::ApprovalWithdrawn { request, .. } => self.withdraw(*request).await,
            Event::TurnFinished(summary) => {
                if let Some(pending) = &mut self.pending {
                    pending.summary = Some(summary.clone());
                }
            }
            Event::Error { command: None, kind, message, details } => {
                let details = details.as_ref().map(|details| format!("\n{details}")).unwrap_or_default();
                let fault = failure(*kind, &format!("{message}{details}"));
                match &mut self.pending {
                    Some(pending) => pending.fault = Some(fault),
                    None => self.shared.log.say(message),
                }
            }
            _ => {}
        }
        for said in self.told.tell(&event, When::Now) {
            self.say(said).await;
        }
        if self.options.note(&event) {
            self.tell_options().await;
        }
        if let Some(id) = event.ends() {
            self.over(id, event).await;
        }
    }

    async fn over(&mut self, id: CommandId, end: Event) {
        if let Some(pending) = self.pending.take_if(|pending| pending.command == id) {
            return self.turn_over(pending, end).await;
        }
        let failed = match &end {
            Event::Error { kind: ErrorKind::Session | ErrorKind::Config, message, .. } => {
                Some(RpcError::invalid_params(plain(message)))
            }
            Event::Error { kind, message, .. } => Some(failure(*kind, message)),
            _ => None,
        };
        match (self.waiting.remove(&id), end) {
            (Some(Waiting::Mode(asked)), _) => asked.answer(failed.map_or_else(|| Ok(json!({})), Err)).await,
            (Some(Waiting::Option(asked)), _) => {
                let all = || Ok(json!({"configOptions": self.options.all()}));
                asked.answer(failed.map_or_else(all, Err)).await;
            }
            (Some(Waiting::Commands), Event::Reply { answer: Reply::Commands(own), .. }) => {
                let own = own.iter().map(|command| (command.name.as_str(), command.description.as_str(), ""));
                self.update(commands(own)).await;
            }
            (Some(Waiting::Models), Event::Reply { answer: Reply::Models(models), .. }) => {
                self.options.offer(models);
                self.tell_options().await;
            }
            (Some(Waiting::Models), Event::Error { kind, message, .. }) if kind != ErrorKind::Interrupted => {
                self.shared.log.say(&format!("the models cannot be listed: {message}"));
            }
            (Some(Waiting::Commands | Waiting::Models | Waiting::Nothing) | None, _) => {}
        }
    }

    async fn turn_over(&mut self, pending: Pending, end: Event) {
        if let Event::Reply { answer, .. } = &end {
            let place = Place { columns: COLUMNS, home: None, now: Timestamp::now() };
            let lines = listing::lines(answer, place).join("\n");
            self.update(message(&super::told::fenced(&plain(&lines)))).await;
        }
        let result = stop_reason(&pending, &end).map(|reason| json!({"stopReason": reason}));
        pending.asked.answer(result).await;
    }

    /// At the client; whoever answers may take his time.
    fn question(&mut self, request: &ApprovalRequest) {
        let (peer, id, asked) = (self.shared.peer.clone(), self.shared.peer.next_id(), request.clone());
        let params = json!({
            "sessionId": self.id,
            "toolCall": self.told.calls.asked(request),
            "options": permission::options(request),
        });
        let call = id.clone();
        let task = self.questions.spawn(async move {
            let answer = peer.call_as(&call, "session/request_permission", params).await;
            (asked.request, permission::answered(&asked, &answer))
        });
        self.open.insert(request.request, (task, id));
    }

    async fn answer(&mut self, request: RequestId, answered: Answered) {
        self.open.remove(&request);
        let id = self.engine.send(Command::Answer { request, decision: answered.decision }).await;
        self.waiting.insert(id, Waiting::Nothing);
        if answered.cancelled {
            self.cancel().await;
        }
    }

    async fn withdraw(&mut self, request: RequestId) {
        let Some((task, id)) = self.open.remove(&request) else { return };
        task.abort();
        let _ = self.shared.peer.notify("$/cancel_request", json!({"requestId": id.to_value()})).await;
    }

    async fn tell_options(&self) {
        let update = json!({"sessionUpdate": "config_option_update", "configOptions": self.options.all()});
        self.update(update).await;
    }

    async fn say(&self, said: Said) {
        match said {
            Said::Update(update) => self.update(update).await,
            Said::Notice(level, text) if self.shared.client.notices => {
                let severity = match level {
                    NoticeLevel::Info => "info",
                    NoticeLevel::Warning => "warning",
                };
                let update = json!({"sessionUpdate": "notice", "severity": severity, "title": plain(&text)});
                self.update(update).await;
            }
            Said::Notice(_, text) => self.shared.log.say(&text),
        }
    }

    async fn update(&self, update: Value) {
        // A client that is gone ends everything elsewhere.
        let _ =
            self.shared.peer.notify("session/update", json!({"sessionId": self.id, "update": update})).await;
    }
}

/// Ours that make sense here, then the user's own.
fn commands<'a>(own: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> Value {
    let ours = prompt::OFFERED.iter().filter_map(|name| slash::find(name));
    let ours = ours.map(|command| (command.name, command.help, command.argument.shown().trim()));
    let shown = |(name, description, hint): (&str, &str, &str)| {
        let mut command = json!({"name": name, "description": description});
        if !hint.is_empty() {
            command["input"] = json!({"hint": hint});
        }
        command
    };
    let all: Vec<Value> = ours.map(shown).chain(own.map(shown)).collect();
    json!({"sessionUpdate": "available_commands_update", "availableCommands": all})
}
