//! The conversation between a front end and the engine, through the very channels that every front end has: what is sent
//! ends once, what is asked is answered meanwhile, and one engine serves one session after another.

mod sessions;
mod trust;
mod turns;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::timeout;
use zdx_config::{AppPaths, ConfigFlags, Environment};
use zdx_engine::{Setup, spawn};
use zdx_protocol::{
    Approval, CallOrigin, Command, CommandId, Decision, EngineHandle, ErrorKind, Event, Open, Outcome, Query,
    Reply as Told, RequestId, SessionInfo, SessionPick, Standing, TurnSummary,
};
use zdx_testkit::{Gate, ModelServer, Reply, Zdx};

use crate::{SOON, hold_before, place, with_model};

/// A front end of a few lines.
struct Talk {
    engine: EngineHandle,
    /// Everything it was told, in order.
    told: Vec<Event>,
}

/// Runs a conversation in this place, with somebody there to be asked.
fn talk<F: Future<Output = ()>>(zdx: &Zdx, conversation: impl FnOnce(Talk) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let vars = [
            ("HOME", zdx.home().as_os_str().to_owned()),
            ("ZDX_HOME", zdx.storage().as_os_str().to_owned()),
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
        ];
        let env = Environment::from_pairs(vars);
        let engine = spawn(Setup {
            paths: AppPaths::from_env(&env).unwrap(),
            env,
            root: zdx.root().to_owned(),
            flags: ConfigFlags::default(),
            agent: None,
            remote: None,
            trust: false,
            save: true,
            person: true,
            one_prompt: false,
            allow_dangerous: false,
            add_dirs: Vec::new(),
            replay: 10,
            editor: None,
            executable: PathBuf::from(env!("CARGO_BIN_EXE_zdx")),
        });
        conversation(Talk { engine, told: Vec::new() }).await;
    });
    runtime.shutdown_background();
}

impl Talk {
    async fn next(&mut self) -> Option<Event> {
        let event = timeout(SOON, self.engine.events.recv()).await.expect("an event in time");
        self.told.extend(event.clone());
        event
    }

    async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            let event = self.next().await.expect("the engine lives");
            if wanted(&event) {
                return event;
            }
        }
    }

    /// The event that ends this command.
    async fn over(&mut self, id: CommandId) -> Event {
        if let Some(event) = self.told.iter().find(|event| event.ends() == Some(id)) {
            return event.clone();
        }
        self.until(|event| event.ends() == Some(id)).await
    }

    async fn carry_out(&mut self, command: Command) -> Event {
        let id = self.engine.send(command).await;
        self.over(id).await
    }

    async fn ask(&mut self, query: Query) -> Told {
        match self.carry_out(Command::Ask(query)).await {
            Event::Reply { answer, .. } => answer,
            other => panic!("no answer: {other:?}"),
        }
    }

    /// What the session says of itself, once it is open.
    async fn open(&mut self, open: Open) -> SessionInfo {
        let from = self.told.len();
        let end = self.carry_out(Command::Open(open)).await;
        assert!(matches!(end, Event::Done { .. }), "{end:?}");
        started(&self.told[from..]).expect("a session")
    }

    async fn prompt(&mut self, text: &str) -> TurnSummary {
        let from = self.told.len();
        let end = self.carry_out(Command::Prompt(text.into())).await;
        assert!(matches!(end, Event::Done { .. }), "{end:?}");
        finished(&self.told[from..]).expect("a turn")
    }

    /// All that is left to hear after the last word.
    async fn leave(mut self) -> Vec<Event> {
        self.engine.send(Command::Shutdown).await;
        while self.next().await.is_some() {}
        self.told
    }
}

fn started(told: &[Event]) -> Option<SessionInfo> {
    told.iter().rev().find_map(|event| match event {
        Event::SessionStarted(info) => Some(info.clone()),
        _ => None,
    })
}

fn finished(told: &[Event]) -> Option<TurnSummary> {
    told.iter().rev().find_map(|event| match event {
        Event::TurnFinished(summary) => Some(summary.clone()),
        _ => None,
    })
}

fn is_error(event: &Event, wanted: ErrorKind) -> bool {
    matches!(event, Event::Error { kind, .. } if *kind == wanted)
}

/// Prompts and answers that are told again.
fn retold(told: &[Event]) -> Vec<String> {
    let past = told.iter().filter_map(|event| match event {
        Event::Replayed { event } => Some(&**event),
        _ => None,
    });
    past.filter_map(|event| match event {
        Event::TurnStarted { turn, prompt } => Some(format!("{turn}> {prompt}")),
        Event::AssistantFinal { text, .. } => Some(text.clone()),
        _ => None,
    })
    .collect()
}

