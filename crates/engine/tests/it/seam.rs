//! The seam that every backend sits behind, with one that follows a script: it tells of its own tools, asks for permission,
//! has calls run here from another task while it speaks, and is interrupted.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;
use zdx_config::{AppPaths, ConfigFlags, Environment};
use zdx_engine::Setup;
use zdx_engine::testing::{
    BackendCapabilities, BackendCommand, BackendInfo, ContextBudget, Permission, Scripted, SessionModes,
    TurnIo, TurnResult, spawn_scripted,
};
use zdx_protocol::query::{AgentInfo, ModelOffer, Named};
use zdx_protocol::{
    Action, Approval, Arguments, Breakdown, CallKind, CallOrigin, Command, CommandId, ContextUsage, Decision,
    EngineHandle, ErrorKind, Event, Open, Origin, Outcome, Preview, Prompt, Query, Reply, ToolCall,
    ToolOutput, TurnState, TurnSummary, Usage,
};

const SOON: Duration = Duration::from_secs(60);

const CONTEXT: ContextUsage =
    ContextUsage { used: 70, limit: 100, percent: 70, assumed: false, breakdown: NOTHING };
const USAGE: Usage = Usage {
    input_tokens: 60,
    output_tokens: 10,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
};
const NOTHING: Breakdown =
    Breakdown { system: 0, tools: 0, mcp: 0, messages: 0, tool_results: 0, summary: 0 };

type Script = Arc<dyn Fn(Prompt, TurnIo) -> BoxFuture<'static, TurnResult> + Send + Sync>;

struct Agent {
    script: Script,
    info: watch::Sender<BackendInfo>,
}

impl Scripted for Agent {
    fn info(&self) -> &watch::Sender<BackendInfo> {
        &self.info
    }

    fn run_turn(&mut self, prompt: Prompt, io: TurnIo) -> BoxFuture<'_, TurnResult> {
        (self.script)(prompt, io)
    }
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["home", "zdx", "root"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Self { dir }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root").canonicalize().unwrap()
    }

    fn records(&self) -> String {
        let files = std::fs::read_dir(self.dir.path().join("zdx/sessions")).unwrap().flatten();
        let file =
            files.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "jsonl"));
        std::fs::read_to_string(file.expect("a session file")).unwrap()
    }

    /// An engine behind which this script answers, with its session open.
    async fn talk<F>(&self, script: impl Fn(Prompt, TurnIo) -> F + Send + Sync + 'static) -> Talk
    where
        F: Future<Output: Into<TurnResult>> + Send + 'static,
    {
        self.talk_with(scripted_info(), script).await
    }

    /// The same with a backend that offers this.
    async fn talk_with<F>(
        &self,
        info: watch::Sender<BackendInfo>,
        script: impl Fn(Prompt, TurnIo) -> F + Send + Sync + 'static,
    ) -> Talk
    where
        F: Future<Output: Into<TurnResult>> + Send + 'static,
    {
        let script: Script = Arc::new(move |prompt, io| script(prompt, io).map(Into::into).boxed());
        let env = Environment::from_pairs([
            ("HOME", self.dir.path().join("home").into_os_string()),
            ("ZDX_HOME", self.dir.path().join("zdx").into_os_string()),
        ]);
        let setup = Setup {
            paths: AppPaths::from_env(&env).unwrap(),
            env,
            root: self.root(),
            flags: ConfigFlags { model: Some("demo".to_owned()), ..ConfigFlags::default() },
            agent: None,
            remote: None,
            trust: false,
            save: true,
            person: true,
            one_prompt: false,
            allow_dangerous: false,
            add_dirs: Vec::new(),
            replay: 0,
            editor: None,
            executable: PathBuf::from("/nonexistent"),
        };
        let engine = spawn_scripted(
            setup,
            Box::new(move || Box::new(Agent { script: Arc::clone(&script), info: info.clone() })),
        );
        let mut talk = Talk { engine, told: Vec::new() };
        let opened = talk.carry_out(Command::Open(Open::New)).await;
        assert!(matches!(opened, Event::Done { .. }), "{opened:?}");
        talk
    }
}

fn scripted_info() -> watch::Sender<BackendInfo> {
    let capabilities = BackendCapabilities { manages_own_context: true, plays_agent_profiles: false };
    let model = "scripted".to_owned();
    watch::Sender::new(BackendInfo { model, capabilities, ..BackendInfo::default() })
}

struct Talk {
    engine: EngineHandle,
    told: Vec<Event>,
}

