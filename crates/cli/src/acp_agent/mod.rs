//! `zdx acp-agent`: zdx as an agent of an editor, over the Agent Client Protocol on stdin and stdout. A front end like any
//! other: every session of the client is an engine of its own, known by its channels alone. Nothing but frames is ever
//! written to stdout.

mod calls;
mod diff;
mod files;
mod list;
mod log;
mod open;
mod options;
mod params;
mod pending;
mod permission;
mod prompt;
mod session;
mod told;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use zdx_acp::{Asked, Heard, RpcError, code, connect};
use zdx_protocol::Open;
use zdx_protocol::display::text::one_line;

use crate::exit::{Ending, Failure};
use crate::pump::GRACE;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::stdio;
use log::Log;
use open::{How, Sessions, Shared};
use params::Client;
use session::Wish;

const PROTOCOL: u64 = 1;
/// Of a line that makes no sense, what is noted.
const STRAY_COLUMNS: usize = 200;

pub async fn serve(settings: &Settings) -> Result<Ending, Failure> {
    if settings.open != Open::New {
        return Err(Failure::usage(
            "acp-agent opens the sessions that its client asks for; leave --session and --continue out",
        ));
    }
    let mut signals = Signals::listen().map_err(Failure::runtime)?;
    let log = Log::start().map_err(Failure::runtime)?;
    if settings.terminal.stdin {
        log.say("this is for editors, which speak ACP on stdin and stdout; `zdx` talks to people");
    }
    let reader = stdio::stdin().map_err(Failure::runtime)?;
    let (writer, written) = stdio::stdout().map_err(Failure::runtime)?;
    let (peer, mut inbox) = connect(reader, writer, None);
    let settings = Arc::new(settings.clone());
    let shared = Shared { settings, peer, log, client: Client::default(), sessions: Sessions::default() };
    let mut agent = Agent { shared, greeted: false, tasks: JoinSet::new() };
    let ending = loop {
        tokio::select! {
            caught = signals.next() => break Ending::Signalled(caught),
            heard = inbox.recv() => match heard {
                // A client that does not listen to our answers must not keep us from hearing a signal.
                Some(heard) => tokio::select! {
                    () = agent.hear(heard) => {}
                    caught = signals.next() => break Ending::Signalled(caught),
                },
                None => break Ending::Completed,
            },
            () = agent.shared.peer.gone() => break Ending::ReaderGone,
            Some(_) = agent.tasks.join_next(), if !agent.tasks.is_empty() => {}
        }
    };
    drop(inbox);
    agent.leave().await;
    // The last words; a client that does not listen is not waited for.
    let _ = tokio::time::timeout(GRACE, written).await;
    Ok(ending)
}

struct Agent {
    shared: Shared,
    greeted: bool,
    /// The sessions, and what is asked beside them.
    tasks: JoinSet<()>,
}

impl Agent {
    async fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Request(asked) => self.request(asked).await,
            Heard::Notification { method, params } => {
                // What is not known is none of our business.
                let session = params["sessionId"].as_str().and_then(|id| self.shared.sessions.get(id));
                if let Some(session) = session.filter(|_| method == "session/cancel") {
                    let _ = session.try_send(Wish::Cancel);
                }
            }
            Heard::Stray { line, why } => {
                let line = one_line(&line, STRAY_COLUMNS);
                self.shared.log.say(&format!("a line that is no frame was skipped ({why:?}): {line}"));
            }
        }
    }

    async fn request(&mut self, asked: Asked) {
        if asked.method == "initialize" {
            let answer = self.greet(&asked.params);
            return asked.answer(answer).await;
        }
        if !self.greeted {
            let why = "`initialize` has to come first";
            return asked.answer(Err(RpcError::new(code::INVALID_REQUEST, why))).await;
        }
        let id = || params::text(&asked.params, "sessionId").map(str::to_owned);
        let how = match asked.method.as_str() {
            "session/new" => Ok(How::New),
            "session/load" => id().map(How::Load),
            "session/resume" => id().map(How::Resume),
            "session/list" => {
                self.tasks.spawn(list::answer(Arc::clone(&self.shared.settings), asked));
                return;
            }
            "session/prompt" | "session/set_mode" | "session/set_config_option" | "session/close" => {
                return self.pass_on(asked).await;
            }
            "authenticate" => Err(RpcError::invalid_params("there is nothing to log in to")),
            method => Err(RpcError::method_not_found(method)),
        };
        match how {
            Ok(how) => {
                self.tasks.spawn(open::open(self.shared.clone(), asked, how));
            }
            Err(error) => asked.answer(Err(error)).await,
        }
    }

    fn greet(&mut self, params: &Value) -> Result<Value, RpcError> {
        if !params["protocolVersion"].is_u64() {
            return Err(RpcError::invalid_params("`protocolVersion` is missing or no number"));
        }
        self.greeted = true;
        self.shared.client = Client::read(params);
        // What is not saved cannot be found again.
        let mut sessions = json!({"close": {}});
        if self.shared.settings.save {
            sessions["list"] = json!({});
            sessions["resume"] = json!({});
        }
        Ok(json!({
            "protocolVersion": PROTOCOL,
            "agentCapabilities": {
                "loadSession": self.shared.settings.save,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": false, "sse": false},
                "sessionCapabilities": sessions,
            },
            "authMethods": [],
            "agentInfo": {"name": "zdx", "title": "zdx", "version": env!("CARGO_PKG_VERSION")},
        }))
    }

    async fn pass_on(&self, asked: Asked) {
        let session = match params::text(&asked.params, "sessionId") {
            Ok(id) => self.shared.sessions.get(id).ok_or_else(|| open::unknown(id)),
            Err(error) => Err(error),
        };
        match session {
            Err(error) => asked.answer(Err(error)).await,
            // Never waited for: a session that is stuck must not keep others from being heard.
            Ok(session) => {
                if let Err(refused) = session.try_send(Wish::Request(asked))
                    && let Wish::Request(asked) = refused.into_inner()
                {
                    let why =
                        RpcError::new(code::INTERNAL, "the session has ended, or too much is asked of it");
                    asked.answer(Err(why)).await;
                }
            }
        }
    }

    /// Every session comes to its end, within limits.
    async fn leave(self) {
        let Self { shared, mut tasks, .. } = self;
        for session in shared.sessions.every() {
            let _ = session.try_send(Wish::Leave);
        }
        drop(shared);
        let ended = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, ended).await;
        tasks.shutdown().await;
    }
}