/// Every question there is.
fn queries() -> Vec<Query> {
    vec![
        Query::Agents,
        Query::Skills,
        Query::Commands,
        Query::Completions { line: "/ag".into(), cursor: 3 },
        Query::Sessions { limit: 5 },
        Query::Models,
        Query::Context,
        Query::Todos,
        Query::Trust,
        Query::Grants,
        Query::Config,
        Query::GitBranch,
        Query::FilesChanged,
    ]
}

#[test]
fn every_command_ends_once() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("hello"));
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        let early = talk.carry_out(Command::Prompt("too early".into())).await;
        assert!(is_error(&early, ErrorKind::Session), "{early:?}");
        talk.open(Open::New).await;
        let mut commands = vec![
            Command::SetAgent("build".into()),
            Command::SetAgent("nobody".into()),
            Command::SetModel("nowhere/x".into()),
            Command::SetModel("test/scripted".into()),
            Command::SetApproval(Approval::Paranoid),
            Command::SetApproval(Approval::Paranoid),
            Command::Answer { request: RequestId(77), decision: Decision::AllowOnce },
            Command::AnswerTrust { request: RequestId(77), trust: true },
            Command::Export { path: None },
            Command::Remember { line: "hi".into() },
            Command::Redo,
            Command::Retry,
            Command::Revert { turn: Some(9), keep_files: false },
            Command::Compact,
            Command::Ask(Query::Summary),
            Command::Ask(Query::Handoff { goal: "more".into() }),
            Command::Trust,
            Command::Open(Open::Resume(SessionPick::Id("ffff".into()))),
            Command::Open(Open::Root("no/such/folder".into())),
            Command::Open(Open::Fork { turn: None }),
        ];
        commands.extend(queries().into_iter().map(Command::Ask));
        commands.push(Command::Prompt("hi".into()));
        commands.push(Command::Interrupt);
        let mut sent = Vec::new();
        for command in commands {
            let id = talk.engine.send(command.clone()).await;
            talk.over(id).await;
            sent.push((id, command));
        }
        let told = talk.leave().await;
        let mut ends: HashMap<CommandId, usize> = HashMap::new();
        told.iter().filter_map(Event::ends).for_each(|id| *ends.entry(id).or_default() += 1);
        for (id, command) in sent {
            assert_eq!(ends.get(&id), Some(&1), "{command:?}");
        }
        assert!(matches!(told.last(), Some(Event::Done { .. })), "the last word ends the last command");
    });
}

#[test]
fn typed_lines_are_written_redacted_and_in_order_before_the_engine_ends() {
    let server = ModelServer::start();
    server.push(Reply::chat().text("hello"));
    let zdx = with_model(&server);
    let history = zdx.storage().join("history");
    zdx.run(["exec", "-p", "hi"]).success();
    assert!(!history.exists(), "nobody typed that");
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let line = "call sk-proj-abcdefghijklmnopqrstuvwxyz0123456789".to_owned();
        let Event::Reply { answer: Told::Remembered(kept), .. } =
            talk.carry_out(Command::Remember { line }).await
        else {
            panic!("{:?}", talk.told.last())
        };
        assert_eq!(kept, "call [redacted]");
        for n in 0..20 {
            talk.carry_out(Command::Remember { line: format!("/help {n}") }).await;
        }
        talk.leave().await;
    });
    let written = std::fs::read_to_string(history).unwrap();
    let texts: Vec<serde_json::Value> = written
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["text"].clone())
        .collect();
    let typed = (0..20).map(|n| format!("/help {n}"));
    let expected: Vec<String> = std::iter::once("call [redacted]".to_owned()).chain(typed).collect();
    assert_eq!(texts, expected);
}

