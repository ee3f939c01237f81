//! One turn of another agent: its updates become events, its requests are served under our rules, an interrupt cancels it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;
use zdx_acp::shapes::{StopReason, Update};
use zdx_acp::{AcpError, AcpObserver, Host, HostAnswer, HostRequest, Params, RpcError, TerminalTable, code};
use zdx_protocol::facts::{READ, WRITE};
use zdx_protocol::{Action, Arguments, Preview, ToolCall, ToolCode, ToolError, ToolOutput};

use super::change::Ledger;
use super::connection::{AgentConnection, AgentFailure};
use super::event_mapping::EventMapper;
use super::permission_requests;
use super::terminals;
use crate::acp::{Lines, file_fault, text_of};
use crate::call::TurnIo;
use crate::call::approve::{Gate, Proposed, gate};

/// Time that requests, and then terminals, of a turn that is over get to end.
const CLEARING: Duration = Duration::from_secs(3);

/// Runs one prompt of the turn that the observer shows.
pub(super) async fn run(
    connection: &mut AgentConnection,
    blocks: Vec<Value>,
    io: &TurnIo,
) -> Result<StopReason, AgentFailure> {
    let client = &mut connection.client;
    let host = client.observer.host(io);
    client.serve_by(Arc::new(host));
    let ended = client.prompt(blocks).await;
    client.end_requests(CLEARING).await;
    client.observer.catch_up();
    match ended {
        Ok(reason) => Ok(reason),
        Err(AcpError::Stopped { is_settled: true, .. }) => Ok(StopReason::Cancelled),
        // A person who cancelled the turn need not hear why the agent ended.
        Err(_) if io.cancel.is_cancelled() => Err(AgentFailure::Interrupted),
        Err(error) => Err(connection.failure(error).await),
    }
}

/// Turns what the agent says into events while a turn runs. Between turns only the session's own state matters, which the
/// client keeps.
pub(super) struct BackendObserver {
    turn: Option<RunningTurn>,
    tell: UnboundedSender<RequestOutcome>,
    outcomes: UnboundedReceiver<RequestOutcome>,
}

struct RunningTurn {
    mapper: EventMapper,
    cancel: CancellationToken,
    /// The client was told to stop.
    is_stopped: bool,
}

/// The person interrupted the turn.
pub(super) struct TurnInterrupted;

impl BackendObserver {
    pub(super) fn new() -> Self {
        let (tell, outcomes) = mpsc::unbounded_channel();
        Self { turn: None, tell, outcomes }
    }

    pub(super) fn begin_turn(&mut self, mapper: EventMapper, cancel: CancellationToken) {
        self.turn = Some(RunningTurn { mapper, cancel, is_stopped: false });
    }

    /// The mapper of the turn that runs.
    pub(super) fn mapper(&mut self) -> Option<&mut EventMapper> {
        self.turn.as_mut().map(|turn| &mut turn.mapper)
    }

    pub(super) fn end_turn(&mut self) -> Option<EventMapper> {
        self.turn.take().map(|turn| turn.mapper)
    }

    fn host(&mut self, io: &TurnIo) -> TurnHost {
        let tell = self.tell.clone();
        let (turn, ledger) =
            self.mapper().map(|mapper| (mapper.turn, mapper.ledger.clone())).unwrap_or_default();
        TurnHost { turn, io: io.clone(), ledger, terminals: TerminalTable::default(), outcomes: tell }
    }
}

impl AcpObserver for BackendObserver {
    type Stop = TurnInterrupted;

    async fn attend(&mut self) -> Result<(), TurnInterrupted> {
        let cancelled = async {
            match &self.turn {
                Some(turn) if !turn.is_stopped => turn.cancel.cancelled().await,
                Some(_) | None => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            biased;
            () = cancelled => None,
            outcome = self.outcomes.recv() => outcome,
        };
        match (outcome, &mut self.turn) {
            (Some(outcome), Some(turn)) => turn.mapper.answered(outcome),
            (None, Some(turn)) => {
                turn.is_stopped = true;
                return Err(TurnInterrupted);
            }
            (_, None) => {}
        }
        Ok(())
    }

    async fn update(&mut self, update: Update) {
        if let Some(mapper) = self.mapper() {
            mapper.update(update).await;
        }
    }

    async fn permission_requested(&mut self, call: Value) -> Value {
        match self.mapper() {
            Some(mapper) => mapper.call(&call, true).await,
            None => call,
        }
    }

    fn catch_up(&mut self) {
        while let Ok(outcome) = self.outcomes.try_recv() {
            if let Some(mapper) = self.mapper() {
                mapper.answered(outcome);
            }
        }
    }
}

/// The outcome of a request, as far as it is told.
pub(super) struct RequestOutcome {
    pub(super) denied: bool,
    /// The agent's own call that was asked about.
    pub(super) call: Option<String>,
    /// The reason that the person gave with a no: the protocol has no place for it.
    pub(super) word: Option<String>,
}

/// Serves the requests of one turn.
pub(super) struct TurnHost {
    turn: u32,
    pub(super) io: TurnIo,
    ledger: Ledger,
    terminals: TerminalTable,
    outcomes: UnboundedSender<RequestOutcome>,
}

impl TurnHost {
    fn io(&self, request: &HostRequest) -> TurnIo {
        TurnIo { cancel: request.cancel.clone(), ..self.io.clone() }
    }