impl Talk {
    async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = timeout(SOON, self.engine.events.recv()).await.expect("in time").expect("it lives");
            self.told.push(event.clone());
            if wanted(&event) {
                return event;
            }
        }
    }

    async fn over(&mut self, id: CommandId) -> Event {
        self.until(|event| event.ends() == Some(id)).await
    }

    async fn carry_out(&mut self, command: Command) -> Event {
        let id = self.engine.send(command).await;
        self.over(id).await
    }

    async fn reply(&mut self, query: Query) -> Reply {
        match self.carry_out(Command::Ask(query)).await {
            Event::Reply { answer, .. } => answer,
            other => panic!("{other:?}"),
        }
    }

    /// The first question that comes up.
    async fn question(&mut self) -> zdx_protocol::ApprovalRequest {
        match self.until(|event| matches!(event, Event::ApprovalRequested(_))).await {
            Event::ApprovalRequested(question) => question,
            other => panic!("{other:?}"),
        }
    }

    fn outcome(&self) -> Outcome {
        let finished = self.told.iter().rev().find_map(|event| match event {
            Event::TurnFinished(summary) => Some(summary.outcome),
            _ => None,
        });
        finished.expect("a turn")
    }
}

fn write(path: &str) -> ToolCall {
    let arguments = Arguments::parse(&json!({"path": path, "content": "made\n"}).to_string());
    ToolCall { id: "call_1".to_owned(), name: "write_file".to_owned(), arguments, signature: None }
}

fn permission() -> Permission {
    let command = "make deploy".to_owned();
    Permission {
        id: "remote_1".to_owned(),
        tool: "shell".to_owned(),
        preview: Preview::Command { command: command.clone() },
        action: Action::Command { command, cwd: "/remote".into(), origin: Origin::Model },
        proven: true,
        reason: "the agent asks".to_owned(),
    }
}

#[tokio::test]
async fn what_a_backend_runs_itself_is_told_as_its_own_and_not_kept_as_ours() {
    let place = Place::new();
    let script = |_: Prompt, io: TurnIo| async move {
        let (id, name, origin) = ("r1".to_owned(), "search".to_owned(), CallOrigin::Remote);
        let input = json!({"q": "x"});
        io.emit(Event::ToolRequested {
            id: id.clone(),
            name: name.clone(),
            input,
            raw: None,
            signature: None,
            origin,
            parent: None,
        })
        .await;
        let kind = CallKind::Search;
        let started = Event::ToolStarted {
            id: id.clone(),
            name: name.clone(),
            origin,
            kind,
            locations: vec![],
            preview: Preview::None,
        };
        io.emit(started).await;
        let result = ToolOutput::Ok(json!({"found": 1}));
        io.emit(Event::ToolFinished {
            id,
            name,
            origin,
            result,
            content: Vec::new(),
            diff: None,
            duration_ms: 1,
            reads: None,
            beside: None,
        })
        .await;
        io.emit(Event::AssistantFinal { text: "found it".to_owned(), partial: false, continues: false })
            .await;
        Outcome::Completed
    };
    let mut talk = place.talk(script).await;
    talk.carry_out(Command::Prompt("look".into())).await;
    assert!(
        talk.told.iter().any(|event| matches!(event, Event::ToolFinished { origin: CallOrigin::Remote, .. }))
    );
    let records = place.records();
    let kinds = |kind: &str| records.contains(&format!("\"type\":\"{kind}\""));
    assert!(records.contains("found it") && kinds("remote_use") && kinds("remote_result"), "{records}");
    assert!(!kinds("tool_use") && !kinds("tool_result"), "no model reads it: {records}");
}

#[tokio::test]
async fn a_call_from_a_second_task_is_judged_run_and_told_while_the_answer_streams() {
    let place = Place::new();
    let script = |_: Prompt, io: TurnIo| async move {
        let calling = io.clone();
        let second = tokio::spawn(async move { calling.call(write("a.txt")).await });
        // It goes on speaking until its call is answered.
        while !second.is_finished() {
            io.emit(Event::AssistantDelta { text: "…".to_owned() }).await;
            tokio::task::yield_now().await;
        }
        let output = second.await.unwrap();
        assert!(output.is_ok(), "{output:?}");
        Outcome::Completed
    };
    let mut talk = place.talk(script).await;
    let prompt = talk.engine.send(Command::Prompt("write it".into())).await;
    let question = talk.question().await;
    assert!(!place.root().join("a.txt").exists(), "nothing runs before the answer");
    let before = talk.told.len();
    talk.carry_out(Command::Answer { request: question.request, decision: Decision::AllowOnce }).await;
    talk.over(prompt).await;
    assert!(talk.told[before..].iter().any(|event| matches!(event, Event::AssistantDelta { .. })));
    assert_eq!(std::fs::read_to_string(place.root().join("a.txt")).unwrap(), "made\n");
    let life: Vec<&str> = talk
        .told
        .iter()
        .filter_map(|event| match event {
            Event::ToolRequested { name, .. } if name == "write" => Some("requested"),
            Event::ApprovalRequested(_) => Some("asked"),
            Event::ToolStarted { .. } => Some("started"),
            Event::FileChanged { id, .. } if id == "call_1" => Some("changed"),
            Event::ToolFinished { .. } => Some("finished"),
            _ => None,
        })
        .collect();
    assert_eq!(life, ["requested", "asked", "started", "changed", "finished"]);
    // What was done here can be taken back here, whoever asked for it.
    let reverted = talk.carry_out(Command::Revert { turn: None, keep_files: false }).await;
    assert!(matches!(reverted, Event::Done { .. }), "{reverted:?}");
    assert!(!place.root().join("a.txt").exists());
}