#[test]
fn what_is_asked_during_a_turn_is_answered_during_it() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["half ", "an answer"]).done(), "an answer", &gate));
    server.models(Reply::status(200).json(json!({"data": [{"id": "scripted"}, {"id": "other"}]})));
    let zdx = with_model(&server);
    zdx.write(".git/HEAD", "ref: refs/heads/topic\n");
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let prompt = talk.engine.send(Command::Prompt("say something".into())).await;
        talk.until(|event| matches!(event, Event::AssistantDelta { .. })).await;
        for query in queries() {
            let answer = talk.ask(query.clone()).await;
            match (query, answer) {
                (Query::Agents, Told::Agents(agents)) => {
                    assert!(
                        agents.iter().any(|agent| agent.name == "build" && agent.in_use && agent.primary)
                    );
                }
                (Query::Completions { .. }, Told::Completions(found)) => {
                    let [agent] = found.candidates.as_slice() else { panic!("{found:?}") };
                    assert_eq!((found.replace, agent.text.as_str()), (0..3, "/agent"));
                    assert_eq!(agent.shown, "/agent [NAME]");
                    assert_eq!(agent.detail, "list the agents, or work as one");
                }
                (Query::Sessions { .. }, Told::Sessions(found)) => {
                    assert_eq!(found[0].first_prompt.as_deref(), Some("say something"));
                }
                (Query::Models, Told::Models(models)) => assert_eq!(models[1].name, "test/other"),
                (Query::Context, Told::Context(usage)) => assert!(usage.used > 100, "{usage:?}"),
                (Query::Trust, Told::Trust(state)) => assert!(state.wants.is_empty()),
                (Query::Grants, Told::Grants(grants)) => assert_eq!(grants.approval, Approval::Balanced),
                (Query::Config, Told::Config(settings)) => {
                    let model = settings.iter().find(|setting| setting.key == "model").unwrap();
                    assert!(model.source.contains("config.toml"), "{model:?}");
                }
                (Query::GitBranch, Told::GitBranch(branch)) => assert_eq!(branch.as_deref(), Some("topic")),
                (Query::Skills, Told::Skills(found)) | (Query::Commands, Told::Commands(found)) => {
                    assert_eq!(found, []);
                }
                (Query::Todos, Told::Todos { items, draft }) => assert_eq!((items, draft), (vec![], false)),
                (Query::FilesChanged, Told::FilesChanged(changed)) => assert_eq!(changed.files, []),
                (query, other) => panic!("{query:?} was answered with {other:?}"),
            }
        }
        assert!(finished(&talk.told).is_none(), "the turn is still going on");
        gate.open();
        talk.over(prompt).await;
        assert_eq!(finished(&talk.told).unwrap().text, "half an answer");
    });
}

#[test]
fn a_list_that_the_model_has_not_taken_up_is_told_as_a_draft_while_it_lasts() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["half ", "an answer"]).done(), "an answer", &gate));
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let prompt = talk.engine.send(Command::Prompt("- rename it\n- tell of it".into())).await;
        talk.until(|event| matches!(event, Event::AssistantDelta { .. })).await;
        let Told::Todos { items, draft: true } = talk.ask(Query::Todos).await else { panic!("no draft") };
        assert_eq!(zdx_protocol::todo::checklist(&items), "[~] rename it\n[ ] tell of it");
        gate.open();
        talk.over(prompt).await;
        assert_eq!(talk.ask(Query::Todos).await, Told::Todos { items: vec![], draft: false });
    });
}

#[test]
fn a_preset_that_changes_judges_an_open_question_anew() {
    let server = ModelServer::start_with([
        Reply::chat().tool_call("c1", "bash", json!({"command": "touch made"})).done(),
        Reply::chat().text("made").done(),
    ]);
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let prompt = talk.engine.send(Command::Prompt("make it".into())).await;
        let asked = talk.until(|event| matches!(event, Event::ApprovalRequested(_))).await;
        let Event::ApprovalRequested(question) = asked else { unreachable!() };
        // Stricter: still a question, asked anew.
        talk.carry_out(Command::SetApproval(Approval::Paranoid)).await;
        let again = talk.until(|event| matches!(event, Event::ApprovalRequested(_))).await;
        let Event::ApprovalRequested(again) = again else { unreachable!() };
        assert_ne!(question.request, again.request);
        let late = Command::Answer { request: question.request, decision: Decision::AllowOnce };
        let late = talk.carry_out(late).await;
        assert!(is_error(&late, ErrorKind::Session), "an answer to a question that is gone: {late:?}");
        assert!(!was_run(&talk));
        // Laxer: nobody needs to be asked any more.
        talk.carry_out(Command::SetApproval(Approval::Yolo)).await;
        talk.over(prompt).await;
        let withdrawn: Vec<RequestId> = talk
            .told
            .iter()
            .filter_map(|event| match event {
                Event::ApprovalWithdrawn { request, .. } => Some(*request),
                _ => None,
            })
            .collect();
        assert_eq!(withdrawn, [question.request, again.request]);
        assert!(!talk.told.iter().any(|event| matches!(event, Event::ApprovalResolved { .. })));
        assert!(was_run(&talk));
    });
    assert!(zdx.root().join("made").exists());
}

/// Whether the call was run.
fn was_run(talk: &Talk) -> bool {
    talk.told.iter().any(|event| matches!(event, Event::ToolStarted { .. }))
}
