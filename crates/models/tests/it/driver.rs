//! What goes out, how connections are kept, and how a request ends early.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use zdx_models::wire::Wire;
use zdx_models::{Client, Endpoint, ModelError, ModelEvent, ModelInfo, Secret, StopReason, list_models};
use zdx_testkit::{Gate, ModelServer, Reply, Step};

use crate::talk::{PATIENT, WIRES, ask, breaking_off, endpoint, hear, question, request, saying};

const SOON: Duration = Duration::from_secs(60);

#[tokio::test]
async fn each_wire_asks_in_its_own_way() {
    let server = ModelServer::start_with([saying(Wire::Anthropic, "a"), saying(Wire::OpenaiChat, "b")]);
    let client = Client::new(PATIENT);
    for (wire, base) in [(Wire::Anthropic, server.url()), (Wire::OpenaiChat, server.openai_base())] {
        let mut endpoint = endpoint(wire, &base);
        endpoint.api_key = Some(Secret::new("k-1").unwrap());
        endpoint.headers.insert("X-Team".to_owned(), "blue".to_owned());
        assert_eq!(ask(&client, &endpoint).await.error, None);
    }
    let [anthropic, chat] = server.calls().try_into().unwrap();
    assert_eq!(anthropic.path, "/v1/messages");
    assert_eq!(anthropic.header("x-api-key"), Some("k-1"));
    assert_eq!(anthropic.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(anthropic.header("authorization"), None);
    assert_eq!(chat.path, "/v1/chat/completions");
    assert_eq!(chat.header("authorization"), Some("Bearer k-1"));
    for request in [anthropic, chat] {
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("x-team"), Some("blue"));
        assert_eq!(request.header("user-agent"), Some(concat!("zdx/", env!("CARGO_PKG_VERSION"))));
        assert_eq!(request.header("accept-encoding"), None);
    }
}