    /// The id under which a call that is run here is told.
    fn call_id(&self, request: &HostRequest) -> String {
        format!("acp-{}-{}", self.turn, request.number)
    }

    fn counted(&self, answer: HostAnswer) -> HostAnswer {
        if answer.as_ref().is_err_and(|error| error.code == code::INVALID_REQUEST) {
            self.tell(RequestOutcome { denied: true, call: None, word: None });
        }
        answer
    }

    /// The turn may be over.
    fn tell(&self, outcome: RequestOutcome) {
        let _ = self.outcomes.send(outcome);
    }
}

impl Host for TurnHost {
    async fn read_text_file(&self, request: HostRequest) -> HostAnswer {
        self.counted(read(self.call_id(&request), &request.params, &self.io(&request)).await)
    }

    async fn write_text_file(&self, request: HostRequest) -> HostAnswer {
        let (id, io) = (self.call_id(&request), self.io(&request));
        self.counted(write(id, &request.params, io, &self.ledger).await)
    }

    async fn request_permission(&self, request: HostRequest) -> HostAnswer {
        let (io, params) = (self.io(&request), &request.params.0);
        let (answer, outcome) = permission_requests::answer(self.turn, params, &io, &self.ledger).await;
        self.tell(outcome);
        Ok(answer)
    }

    async fn create_terminal(&self, request: HostRequest) -> HostAnswer {
        self.counted(terminals::create(self, self.call_id(&request), &request.params).await)
    }

    fn terminals(&self) -> &TerminalTable {
        &self.terminals
    }

    fn request_token(&self) -> CancellationToken {
        self.io.cancel.child_token()
    }
}

async fn read(id: String, params: &Params, io: &TurnIo) -> HostAnswer {
    let named = params.text("path")?;
    let lines = Lines::of(params.count_if_any("line")?, params.count_if_any("limit")?);
    let workspace = Arc::clone(io.session.workspace());
    let target =
        workspace.resolve(named).map_err(|error| file_fault(named, &error.code(), error.to_string()))?;
    let action = Action::Read { tool: READ.permission.key.to_owned(), targets: vec![target.clone()] };
    let call = call(id, READ.name, json!({"path": named}));
    match gate(io, &call, Proposed { action: &action, preview: &Preview::None, doomed: None }).await {
        Gate::Run { .. } => {}
        Gate::Denied(error) | Gate::Rejected(error) | Gate::Failed(error) => return Err(refused(&error)),
        Gate::Interrupted => return Err(RpcError::new(code::CANCELLED, "the turn was cancelled")),
    }
    // A file system may hang.
    let read = tokio::task::spawn_blocking(move || text_of(&workspace, &target, lines)).await;
    let content = read.map_err(|_| RpcError::new(code::INTERNAL, "the file could not be read"))??;
    Ok(json!({"content": content}))
}

/// By our own tool: judged, asked about with what will be different, kept to be taken back.
async fn write(id: String, params: &Params, mut io: TurnIo, ledger: &Ledger) -> HostAnswer {
    let (path, content) = (params.text("path")?, params.text("content")?);
    let target = io.session.workspace().resolve(path).ok().map(|target| target.path);
    if target.as_ref().is_some_and(|target| ledger.take(target, content)) {
        io.session.policy = io.session.policy.answered();
    }
    let input = json!({"path": path, "content": content});
    match io.call(call(id, WRITE.name, input)).await {
        ToolOutput::Ok(_) => {
            target.into_iter().for_each(|target| ledger.wrote(target, content));
            Ok(json!({}))
        }
        ToolOutput::Err(error) => Err(refused(&error)),
    }
}

pub(super) fn call(id: String, name: &str, input: Value) -> ToolCall {
    let input = match input {
        Value::Object(input) => input,
        _ => Map::new(),
    };
    ToolCall { id, name: name.to_owned(), arguments: Arguments::Object(input), signature: None }
}

pub(super) fn refused(error: &ToolError) -> RpcError {
    if matches!(error.code, ToolCode::Interrupted | ToolCode::NotRun) {
        return RpcError::new(code::CANCELLED, "the turn was cancelled");
    }
    RpcError::new(code::INVALID_REQUEST, format!("not allowed: {}", error.message))
        .with(json!({"code": error.code}))
}
