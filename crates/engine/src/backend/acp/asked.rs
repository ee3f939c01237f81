//! What another agent asks of its client: permissions are questions to the person, files are read and written here, under our
//! rules. What is not served is refused as unknown.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use zdx_acp::shapes::{Answer, PermissionOption, outcome, pick};
use zdx_acp::{Asked, Id, Params, RpcError, code};
use zdx_protocol::display::titles;
use zdx_protocol::facts::{READ, WRITE};
use zdx_protocol::{
    Action, Arguments, Decision, NoticeLevel, Origin, Preview, Target, ToolCall, ToolCode, ToolError,
    ToolOutput,
};

use super::change::{self, Ledger};
use super::output::cut;
use super::terminals::Terminals;
use super::told;
use crate::acp::{Lines, Proposal, RawShape, file_fault, short, text_of, unknown_keys};
use crate::call::TurnIo;
use crate::call::approve::{Gate, Permission, Proposed, denied, gate, strictest};

/// Which request of which turn it is.
#[derive(Clone, Copy)]
pub(super) struct Seat {
    pub(super) turn: u32,
    pub(super) number: u64,
}

impl Seat {
    /// What a call that is run here is told under.
    fn id(self) -> String {
        format!("acp-{}-{}", self.turn, self.number)
    }
}

/// What the requests of a turn share.
#[derive(Clone)]
pub(super) struct Room {
    pub(super) terminals: Terminals,
    /// Ends with the turn.
    pub(super) over: CancellationToken,
    ledger: Ledger,
}

impl Room {
    pub(super) fn new(over: CancellationToken, ledger: Ledger) -> Self {
        Self { terminals: Terminals::default(), over, ledger }
    }
}

/// What became of a request.
pub(super) struct Answered {
    pub(super) request: Id,
    pub(super) denied: bool,
    /// The agent's own call that was asked about.
    pub(super) call: Option<String>,
    /// What the person said with a no, and the agent was not told.
    pub(super) word: Option<String>,
}

/// What the agent is answered.
struct Said {
    answer: Result<Value, RpcError>,
    denied: bool,
    word: Option<String>,
}

impl From<Result<Value, RpcError>> for Said {
    fn from(answer: Result<Value, RpcError>) -> Self {
        let denied = matches!(&answer, Err(error) if error.code == code::INVALID_REQUEST);
        Self { answer, denied, word: None }
    }
}

pub(super) async fn answer(mut asked: Asked, seat: Seat, io: TurnIo, room: Room) -> Answered {
    let (request, params) = (asked.id.clone(), Params(asked.params.take()));
    let terminals = &room.terminals;
    let said = match asked.method.as_str() {
        "session/request_permission" => permission(seat, &params.0, &io, &room.ledger).await,
        "fs/read_text_file" => read(seat.id(), &params, &io).await.into(),
        "fs/write_text_file" => write(seat.id(), &params, &io, &room.ledger).await.into(),
        "terminal/create" => terminals.create(seat.id(), &params, &io, &room.over).await.into(),
        "terminal/output" => not_a_no(terminals.output(&params)),
        "terminal/wait_for_exit" => not_a_no(terminals.wait(&params, &io).await),
        "terminal/kill" => not_a_no(terminals.kill(&params).await),
        "terminal/release" => not_a_no(terminals.release(&params).await),
        unknown => not_a_no(Err(RpcError::method_not_found(unknown))),
    };
    asked.answer(said.answer).await;
    let call = params.0["toolCall"]["toolCallId"].as_str().map(str::to_owned);
    Answered { request, denied: said.denied, call, word: said.word }
}

fn not_a_no(answer: Result<Value, RpcError>) -> Said {
    Said { answer, denied: false, word: None }
}

async fn permission(seat: Seat, params: &Value, io: &TurnIo, ledger: &Ledger) -> Said {
    let options = PermissionOption::of(params);
    let no = |word| Said { answer: Ok(outcome(pick(&options, Answer::Reject))), denied: true, word };
    let call = &params["toolCall"];
    let title = short(call["title"].as_str().or(call["kind"].as_str()).unwrap_or("something"));
    let title = titles::own_words(&title, Some(io.session.root()));
    let actions = actions(call, &title, io);
    for action in &actions {
        if let Some(error) = denied(io, action).await {
            io.session
                .events
                .notice(NoticeLevel::Warning, format!("{title}: not allowed: {}", error.message))
                .await;
            return no(None);
        }
    }
    // Nobody says for good what a person says once.
    let Some(once) = options.iter().find(|option| option.kind == "allow_once") else {
        let message = format!("{title}: the agent offers no way to allow it once, so it was not allowed");
        io.session.events.notice(NoticeLevel::Warning, message).await;
        return no(None);
    };
    let changes = change::shown(call, false, io).await;
    let Some(action) = strictest(io, actions).await else { return no(None) };
    let preview = match &action {
        Action::Command { command, .. } => Preview::Command { command: command.clone() },
        _ => match told::question(call, &changes) {
            Preview::None => input_preview(call),
            shown => shown,
        },
    };
    let permission = Permission {
        id: told::id(seat.turn, call["toolCallId"].as_str().unwrap_or_default()),
        tool: told::name(call).0,
        proven: is_proven(call, &action, io),
        action,
        preview,
        reason: reason(call, &title),
    };
    match io.ask(permission).await {
        None => not_a_no(Ok(outcome(None))),
        Some(Decision::AllowOnce | Decision::AllowAlways { .. }) => {
            ledger.allow(&changes);
            not_a_no(Ok(outcome(Some(once))))
        }
        Some(Decision::Deny { word }) => no(word),
    }
}

