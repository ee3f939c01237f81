//! Looking for a local server: order, patience, and what is not taken for one.

use std::time::Duration;

use serde_json::json;
use zdx_models::{Client, Discovered, Discovery, ProbeLimits, discover};
use zdx_testkit::{ModelServer, Reply, Step, quirks};

use crate::talk::PATIENT;

/// A port that nobody listens on, and that no other test is given as long as this lives.
struct SilentPort(tokio::net::TcpSocket);

impl SilentPort {
    fn reserve() -> Self {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self(socket)
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }
}

fn offering(ids: &[&str]) -> ModelServer {
    let server = ModelServer::start();
    let models: Vec<_> = ids.iter().map(|id| json!({"id": id, "max_model_len": 4096})).collect();
    server.models(Reply::status(200).json(json!({ "data": models })));
    server
}

/// With limits that no busy machine reaches.
async fn looked(servers: &[(&str, u16)]) -> Discovery {
    let limit = Duration::from_secs(60);
    discover(&Client::new(PATIENT), servers, ProbeLimits { connect: limit, answer: limit }).await
}

async fn found(servers: &[(&str, u16)]) -> Option<(String, String)> {
    match looked(servers).await {
        Discovery::Found(Discovered { endpoint, .. }) => Some((endpoint.provider, endpoint.model)),
        Discovery::WantsKey { .. } | Discovery::Nobody => None,
    }
}

#[tokio::test]
async fn nobody_there_is_known_without_waiting() {
    let ports = [(); 4].map(|()| SilentPort::reserve());
    let servers = ["vllm", "llamacpp", "ollama", "lmstudio"];
    let servers: Vec<_> = servers.into_iter().zip(ports.iter().map(SilentPort::port)).collect();
    let looked = tokio::time::timeout(Duration::from_secs(30), looked(&servers)).await;
    assert_eq!(looked, Ok(Discovery::Nobody), "none of the limits was reached");
}

#[tokio::test]
async fn the_first_in_order_that_offers_a_model_is_taken() {
    let (b, c) = (offering(&["b-1", "b-2"]), offering(&["c-1"]));
    let nobody = SilentPort::reserve();
    let servers = [("vllm", nobody.port()), ("llamacpp", b.port()), ("ollama", c.port())];
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
async fn a_silent_listener_is_given_up() {
    let silent = ModelServer::start();
    silent.models(Reply::raw([Step::Stall]));
    let limits = ProbeLimits { connect: Duration::from_secs(60), answer: Duration::from_millis(50) };
    let found = discover(&Client::new(PATIENT), &[("vllm", silent.port())], limits).await;
    assert_eq!(found, Discovery::Nobody);
}

#[tokio::test]
async fn a_server_that_wants_a_key_is_named_unless_another_offers_a_model() {
    let (locked, forbidden) = (ModelServer::start(), ModelServer::start());
    locked.models(quirks::wants_a_key());
    forbidden.models(Reply::status(403));
    let nobody = SilentPort::reserve();
    let servers = [("vllm", nobody.port()), ("llamacpp", locked.port()), ("ollama", forbidden.port())];
    let wants = Discovery::WantsKey { provider: "llamacpp".to_owned(), port: locked.port() };
    assert_eq!(looked(&servers).await, wants);
    let open = offering(&["g"]);
    let servers = [("llamacpp", locked.port()), ("lmstudio", open.port())];
    assert_eq!(found(&servers).await, Some(("lmstudio".into(), "g".into())));
}