#[tokio::test]
async fn a_permission_is_a_question_to_the_person_and_the_presets_to_answer() {
    let place = Place::new();
    let script = |_: Prompt, io: TurnIo| async move {
        let said = io.ask(permission()).await;
        io.emit(Event::AssistantFinal { text: format!("{said:?}"), partial: false, continues: false }).await;
        if said.is_some() { Outcome::Completed } else { Outcome::Interrupted }
    };
    let mut talk = place.talk(script).await;
    let said = |talk: &Talk| {
        talk.told.iter().rev().find_map(|event| match event {
            Event::AssistantFinal { text, .. } => Some(text.clone()),
            _ => None,
        })
    };
    let prompt = talk.engine.send(Command::Prompt("ask".into())).await;
    let question = talk.question().await;
    assert_eq!((question.tool.as_str(), question.grant), ("shell", None));
    let decision = Decision::Deny { word: Some("not on a Friday".to_owned()) };
    talk.engine.send(Command::Answer { request: question.request, decision }).await;
    talk.over(prompt).await;
    assert!(said(&talk).unwrap().contains("not on a Friday"));
    // A preset that lets everything pass answers in the person's place, also while the question stands.
    let prompt = talk.engine.send(Command::Prompt("ask again".into())).await;
    talk.question().await;
    talk.engine.send(Command::SetApproval(Approval::Yolo)).await;
    talk.over(prompt).await;
    assert!(said(&talk).unwrap().contains("AllowOnce"), "{:?}", said(&talk));
}

#[tokio::test]
async fn an_interrupt_reaches_every_task_of_a_backend() {
    let place = Place::new();
    let script = |_: Prompt, io: TurnIo| async move {
        let (asking, waiting) = (io.clone(), io.clone());
        let asked = tokio::spawn(async move { asking.ask(permission()).await });
        let waited = tokio::spawn(async move { waiting.cancel.cancelled().await });
        assert!(asked.await.unwrap().is_none());
        waited.await.unwrap();
        let late = io.call(write("late.txt")).await;
        assert!(!late.is_ok(), "{late:?}");
        Outcome::Interrupted
    };
    let mut talk = place.talk(script).await;
    let prompt = talk.engine.send(Command::Prompt("go".into())).await;
    let question = talk.question().await;
    talk.engine.send(Command::Interrupt).await;
    talk.over(prompt).await;
    assert_eq!(talk.outcome(), Outcome::Interrupted);
    assert!(!place.root().join("late.txt").exists());
    let withdrawn = |event: &Event| matches!(event, Event::ApprovalWithdrawn { request, .. } if *request == question.request);
    assert!(talk.told.iter().any(withdrawn));
}

#[tokio::test]
async fn what_a_backend_cannot_do_is_said_and_harms_nothing() {
    let place = Place::new();
    let mut talk = place.talk(|_: Prompt, _: TurnIo| async { Outcome::Completed }).await;
    let commands = [
        Command::SetModel("test/other".into()),
        Command::SetAgent("plan".into()),
        Command::Ask(Query::Context),
        Command::Ask(Query::Models),
    ];
    for command in commands {
        let end = talk.carry_out(command.clone()).await;
        let refused = matches!(&end, Event::Error { kind: ErrorKind::Config | ErrorKind::Provider, .. });
        assert!(refused, "{command:?}: {end:?}");
    }
    assert!(matches!(talk.carry_out(Command::Compact).await, Event::Done { .. }));
    assert_eq!(talk.outcome(), Outcome::Completed);
    talk.carry_out(Command::Prompt("still there?".into())).await;
}