/// Waits until the only connection of this test's runtime lies in the pool: what reads the end of the answer, and what puts
/// the connection back, are tasks of the runtime too. Left are the connection's own task and the pool's timer.
async fn is_put_back() {
    let tasks = tokio::runtime::Handle::current().metrics();
    let settled = async {
        while tasks.num_alive_tasks() > 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let settled = tokio::time::timeout(SOON, settled).await;
    assert!(
        settled.is_ok(),
        "{} tasks are left: more than one connection was opened",
        tasks.num_alive_tasks()
    );
    // A task that the end of the answer woke has its turn before this one.
    tokio::task::yield_now().await;
}

async fn is_one_connection(wire: Wire) {
    let server = ModelServer::start();
    let client = Client::draining_for(SOON, PATIENT);
    for _ in 0..40 {
        server.push(saying(wire, "again"));
        assert_eq!(ask(&client, &endpoint(wire, &server.url())).await.text, "again");
        is_put_back().await;
    }
    let connections: BTreeSet<_> = server.calls().iter().map(|request| request.connection).collect();
    assert_eq!(connections.len(), 1);
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_stream_of_chat_completions() {
    is_one_connection(Wire::OpenaiChat).await;
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_stream_of_messages() {
    is_one_connection(Wire::Anthropic).await;
}

#[tokio::test]
async fn a_server_slow_to_end_its_answer_keeps_its_connection() {
    let gate = Gate::new();
    let server = ModelServer::start_with([
        saying(Wire::OpenaiChat, "slow").then(Step::WaitFor(gate.clone())),
        saying(Wire::OpenaiChat, "quick"),
    ]);
    let client = Client::draining_for(SOON, PATIENT);
    let endpoint = endpoint(Wire::OpenaiChat, &server.url());
    // The answer is complete for its reader while the last bytes of its framing are still to come.
    assert_eq!(ask(&client, &endpoint).await.text, "slow");
    gate.open();
    is_put_back().await;
    assert_eq!(ask(&client, &endpoint).await.text, "quick");
    let connections: Vec<_> = server.calls().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0]);
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request() {
    let server = ModelServer::start();
    server.push(breaking_off(Wire::OpenaiChat, "so far").then(Step::Stall));
    let messages = question();
    let client = Client::new(PATIENT);
    let mut stream =
        client.start(&endpoint(Wire::OpenaiChat, &server.url()), &request(&messages)).await.unwrap();
    assert!(matches!(stream.next().await, Ok(Some(ModelEvent::Text(_)))));
    drop(stream);
    // The connection closes on the runtime, so the wait must not block it.
    tokio::task::spawn_blocking(move || server.wait_for_hangups(1, SOON)).await.unwrap();
}

#[tokio::test]
async fn a_cancelled_wait_loses_nothing() {
    let gate = Gate::new();
    let server = ModelServer::start();
    let reply = saying(Wire::OpenaiChat, "first second");
    let half = reply.body_bytes().len() / 2;
    server.push(reply.insert_at(half, Step::WaitFor(gate.clone())));
    let messages = question();
    let client = Client::new(PATIENT);
    let mut stream =
        client.start(&endpoint(Wire::OpenaiChat, &server.url()), &request(&messages)).await.unwrap();
    let (mut text, mut stopped) = (String::new(), false);
    while !stopped {
        match tokio::time::timeout(Duration::from_millis(1), stream.next()).await {
            Err(_) => gate.open(),
            Ok(event) => match event.unwrap() {
                Some(ModelEvent::Text(more)) => text.push_str(&more),
                Some(ModelEvent::Stop(_)) => stopped = true,
                Some(_) => {}
                None => panic!("no end"),
            },
        }
    }
    assert_eq!(text, "first second");
}

#[tokio::test]
async fn whole_answers_whether_asked_for_or_not() {
    for wire in WIRES {
        for stream in [false, true] {
            let server = ModelServer::start_with([match wire {
                Wire::Anthropic => Reply::anthropic().text("all at once").whole(),
                Wire::OpenaiChat => Reply::chat().text("all at once").whole(),
            }]);
            let messages = question();
            let mut request = request(&messages);
            request.stream = stream;
            let heard = hear(&Client::new(PATIENT), &endpoint(wire, &server.url()), &request).await;
            assert_eq!((heard.text.as_str(), heard.stop), ("all at once", Some(StopReason::EndTurn)));
            assert_eq!(server.calls()[0].body["stream"], stream);
        }
    }
}

#[tokio::test]
async fn a_redirect_takes_no_key_anywhere() {
    let elsewhere = ModelServer::start();
    let server = ModelServer::start_with([
        Reply::status(307).header("location", format!("{}/v1/messages", elsewhere.url()))
    ]);
    let mut endpoint = endpoint(Wire::Anthropic, &server.url());
    endpoint.api_key = Some(Secret::new("k-1").unwrap());
    match ask(&Client::new(PATIENT), &endpoint).await.error {
        Some(ModelError::Status { status: 307, message, .. }) => assert!(message.contains(&elsewhere.url())),
        other => panic!("{other:?}"),
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

#[tokio::test]
async fn twenty_thousand_deltas_arrive_in_order_and_joined() {
    let words: Vec<String> = (0..20_000).map(|n| format!("{n} ")).collect();
    for wire in WIRES {
        let reply = match wire {
            Wire::Anthropic => Reply::anthropic().text_deltas(words.clone()).done(),
            Wire::OpenaiChat => Reply::chat().text_deltas(words.clone()).done(),
        };
        let server = ModelServer::start_with([reply]);
        let started = std::time::Instant::now();
        let heard = ask(&Client::new(PATIENT), &endpoint(wire, &server.url())).await;
        println!("{wire:?}: {} events in {:?}", heard.events, started.elapsed());
        assert_eq!(heard.text, words.concat());
        assert_eq!(heard.error, None);
    }
}

#[tokio::test]
async fn models_are_listed() {
    let server = ModelServer::start();
    server.models(
        Reply::status(200).json(json!({"object":"list","data":[{"id":"a","max_model_len":4096},{"id":"b"}]})),
    );
    let client = Client::new(PATIENT);
    let expected = [
        ModelInfo { id: "a".to_owned(), context_limit: Some(4096) },
        ModelInfo { id: "b".to_owned(), context_limit: None },
    ];
    for wire in WIRES {
        let mut endpoint = endpoint(wire, &server.url());
        endpoint.api_key = Some(Secret::new("k-1").unwrap());
        assert_eq!(list_models(&client, &endpoint).await.unwrap(), expected);
    }
    let [anthropic, chat] = server.requests().try_into().unwrap();
    assert_eq!((anthropic.path.as_str(), anthropic.header("x-api-key")), ("/v1/models", Some("k-1")));
    assert_eq!((chat.path.as_str(), chat.header("authorization")), ("/v1/models", Some("Bearer k-1")));
    server.models(Reply::status(401).json(json!({"error":{"message":"who are you?"}})));
    let refused = list_models(&client, &endpoint(Wire::OpenaiChat, &server.url())).await;
    assert!(matches!(refused, Err(ModelError::Status { status: 401, .. })), "{refused:?}");
}

#[tokio::test]
async fn the_demo_needs_no_server() {
    let heard = ask(&Client::new(PATIENT), &Endpoint::demo()).await;
    assert!(heard.text.contains("not a language model") || heard.text.contains("`bash`"), "{heard:?}");
}
