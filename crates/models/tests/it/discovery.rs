//! Looking for a local server: order, patience, and what is not taken for one.

use std::time::{Duration, Instant};

use serde_json::json;
use zdx_models::{Client, Discovered, Discovery, discover};
use zdx_testkit::{ModelServer, Reply, Step, quirks};

use crate::talk::PATIENT;

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn offering(ids: &[&str]) -> ModelServer {
    let server = ModelServer::start();
    let models: Vec<_> = ids.iter().map(|id| json!({"id": id, "max_model_len": 4096})).collect();
    server.models(Reply::status(200).json(json!({ "data": models })));
    server
}

/// Somebody is there, and is asked again where a busy machine kept him from answering in the half second he has.
async fn looked(servers: &[(&str, u16)]) -> Discovery {
    let client = Client::new(PATIENT);
    for _ in 0..20 {
        match discover(&client, servers).await {
            Discovery::Nobody => {}
            somebody => return somebody,
        }
    }
    Discovery::Nobody
}

async fn found(servers: &[(&str, u16)]) -> Option<(String, String)> {
    match looked(servers).await {
        Discovery::Found(Discovered { endpoint, .. }) => Some((endpoint.provider, endpoint.model)),
        Discovery::WantsKey { .. } | Discovery::Nobody => None,
    }
}

#[tokio::test]
async fn nobody_there_is_known_at_once() {
    let servers = [
        ("vllm", free_port()),
        ("llamacpp", free_port()),
        ("ollama", free_port()),
        ("lmstudio", free_port()),
    ];
    let client = Client::new(PATIENT);
    let started = Instant::now();
    assert_eq!(discover(&client, &servers).await, Discovery::Nobody);
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[tokio::test]
async fn the_first_in_order_that_offers_a_model_is_taken() {
    let (b, c) = (offering(&["b-1", "b-2"]), offering(&["c-1"]));
    let servers = [("vllm", free_port()), ("llamacpp", b.port()), ("ollama", c.port())];
    assert_eq!(found(&servers).await, Some(("llamacpp".into(), "b-1".into())));
    let Discovery::Found(taken) = looked(&servers).await else { panic!("found") };
    assert_eq!(taken.context_limit, Some(4096));
    assert_eq!(taken.endpoint.base_url, format!("http://127.0.0.1:{}/v1", b.port()));
    // Nobody is shown a key, and nothing but the list is asked for.
    for request in b.requests() {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/v1/models"));
        assert_eq!(request.header("authorization"), None);
    }
}

#[tokio::test]
async fn what_is_no_model_server_is_passed_over() {
    let page = ModelServer::start();
    page.models(Reply::status(200).body("text/html", "<html><title>my site</title>"));
    let (empty, embedding) = (offering(&[]), offering(&["text-embedding-x"]));
    let last = offering(&["nomic-embed-text", "qwen3:8b"]);
    let servers = [
        ("vllm", page.port()),
        ("llamacpp", empty.port()),
        ("ollama", embedding.port()),
        ("lmstudio", last.port()),
    ];
    assert_eq!(found(&servers).await, Some(("lmstudio".into(), "qwen3:8b".into())));
}

#[tokio::test]
async fn a_silent_listener_is_not_waited_for_long() {
    let silent = ModelServer::start();
    silent.models(Reply::raw([Step::Stall]));
    let good = offering(&["g"]);
    let started = Instant::now();
    assert_eq!(
        found(&[("vllm", silent.port()), ("ollama", good.port())]).await,
        Some(("ollama".into(), "g".into()))
    );
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_server_that_wants_a_key_is_named_unless_another_offers_a_model() {
    let (locked, forbidden) = (ModelServer::start(), ModelServer::start());
    locked.models(quirks::wants_a_key());
    forbidden.models(Reply::status(403));
    let servers = [("vllm", free_port()), ("llamacpp", locked.port()), ("ollama", forbidden.port())];
    let wants = Discovery::WantsKey { provider: "llamacpp".to_owned(), port: locked.port() };
    assert_eq!(looked(&servers).await, wants);
    let open = offering(&["g"]);
    let servers = [("llamacpp", locked.port()), ("lmstudio", open.port())];
    assert_eq!(found(&servers).await, Some(("lmstudio".into(), "g".into())));
}
