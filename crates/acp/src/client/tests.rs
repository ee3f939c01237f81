use serde_json::json;
use tokio::io::{duplex, split};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::host::HostRequest;
use crate::peer::{Asked, connect};
use crate::terminal_table::TerminalTable;
use crate::{HostAnswer, TerminalExit, code};

/// The agent lives as long as its streams.
impl AgentLiveness for () {
    async fn ended(&mut self) {
        std::future::pending().await
    }

    fn still_heard(&mut self) {}
}

#[derive(Default)]
struct Listener {
    heard: Vec<Update>,
    strays: Vec<String>,
    /// Stops the wait, for the reason, once this many updates came.
    stops: Vec<(usize, &'static str)>,
}

impl AcpObserver for Listener {
    type Stop = &'static str;

    async fn attend(&mut self) -> Result<(), &'static str> {
        match self.stops.first() {
            Some((count, _)) if self.heard.len() >= *count => Err(self.stops.remove(0).1),
            Some(_) | None => std::future::pending().await,
        }
    }

    async fn update(&mut self, update: Update) {
        self.heard.push(update);
    }

    async fn permission_requested(&mut self, mut call: Value) -> Value {
        call["title"] = "completed by the observer".into();
        call
    }

    fn stray(&mut self, line: &str) {
        self.strays.push(line.to_owned());
    }
}

#[derive(Default)]
struct Desk {
    terminals: TerminalTable,
    turn: CancellationToken,
}

impl Host for Desk {
    async fn read_text_file(&self, request: HostRequest) -> HostAnswer {
        crate::unless_cancelled(&request.cancel, std::future::pending()).await
    }

    async fn write_text_file(&self, request: HostRequest) -> HostAnswer {
        Ok(json!({"number": request.number}))
    }

    async fn request_permission(&self, request: HostRequest) -> HostAnswer {
        Ok(json!({"call": request.params.0["toolCall"], "cancelled": self.turn.is_cancelled()}))
    }

    async fn create_terminal(&self, request: HostRequest) -> HostAnswer {
        let start = |feed: crate::TerminalFeed| {
            tokio::spawn(async move {
                feed.started(Ok(()));
                feed.output.push(b"printed");
                feed.stop.cancelled().await;
                feed.exited(TerminalExit { code: None, signal: Some("SIGTERM".into()) });
            })
        };
        let id = request.params.text("id")?;
        self.terminals.create(id, 100, None, start).await
    }

    fn terminals(&self) -> &TerminalTable {
        &self.terminals
    }

    fn cancel_turn(&self) {
        self.turn.cancel();
    }
}

struct Agent {
    peer: Peer,
    inbox: Inbox,
}

impl Agent {
    /// The next request or notification: its method, its parameters, and the request itself.
    async fn hear(&mut self) -> (String, Value, Option<Asked>) {
        match self.inbox.recv().await.expect("the client is there") {
            Heard::Request(asked) => (asked.method.clone(), asked.params.clone(), Some(asked)),
            Heard::Notification { method, params } => (method, params, None),
            Heard::Stray { line, .. } => panic!("{line}"),
        }
    }

    async fn answer(&mut self, method: &str, answer: Result<Value, crate::RpcError>) -> Value {
        let (heard, params, asked) = self.hear().await;
        assert_eq!(heard, method);
        asked.expect("a request").answer(answer).await;
        params
    }

    async fn says(&self, session: &str, text: &str) {
        let update =
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
        self.peer.notify("session/update", json!({"sessionId": session, "update": update})).await.unwrap();
    }
}

type TestClient = AcpClient<(), Desk, Listener>;

/// The client's side, and the agent.
fn sides() -> ((Peer, Inbox), Agent) {
    let (ours, theirs) = duplex(64 << 10);
    let side = |stream| {
        let (reader, writer) = split(stream);
        connect(reader, writer, None)
    };
    let (peer, inbox) = side(theirs);
    (side(ours), Agent { peer, inbox })
}

fn pair() -> (TestClient, Agent) {
    let ((peer, inbox), agent) = sides();
    let mut client = AcpClient::new(((), peer, inbox), Listener::default(), Duration::from_secs(60));
    client.serve_by(Arc::new(Desk::default()));
    (client, agent)
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    // Nothing here may hang.
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), test).await }).expect("it ends");
}

fn texts(updates: &[Update]) -> Vec<&str> {
    let text = |update| match update {
        &Update::Message(crate::shapes::Block::Text(ref text)) => text.as_str(),
        other => panic!("{other:?}"),
    };
    updates.iter().map(text).collect()
}

