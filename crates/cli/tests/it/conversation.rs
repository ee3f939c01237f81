//! The conversation between a front end and the engine, through the very channels that every front end has: what is sent
//! ends once, what is asked is answered meanwhile, and one engine serves one session after another.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::timeout;
use zdx_engine::{Env, Flags, Paths, Setup, spawn};
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
        let env = Env::from_pairs(vars);
        let engine = spawn(Setup {
            paths: Paths::from_env(&env).unwrap(),
            env,
            root: zdx.root().to_owned(),
            flags: Flags::default(),
            agent: None,
            remote: None,
            trust: false,
            save: true,
            person: true,
            one_prompt: false,
            allow_dangerous: false,
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
        Query::Masked { text: "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789".into() },
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
                (Query::Masked { .. }, Told::Masked(text)) => assert_eq!(text, "[redacted]"),
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

#[test]
fn one_engine_opens_one_session_after_another() {
    let server = ModelServer::start();
    server.always(|request| Reply::chat().text(&format!("answer {}", request.messages().len())).done());
    let zdx = with_model(&server);
    std::fs::create_dir(zdx.root().join("sub")).unwrap();
    talk(&zdx, |mut talk| async move {
        let first = talk.open(Open::New).await;
        let info = (first.agent.as_str(), first.approval, first.saved, first.resumed);
        assert_eq!(info, ("build", Approval::Balanced, true, false));
        talk.prompt("one").await;
        // What cannot be opened leaves what is open as it is.
        let lost = talk.carry_out(Command::Open(Open::Resume(SessionPick::Id("ffff".into())))).await;
        assert!(is_error(&lost, ErrorKind::Session), "{lost:?}");
        talk.prompt("two").await;
        assert_eq!(server_prompts(&server), ["one", "two"]);

        let from = talk.told.len();
        let fork = talk.open(Open::Fork { turn: Some(2) }).await;
        assert_eq!(fork.parent.as_ref(), Some(&first.session));
        assert_eq!(retold(&talk.told[from..]), ["1> one", "answer 2"]);
        talk.prompt("three").await;
        assert_eq!(server_prompts(&server), ["one", "three"]);

        let from = talk.told.len();
        let back = talk.open(Open::Resume(SessionPick::Id(first.session[..8].to_owned()))).await;
        assert_eq!((back.session.as_str(), back.resumed), (first.session.as_str(), true));
        assert_eq!(retold(&talk.told[from..]), ["1> one", "answer 2", "2> two", "answer 4"]);
        // The one that is open can be opened again.
        assert_eq!(talk.open(Open::Resume(SessionPick::LatestHere)).await.session, fork.session);
        assert_eq!(talk.open(Open::Resume(SessionPick::LatestHere)).await.session, fork.session);

        let elsewhere = talk.open(Open::Root("sub".into())).await;
        assert!(elsewhere.root.ends_with("sub") && !elsewhere.resumed, "{elsewhere:?}");
        talk.prompt("four").await;
        assert_eq!(server_prompts(&server), ["four"]);
    });
}

/// What the user is seen to have said in the last request.
fn server_prompts(server: &ModelServer) -> Vec<String> {
    let request = server.calls().pop().expect("a request");
    let said = request.messages().iter().filter(|message| message["role"] == "user");
    said.map(|message| message["content"].as_str().expect("text").to_owned()).collect()
}

#[test]
fn nothing_of_a_folder_is_used_before_the_question_about_it_is_answered() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write(".zdx/config.toml", "[agent.mate]\ndescription = \"x\"\nprompt = \"hi\"\nmodel = \"test/other\"\n[env]\npass = [\"SECRET\"]\n");
    talk(&zdx, |mut talk| async move {
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        let asked = talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let Event::TrustRequested(question) = asked else { unreachable!() };
        assert_eq!(question.state.standing, Standing::Unknown);
        assert!(!question.state.wants.is_empty());
        assert!(started(&talk.told).is_none(), "no session before the answer");
        let wrong = Command::AnswerTrust { request: RequestId(99), trust: true };
        let wrong = talk.carry_out(wrong).await;
        assert!(is_error(&wrong, ErrorKind::Session), "{wrong:?}");
        talk.carry_out(Command::AnswerTrust { request: question.request, trust: false }).await;
        talk.over(opening).await;
        let warned = |talk: &Talk, from: usize| {
            talk.told[from..].iter().any(
                |event| matches!(event, Event::Notice { message, .. } if message.contains("not trusted")),
            )
        };
        assert!(started(&talk.told).is_some() && warned(&talk, 0));
        // Whoever said "not now" is not asked again, until he asks for it himself.
        let from = talk.told.len();
        talk.open(Open::New).await;
        assert!(!talk.told[from..].iter().any(|event| matches!(event, Event::TrustRequested(_))));
        talk.carry_out(Command::SetApproval(Approval::Paranoid)).await;
        let from = talk.told.len();
        let deciding = talk.engine.send(Command::Trust).await;
        let asked = talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let Event::TrustRequested(question) = asked else { unreachable!() };
        talk.carry_out(Command::AnswerTrust { request: question.request, trust: true }).await;
        talk.over(deciding).await;
        let again = started(&talk.told[from..]).expect("it goes on as trusted");
        assert!(!warned(&talk, from) && again.approval == Approval::Paranoid, "{again:?}");
        match talk.ask(Query::Trust).await {
            Told::Trust(state) => {
                assert_eq!((state.standing, state.wants.is_empty()), (Standing::Trusted, false));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn whoever_leaves_at_the_question_about_trust_leaves() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    zdx.write(".zdx/config.toml", "[env]\npass = [\"SECRET\"]\n");
    talk(&zdx, |mut talk| async move {
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        let prompt = talk.engine.send(Command::Prompt("never".into())).await;
        talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let told = talk.leave().await;
        for id in [opening, prompt] {
            let end = told.iter().find(|event| event.ends() == Some(id)).expect("an end");
            assert!(is_error(end, ErrorKind::Interrupted), "{end:?}");
        }
        assert!(started(&told).is_none());
    });
    assert_eq!(server.calls().len(), 0);
}

#[test]
fn a_question_about_trust_is_answered_where_there_is_none_and_left_in_plain_words() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let config = zdx.root().join(".zdx/config.toml");
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let end = talk.carry_out(Command::Trust).await;
        assert!(matches!(end, Event::Done { .. }), "{end:?}");
        let said = |event: &Event| matches!(event, Event::Notice { message, .. } if message.contains("asks for trust"));
        assert!(talk.told.iter().any(said), "{:?}", talk.told);

        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        std::fs::write(config, "[env]\npass = [\"SECRET\"]\n").unwrap();
        let deciding = talk.engine.send(Command::Trust).await;
        talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let told = talk.leave().await;
        let end = told.iter().find(|event| event.ends() == Some(deciding)).expect("an end");
        let Event::Error { message, .. } = end else { panic!("{end:?}") };
        assert!(message.contains("the session is as it was"), "{message}");
    });
}

/// Whoever thinks about an answer does not make the command slow.
#[test]
fn the_time_of_a_check_is_not_that_of_the_question_about_it() {
    let server = ModelServer::start();
    server.push(Reply::chat().tool_call("c1", "write", json!({"path": "a.rs", "content": "x"})));
    server.push(Reply::chat().text("done"));
    let zdx = with_model(&server);
    zdx.write("Makefile", "test:\n\ttrue\n");
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        talk.engine.send(Command::Prompt("go".into())).await;
        let mut answered = Instant::now();
        for thinks in [Duration::ZERO, Duration::from_millis(500)] {
            let asked = talk.until(|event| matches!(event, Event::ApprovalRequested(_))).await;
            let Event::ApprovalRequested(question) = asked else { unreachable!() };
            tokio::time::sleep(thinks).await;
            answered = Instant::now();
            let (request, decision) = (question.request, Decision::AllowOnce);
            talk.engine.send(Command::Answer { request, decision }).await;
        }
        let is_check = |event: &Event| matches!(event, Event::ToolFinished { origin: CallOrigin::Check, .. });
        let Event::ToolFinished { duration_ms, .. } = talk.until(is_check).await else { unreachable!() };
        let since = answered.elapsed();
        assert!(u128::from(duration_ms) <= since.as_millis(), "{duration_ms} ms, of {since:?}");
        talk.leave().await;
    });
}