#[tokio::test]
async fn what_a_backend_publishes_is_seen_by_queries_beside_its_turn() {
    let place = Place::new();
    let info = scripted_info();
    let publish = info.clone();
    let script = move |_: Prompt, io: TurnIo| {
        let publish = publish.clone();
        async move {
            publish.send_modify(|info| {
                let mode = |name: &str, in_use| AgentInfo {
                    name: name.to_owned(),
                    description: String::new(),
                    in_use,
                    primary: true,
                };
                let offered = vec![mode("ask", false), mode("code", true)];
                info.model = "scripted/large".to_owned();
                info.models = Some(vec!["scripted/small".to_owned(), "scripted/large".to_owned()]);
                info.modes = Some(SessionModes { current: "code".to_owned(), offered });
                info.commands = vec![BackendCommand {
                    name: "deploy".to_owned(),
                    description: "Deploy it".to_owned(),
                    hint: Some("target".to_owned()),
                }];
                info.context = ContextBudget::Reported(CONTEXT);
            });
            io.emit(Event::AssistantDelta { text: "published".to_owned() }).await;
            io.cancel.cancelled().await;
            Outcome::Interrupted
        }
    };
    let mut talk = place.talk_with(info, script).await;
    let none = talk.reply(Query::Commands).await;
    assert_eq!(none, Reply::Commands(Vec::new()));
    let prompt = talk.engine.send(Command::Prompt("go".into())).await;
    talk.until(|event| matches!(event, Event::AssistantDelta { .. })).await;
    let deploy = Named { name: "deploy".to_owned(), description: "Deploy it".to_owned() };
    assert_eq!(talk.reply(Query::Commands).await, Reply::Commands(vec![deploy]));
    assert_eq!(talk.reply(Query::Context).await, Reply::Context(CONTEXT));
    let offer = |name: &str| ModelOffer { name: name.to_owned(), context_limit: None };
    let offers = vec![offer("scripted/small"), offer("scripted/large")];
    assert_eq!(talk.reply(Query::Models).await, Reply::Models(offers));
    let Reply::Agents(modes) = talk.reply(Query::Agents).await else { panic!("modes") };
    let modes: Vec<_> = modes.iter().map(|mode| (mode.name.as_str(), mode.in_use)).collect();
    assert_eq!(modes, [("ask", false), ("code", true)]);
    let line = "/model ".to_owned();
    let Reply::Completions(names) = talk.reply(Query::Completions { cursor: line.len(), line }).await else {
        panic!("completions")
    };
    let names: Vec<_> =
        names.candidates.iter().map(|name| (name.text.as_str(), name.detail.as_str())).collect();
    assert_eq!(names, [("scripted/large", "in use"), ("scripted/small", "")]);
    talk.engine.send(Command::Interrupt).await;
    talk.over(prompt).await;
}

/// The type of each record, with the role of a message or the outcome of a turn.
fn kinds(records: &str) -> Vec<String> {
    let kind = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let word = |key: &str| record[key].as_str().unwrap_or_default();
        format!("{} {}{}", word("type"), word("role"), word("outcome"))
    };
    records.lines().map(kind).collect()
}

#[tokio::test]
async fn the_engine_alone_writes_the_start_and_the_end_of_a_turn() {
    for (outcome, recorded) in [
        (Outcome::Completed, "turn_end completed"),
        (Outcome::Interrupted, "interrupted system"),
        (Outcome::Error, "turn_end error"),
    ] {
        let place = Place::new();
        let info = scripted_info();
        info.send_modify(|info| info.context = ContextBudget::Reported(CONTEXT));
        let answer = || Event::AssistantFinal { text: "hello".to_owned(), partial: false, continues: false };
        let script = move |_: Prompt, io: TurnIo| async move {
            io.emit(answer()).await;
            TurnResult {
                outcome,
                text: "hello".to_owned(),
                usage: USAGE,
                last_request: None,
                denied: 1,
                cut_short: None,
            }
        };
        let mut talk = place.talk_with(info, script).await;
        talk.told.clear();
        let Event::Done { id } = talk.carry_out(Command::Prompt("hi".into())).await else { panic!("done") };
        for event in &mut talk.told {
            if let Event::TurnFinished(summary) = event {
                summary.duration_ms = 0;
            }
        }
        let state = |state| Event::StateChanged { state };
        let interrupted = (outcome == Outcome::Interrupted).then_some(Event::Interrupted);
        let end = if outcome == Outcome::Error { TurnState::Error } else { TurnState::Done };
        let summary = TurnSummary {
            outcome,
            text: "hello".to_owned(),
            usage: USAGE,
            last_request: None,
            denied: 1,
            duration_ms: 0,
            cut_short: None,
            begun: true,
        };
        let start = [Event::TurnStarted { turn: 1, prompt: "hi".to_owned() }, state(TurnState::Planning)];
        let rest = [
            Event::ContextUsage(CONTEXT),
            state(end),
            Event::TurnFinished(summary),
            state(TurnState::Idle),
            Event::Done { id },
        ];
        let expected: Vec<Event> =
            start.into_iter().chain([answer()]).chain(interrupted).chain(rest).collect();
        assert_eq!(talk.told, expected);
        assert_eq!(kinds(&place.records()), ["meta ", "message user", "message assistant", recorded]);
    }
}