#[test]
fn a_handshake_and_a_session_say_what_can_be_set() {
    run(async {
        let (mut client, mut agent) = pair();
        let plays = async {
            let welcome = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}});
            let params = agent.answer("initialize", Ok(welcome)).await;
            assert_eq!(params["protocolVersion"], 1);
            assert_eq!(params["clientCapabilities"], crate::client_capabilities());
            let modes = json!({"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "code"}]});
            agent.answer("session/new", Ok(json!({"sessionId": "s1", "modes": modes}))).await;
            let set = agent.answer("session/set_mode", Ok(json!({}))).await;
            assert_eq!(set, json!({"sessionId": "s1", "modeId": "code"}));
        };
        let drives = async {
            client.initialize().await.unwrap();
            assert!(ReopenMethod::Load.is_offered(&client.welcome));
            assert!(!ReopenMethod::Resume.is_offered(&client.welcome));
            client.new_session(json!({"cwd": "/w"})).await.unwrap();
            let mode = client.session.choices.mode().unwrap().clone();
            client.set(&mode, &mode.find("code").unwrap()).await.unwrap();
            let mode = client.session.choices.mode().unwrap();
            assert_eq!(mode.current().as_deref(), Some("code"));
        };
        tokio::join!(plays, drives);
    });
}

#[test]
fn what_is_no_usable_answer_is_told_apart() {
    run(async {
        let (mut client, mut agent) = pair();
        let plays = async {
            agent.answer("initialize", Ok(json!({"protocolVersion": 0}))).await;
            agent.answer("session/new", Ok(json!({}))).await;
            let methods = json!({"authMethods": [{"id": "key"}]});
            let refusal = crate::RpcError::new(code::AUTH_REQUIRED, "who are you?").with(methods);
            agent.answer("session/new", Err(refusal)).await;
            let refusal = crate::RpcError::new(code::NOT_FOUND, "no such session");
            agent.answer("session/load", Err(refusal)).await;
            drop(agent);
        };
        let drives = async {
            let error = client.initialize().await.unwrap_err();
            assert!(matches!(error, AcpError::Version { answered } if answered == 0));
            let error = client.new_session(json!({})).await.unwrap_err();
            assert!(matches!(error, AcpError::NoSessionId));
            match client.new_session(json!({})).await.unwrap_err() {
                AcpError::LoginRequired { message, methods } => {
                    assert_eq!((message.as_str(), methods[0].id.as_str()), ("who are you?", "key"));
                }
                other => panic!("{other:?}"),
            }
            let error = client.reopen_session(ReopenMethod::Load, "old", json!({})).await.unwrap_err();
            assert!(matches!(error, AcpError::Refused { method: "session/load", .. }), "{error:?}");
            assert_eq!(client.session.id, "", "a session that could not be opened is not the client's");
            let error = client.call("session/list", json!({})).await.unwrap_err();
            assert!(matches!(error, AcpError::Gone { method: "session/list" }), "{error:?}");
        };
        tokio::join!(plays, drives);
    });
}

#[test]
fn a_turn_passes_on_the_updates_of_its_session_before_it_ends() {
    run(async {
        let (mut client, mut agent) = pair();
        client.session.id = "s1".to_owned();
        let plays = async {
            let (_, params, asked) = agent.hear().await;
            assert_eq!(params, json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "hi"}]}));
            agent.says("s1", "one").await;
            agent.says("another", "not ours").await;
            agent.peer.say("no frame").await.unwrap();
            agent.says("s1", "two").await;
            asked.unwrap().answer(Ok(json!({"stopReason": "end_turn"}))).await;
        };
        let blocks = vec![json!({"type": "text", "text": "hi"})];
        let ((), ended) = tokio::join!(plays, client.prompt(blocks));
        assert_eq!(ended.unwrap(), StopReason::EndTurn);
        assert_eq!(texts(&client.observer.heard), ["one", "two"]);
        assert_eq!(client.observer.strays, ["no frame"]);
    });
}

#[test]
fn a_stopped_turn_is_cancelled_and_heard_to_its_end() {
    run(async {
        let (mut client, mut agent) = pair();
        client.session.id = "s1".to_owned();
        client.observer.stops = vec![(1, "enough")];
        let plays = async {
            let (_, _, asked) = agent.hear().await;
            agent.says("s1", "working").await;
            let (method, params, _) = agent.hear().await;
            assert_eq!((method.as_str(), params), ("session/cancel", json!({"sessionId": "s1"})));
            let asks = json!({"toolCall": {"toolCallId": "c"}});
            let answer = agent.peer.call("session/request_permission", asks).await.unwrap();
            assert_eq!(answer["cancelled"], true);
            agent.says("s1", "to the end").await;
            asked.unwrap().answer(Ok(json!({"stopReason": "cancelled"}))).await;
        };
        let ((), ended) = tokio::join!(plays, client.prompt(Vec::new()));
        assert!(matches!(ended, Err(AcpError::Stopped { why: "enough", is_settled: true })), "{ended:?}");
        assert_eq!(texts(&client.observer.heard), ["working", "to the end"]);
    });
}