#[test]
fn what_waits_behind_an_interrupted_turn_is_not_begun_and_says_so() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["some", "thing"]).done(), "thing", &gate));
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let first = talk.engine.send(Command::Prompt("one".into())).await;
        talk.until(|event| matches!(event, Event::AssistantDelta { .. })).await;
        let second = talk.engine.send(Command::Prompt("two".into())).await;
        let agent = talk.engine.send(Command::SetAgent("plan".into())).await;
        talk.carry_out(Command::Interrupt).await;
        for id in [second, agent] {
            let end = talk.over(id).await;
            assert!(is_error(&end, ErrorKind::Interrupted), "{end:?}");
        }
        assert!(matches!(talk.over(first).await, Event::Done { .. }));
        assert_eq!(finished(&talk.told).unwrap().outcome, Outcome::Interrupted);
        let told = talk.leave().await;
        assert!(!told.iter().any(|event| matches!(event, Event::AgentChanged { .. })));
        gate.open();
    });
    assert_eq!(server.calls().len(), 1);
}

/// Whoever sends a lot before he reads must find everything answered, and the turn unharmed.
#[test]
fn a_front_end_that_reads_late_misses_nothing() {
    let server = ModelServer::start();
    let words: Vec<String> = (0..3_000).map(|n| format!("w{n} ")).collect();
    server.push(Reply::chat().text_deltas(words.clone()).done().split_every(200));
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let prompt = talk.engine.send(Command::Prompt("a lot".into())).await;
        let mut asked = Vec::new();
        for n in 0..50 {
            let command = match n % 3 {
                0 => Command::Ask(Query::Context),
                1 => Command::SetApproval(Approval::Paranoid),
                _ => Command::Ask(Query::Agents),
            };
            asked.push(talk.engine.send(command).await);
            tokio::task::yield_now().await;
        }
        for id in asked {
            talk.over(id).await;
        }
        talk.over(prompt).await;
        let streamed: String = talk
            .told
            .iter()
            .filter_map(|event| match event {
                Event::AssistantDelta { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(streamed, words.concat());
    });
}

#[test]
fn a_call_is_announced_while_its_arguments_stream_under_the_id_it_keeps() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let call = || Reply::chat().tool_call_deltas("call_0", "shell", ["{\"command\": ", "\"true\"}"]);
    server.push(hold_before(call().done(), "true", &gate));
    server.push(call().done());
    server.push(Reply::chat().text("done").done());
    let zdx = place().chat(&server).config_more("approval = \"yolo\"");
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let prompt = talk.engine.send(Command::Prompt("go".into())).await;
        talk.until(|event| matches!(event, Event::ToolAnnounced { .. })).await;
        assert!(!talk.told.iter().any(|event| matches!(event, Event::ToolRequested { .. })));
        gate.open();
        talk.over(prompt).await;
        let life: Vec<String> = talk
            .told
            .iter()
            .filter_map(|event| match event {
                Event::ToolAnnounced { id, name } => Some(format!("announced {id} {name}")),
                Event::ToolRequested { id, name, .. } => Some(format!("requested {id} {name}")),
                Event::ToolStarted { id, .. } => Some(format!("started {id}")),
                Event::ToolFinished { id, .. } => Some(format!("finished {id}")),
                _ => None,
            })
            .collect();
        // The second one is refused for its id, and has one of its own from its first sign of life on.
        let first = ["announced call_0 bash", "requested call_0 bash", "started call_0", "finished call_0"];
        let second = ["announced call_0-2 bash", "requested call_0-2 bash", "finished call_0-2"];
        assert_eq!(life, [&first[..], &second[..]].concat());
    });
}