/// The raw input as it came, where nothing else shows what would be done.
fn input_preview(call: &Value) -> Preview {
    match RawShape::of(&call["rawInput"]) {
        RawShape::Absent => Preview::None,
        RawShape::Unknown | RawShape::Command | RawShape::Change | RawShape::Names => {
            let text = serde_json::to_string_pretty(&call["rawInput"]).unwrap_or_default();
            Preview::Text { text: cut(&text) }
        }
    }
}

/// The words of the question: what the agent says of the call, and what of its input zdx does not understand.
fn reason(call: &Value, title: &str) -> String {
    let asks = format!("the agent asks: {title}");
    match unknown_keys(&call["rawInput"]).as_slice() {
        [] => asks,
        unknown => format!("{asks}; zdx does not understand {}", short(&unknown.join(", "))),
    }
}

/// Whether it may pass unasked where the rules let it: its input says all that it does, and where.
fn is_proven(call: &Value, action: &Action, io: &TurnIo) -> bool {
    let near = match action {
        // A command that lists the folder it runs in names no path.
        Action::Command { cwd, .. } => cwd.starts_with(io.session.root()),
        Action::Write { targets, .. } => !targets.is_empty(),
        Action::Read { .. }
        | Action::Mcp { .. }
        | Action::Fetch { .. }
        | Action::Remote { .. }
        | Action::Skill { .. }
        | Action::Task { .. }
        | Action::Todo => false,
    };
    near && Proposal::is_proven(call) && Proposal::readings(call).iter().all(|reading| resolves(reading, io))
}

/// Whether everything that it names can be found.
fn resolves(reading: &Proposal, io: &TurnIo) -> bool {
    let found = |named: &String| io.session.workspace().resolve(named).is_ok();
    match reading {
        Proposal::Read(named) | Proposal::Write(named) => named.iter().all(found),
        Proposal::Run { folder, .. } | Proposal::Titled { folder, .. } => folder.iter().all(found),
        Proposal::Other => true,
    }
}

/// What it may do itself, as far as it says. Of one that does not say on what, or names what cannot be found, there is nothing
/// to judge.
fn actions(call: &Value, title: &str, io: &TurnIo) -> Vec<Action> {
    let readings = Proposal::readings(call);
    let whole = readings.iter().all(|reading| resolves(reading, io));
    let mut all: Vec<Action> = readings.into_iter().filter_map(|reading| action(reading, io)).collect();
    // What is known to run or to change something is what is shown, with what is not understood of it beside it.
    let known = all.iter().any(|action| matches!(action, Action::Command { .. } | Action::Write { .. }));
    if !whole || all.is_empty() || (!known && RawShape::of(&call["rawInput"]) == RawShape::Unknown) {
        all.push(undescribed(call, title));
    }
    all
}

/// The action of a call whose title is all that can be judged.
fn undescribed(call: &Value, title: &str) -> Action {
    let title = title.to_owned();
    match call["kind"].as_str() {
        Some("fetch") => Action::Fetch { title },
        Some(_) | None => Action::Remote { title },
    }
}

fn action(reading: Proposal, io: &TurnIo) -> Option<Action> {
    let workspace = io.session.workspace();
    let targets = |named: Vec<String>| -> Option<Vec<Target>> {
        // A name that leads nowhere takes nothing from what the others are judged by.
        let mut all: Vec<Target> = named.iter().filter_map(|named| workspace.resolve(named).ok()).collect();
        // Many name a file twice, from the root and from the folder.
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all.dedup_by(|one, other| one.path == other.path);
        Some(all).filter(|all| !all.is_empty())
    };
    let command = |command, folder: Option<String>| {
        let cwd = match folder {
            Some(folder) => workspace.resolve(&folder).ok()?.path,
            None => workspace.root().to_owned(),
        };
        Some(Action::Command { command, cwd, origin: Origin::Model })
    };
    match reading {
        Proposal::Read(named) => {
            targets(named).map(|targets| Action::Read { tool: READ.permission.key.to_owned(), targets })
        }
        Proposal::Write(named) => {
            targets(named).map(|targets| Action::Write { tool: WRITE.permission.key.to_owned(), targets })
        }
        Proposal::Run { command: Some(line), folder } => command(line, folder),
        // Whether it is one or words about it, it is judged as one.
        Proposal::Titled { readings, folder } => {
            readings.into_iter().next().and_then(|line| command(line, folder))
        }
        Proposal::Run { command: None, .. } | Proposal::Other => None,
    }
}

async fn read(id: String, params: &Params, io: &TurnIo) -> Result<Value, RpcError> {
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
async fn write(id: String, params: &Params, io: &TurnIo, ledger: &Ledger) -> Result<Value, RpcError> {
    let (path, content) = (params.text("path")?, params.text("content")?);
    let mut io = io.clone();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_is_told_from_what_has_a_title_alone() {
        let title = || "Look it up".to_owned();
        let action = |kind: Value| undescribed(&json!({"kind": kind}), &title());
        assert_eq!(action(json!("fetch")), Action::Fetch { title: title() });
        assert_eq!(action(json!("switch_mode")), Action::Remote { title: title() });
        assert_eq!(action(Value::Null), Action::Remote { title: title() });
    }
}