#[test]
fn a_second_stop_does_not_wait_for_the_agent() {
    run(async {
        let (mut client, mut agent) = pair();
        client.observer.stops = vec![(1, "first"), (2, "second")];
        let plays = async {
            let (_, _, asked) = agent.hear().await;
            agent.says("s", "one").await;
            assert_eq!(agent.hear().await.0, "session/cancel");
            agent.says("s", "two").await;
            asked
        };
        let (asked, ended) = tokio::join!(plays, client.prompt(Vec::new()));
        assert!(matches!(ended, Err(AcpError::Stopped { why: "first", is_settled: false })), "{ended:?}");
        drop(asked);
    });
}

#[test]
fn requests_are_served_counted_and_cancelled() {
    run(async {
        let (mut client, mut agent) = pair();
        let plays = async {
            let (_, _, asked) = agent.hear().await;
            let asks = json!({"toolCall": {"toolCallId": "c"}});
            let answer = agent.peer.call("session/request_permission", asks).await.unwrap();
            assert_eq!(answer["call"], json!({"toolCallId": "c", "title": "completed by the observer"}));
            let written = agent.peer.call("fs/write_text_file", json!({})).await.unwrap();
            assert_eq!(written["number"], 2);
            let unknown = agent.peer.call("fs/list", json!({})).await.unwrap_err();
            assert!(matches!(unknown, CallError::Refused(error) if error.code == code::METHOD_NOT_FOUND));
            // One that is taken back.
            let id = agent.peer.next_id();
            let reads = agent.peer.call_as(&id, "fs/read_text_file", json!({}));
            let takes_back = agent.peer.notify("$/cancel_request", json!({"requestId": id.to_value()}));
            let (read, _) = tokio::join!(reads, takes_back);
            assert!(matches!(read, Err(CallError::Refused(error)) if error.code == code::CANCELLED));
            asked.unwrap().answer(Ok(json!({}))).await;
        };
        let ((), answer) = tokio::join!(plays, client.call("session/list", json!({})));
        assert_eq!(answer.unwrap(), json!({}));
    });
}

#[test]
fn without_a_host_requests_are_refused_and_its_terminals_end_with_it() {
    run(async {
        let (mut client, mut agent) = pair();
        let plays = async {
            let (_, _, asked) = agent.hear().await;
            let about = json!({"terminalId": "t1"});
            assert_eq!(agent.peer.call("terminal/create", json!({"id": "t1"})).await, Ok(about.clone()));
            let output = agent.peer.call("terminal/output", about.clone()).await.unwrap();
            assert_eq!(output, json!({"output": "printed", "truncated": false}));
            let waits = agent.peer.call("terminal/wait_for_exit", about.clone());
            let (exit, killed) = tokio::join!(waits, agent.peer.call("terminal/kill", about.clone()));
            assert_eq!(exit, Ok(json!({"exitCode": null, "signal": "SIGTERM"})));
            assert_eq!(killed, Ok(json!({})));
            assert_eq!(agent.peer.call("terminal/release", about.clone()).await, Ok(json!({})));
            let gone = agent.peer.call("terminal/output", about).await.unwrap_err();
            assert!(matches!(gone, CallError::Refused(error) if error.code == code::NOT_FOUND));
            assert!(agent.peer.call("terminal/create", json!({"id": "t2"})).await.is_ok());
            asked.unwrap().answer(Ok(json!({}))).await;
        };
        let ((), answer) = tokio::join!(plays, client.call("session/list", json!({})));
        answer.unwrap();
        client.end_requests(Duration::from_secs(60)).await;
        let asks = agent.peer.call("fs/write_text_file", json!({}));
        let (refused, ()) = tokio::join!(asks, client.listen());
        assert!(matches!(refused, Err(CallError::Refused(error)) if error.code == code::INTERNAL));
    });
}

#[test]
fn an_answer_that_is_late_is_an_error_that_says_so() {
    run(async {
        let (mut client, _agent) = pair();
        client.limit = Duration::ZERO;
        let error = client.call("session/list", json!({})).await.unwrap_err();
        assert!(
            matches!(error, AcpError::Late { method: "session/list", limit: Duration::ZERO }),
            "{error:?}"
        );
    });
}

/// While a reader takes nothing, no time counts against the agent.
#[test]
fn no_limit_runs_while_there_is_no_room() {
    struct Full;
    impl AcpObserver for Full {
        type Stop = ();

        fn has_room(&self) -> bool {
            false
        }

        async fn update(&mut self, _: Update) {}

        async fn permission_requested(&mut self, call: Value) -> Value {
            call
        }
    }
    run(async {
        let ((peer, inbox), mut agent) = sides();
        let mut client: AcpClient<(), Desk, Full> = AcpClient::new(((), peer, inbox), Full, Duration::ZERO);
        let plays = async {
            let (_, _, asked) = agent.hear().await;
            // Longer than the limit, which timers round up to a millisecond.
            let heard = Instant::now();
            while heard.elapsed() < Duration::from_millis(20) {
                tokio::task::yield_now().await;
            }
            asked.unwrap().answer(Ok(json!({}))).await;
        };
        let ((), answer) = tokio::join!(plays, client.call("session/list", json!({})));
        assert_eq!(answer.unwrap(), json!({}));
    });
}