/// Whoever waits to be heard must not keep others from it: neither when idle nor at the end of a turn.
#[test]
fn a_full_queue_of_events_blocks_nobody_for_good() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("said").done());
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let mut sent = Vec::new();
        for n in 0..300 {
            let preset = if n % 2 == 0 { Approval::Paranoid } else { Approval::Balanced };
            sent.push(talk.engine.send(Command::SetApproval(preset)).await);
            tokio::task::yield_now().await;
        }
        sent.push(talk.engine.send(Command::SetModel("test/scripted".into())).await);
        sent.push(talk.engine.send(Command::Prompt("hi".into())).await);
        sent.push(talk.engine.send(Command::Compact).await);
        for _ in 0..40 {
            sent.push(talk.engine.send(Command::Ask(Query::Context)).await);
            tokio::task::yield_now().await;
        }
        for id in sent {
            talk.over(id).await;
        }
        talk.prompt("and again").await;
    });
}

#[test]
fn what_is_sent_behind_a_wish_to_leave_is_for_the_next_session() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["some", "thing"]).done(), "thing", &gate));
    server.push(Reply::chat().text("in the new one").done());
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let first = talk.engine.send(Command::Prompt("one".into())).await;
        talk.until(|event| matches!(event, Event::AssistantDelta { .. })).await;
        let overtaken = talk.engine.send(Command::Open(Open::New)).await;
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        let second = talk.engine.send(Command::Prompt("two".into())).await;
        for id in [first, opening, second] {
            let end = talk.over(id).await;
            assert!(matches!(end, Event::Done { .. }), "{end:?}");
        }
        let end = talk.over(overtaken).await;
        assert!(is_error(&end, ErrorKind::Interrupted), "{end:?}");
        gate.open();
    });
    assert_eq!(server_prompts(&server), ["two"], "a session of its own");
}

#[test]
fn what_was_sent_for_a_session_that_is_not_opened_is_not_done_in_another_one() {
    let server = ModelServer::start();
    let zdx = with_model(&server);
    let root = zdx.root().to_owned();
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        std::fs::create_dir(root.join(".zdx")).unwrap();
        std::fs::write(root.join(".zdx/config.toml"), "[env]\npass = [\"SECRET\"]\n").unwrap();
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        let prompt = talk.engine.send(Command::Prompt("for the new one".into())).await;
        talk.carry_out(Command::Interrupt).await;
        for id in [opening, prompt] {
            let end = talk.over(id).await;
            assert!(is_error(&end, ErrorKind::Interrupted), "{end:?}");
        }
    });
    assert_eq!(server.calls().len(), 0);
}

/// A mistyped id must not cost the turn that runs.
#[test]
fn what_cannot_be_opened_interrupts_nothing() {
    let gate = Gate::new();
    let server = ModelServer::start();
    server.push(hold_before(Reply::chat().text_deltas(["some", "thing"]).done(), "thing", &gate));
    let zdx = with_model(&server);
    talk(&zdx, |mut talk| async move {
        talk.open(Open::New).await;
        let prompt = talk.engine.send(Command::Prompt("one".into())).await;
        talk.until(|event| matches!(event, Event::AssistantDelta { .. })).await;
        for open in [Open::Resume(SessionPick::Id("ffff".into())), Open::Root("nowhere".into())] {
            let end = talk.carry_out(Command::Open(open)).await;
            assert!(matches!(end, Event::Error { .. }), "{end:?}");
        }
        gate.open();
        talk.over(prompt).await;
        let summary = finished(&talk.told).unwrap();
        assert_eq!((summary.outcome, summary.text.as_str()), (Outcome::Completed, "something"));
    });
}

#[test]
fn a_session_that_cannot_go_on_as_trusted_goes_on_as_it_was() {
    let server = ModelServer::start();
    server.always(|_| Reply::chat().text("said").done());
    let zdx = with_model(&server);
    // Trusted, it names a provider that is not there.
    zdx.write(".zdx/config.toml", "model = \"nowhere/x\"\n[providers.nowhere]\nwire = \"openai-chat\"\n");
    talk(&zdx, |mut talk| async move {
        let opening = talk.engine.send(Command::Open(Open::New)).await;
        let answer = |event: Event, trust: bool| match event {
            Event::TrustRequested(question) => Command::AnswerTrust { request: question.request, trust },
            other => panic!("{other:?}"),
        };
        let asked = talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        talk.engine.send(answer(asked, false)).await;
        talk.over(opening).await;
        talk.prompt("one").await;
        talk.carry_out(Command::SetApproval(Approval::Paranoid)).await;
        let deciding = talk.engine.send(Command::Trust).await;
        let asked = talk.until(|event| matches!(event, Event::TrustRequested(_))).await;
        talk.engine.send(answer(asked, true)).await;
        talk.over(deciding).await;
        talk.prompt("two").await;
        match talk.ask(Query::Grants).await {
            Told::Grants(grants) => {
                assert_eq!(grants.approval, Approval::Paranoid, "what was chosen stays chosen")
            }
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(server_prompts(&server), ["one", "two"]);
    let saved = zdx.records();
    assert!(saved.iter().any(|record| record["text"] == "two"), "{saved:?}");
}

#[test]
fn one_large_result_among_small_ones_is_not_cut() {
    let server = ModelServer::start();
    let reply = (0..8).fold(Reply::chat(), |reply, n| {
        let path = if n == 0 { "large.txt" } else { "small.txt" };
        reply.tool_call(&format!("c{n}"), "read", json!({"path": path, "limit": 1000 + n}))
    });
    server.push(reply.done());
    server.push(Reply::chat().text("read").done());
    let zdx = with_model(&server);
    zdx.write("large.txt", "0123456789abcde\n".repeat(1_000));
    zdx.write("small.txt", "x\n");
    zdx.run(["exec", "-p", "read them"]).success();
    let results = crate::results(&server.calls()[1]);
    assert_eq!(results[0]["data"]["content"].as_str().unwrap().len(), 16_000, "{}", results[0]);
}

#[test]
fn a_compacted_session_is_told_again_too() {
    let server = ModelServer::start();
    server.always(|request| match request.body.to_string().contains("Write a summary") {
        true => Reply::chat().text("a summary of what was said so far, long enough").done(),
        false => Reply::chat().text(&"an answer ".repeat(400)).done(),
    });
    let zdx = with_model(&server);
    for prompt in ["first", "second", "third"] {
        zdx.run(["exec", "-c", "-p", prompt]).code.filter(|code| *code == 0).unwrap_or_else(|| {
            zdx.run(["exec", "-p", prompt]).success();
            0
        });
    }
    zdx.command().args(["-c"]).stdin("/compact\n").run().success();
    talk(&zdx, |mut talk| async move {
        talk.open(Open::Resume(SessionPick::Latest)).await;
        let past = talk.told.iter().filter(|event| matches!(event, Event::Replayed { .. })).count();
        assert!(past > 0, "{:?}", talk.told);
    });
}
