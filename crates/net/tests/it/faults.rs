//! Connections, waits and bodies that go wrong, each as the kind of error it is.

use std::io::Write;
use std::time::Duration;

use tokio::net::TcpSocket;
use zdx_net::{Http, NetError};
use zdx_testkit::{Gate, ModelServer, Reply, Step};

use crate::talk::{PATIENT, post, read, said};

const SHORT: Duration = Duration::from_millis(400);

#[tokio::test]
async fn nobody_listens() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let origin = format!("http://127.0.0.1:{port}");
    let why = "connection refused; is the server running?".to_owned();
    let answer = said(&Http::new(PATIENT), post(&format!("{origin}/deep/down?q=1"), None)).await;
    // The origin alone: a path or a query may hold what nobody should read.
    assert_eq!(answer, Err(NetError::Unreachable { origin, why }));
}

#[tokio::test]
async fn nobody_accepts() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // Fill the queue until the kernel ignores newcomers.
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(300), tokio::net::TcpStream::connect(address)).await
    {
        waiting.push(stream);
        assert!(waiting.len() < 100, "the queue never fills");
    }
    let answer = said(&Http::new(SHORT), post(&format!("http://{address}/"), None)).await;
    assert_eq!(answer, Err(NetError::NoConnection { after: SHORT }));
}

#[tokio::test]
async fn silence_before_and_after_the_head() {
    let server = ModelServer::start_with([
        Reply::raw([Step::Stall]),
        Reply::stream([Step::bytes("so far"), Step::Stall]),
    ]);
    let http = Http::new(SHORT);
    let mut request = post(&server.url(), None);
    request.answer_within = Some(SHORT);
    assert_eq!(said(&http, request).await, Err(NetError::NoAnswer { after: SHORT }));

    let mut response = http.send(post(&server.url(), None)).await.unwrap();
    let mut body = Vec::new();
    let ended = response.read_into(&mut body, 1 << 20, SHORT).await;
    assert_eq!(ended, Err(NetError::Silent { after: SHORT }));
    assert_eq!(body, b"so far");
}

#[tokio::test]
async fn a_lost_connection_keeps_what_came_before() {
    let half = Reply::status(200).body("text/plain", "half a wo").header("content-length", "1000");
    let server = ModelServer::start_with([half.then(Step::Close)]);
    let mut response = Http::new(PATIENT).send(post(&server.url(), None)).await.unwrap();
    let mut body = Vec::new();
    let ended = response.read_into(&mut body, 1 << 20, PATIENT).await;
    assert!(matches!(ended, Err(NetError::Broken(_))), "{ended:?}");
    assert_eq!(body, b"half a wo");
}

#[tokio::test]
async fn a_body_is_read_no_further_than_wanted() {
    let server = ModelServer::start_with([Reply::status(200).body("text/plain", "x".repeat(3_000_000))]);
    let mut response = Http::new(PATIENT).send(post(&server.url(), None)).await.unwrap();
    let mut body = Vec::new();
    response.read_into(&mut body, 1000, PATIENT).await.unwrap();
    assert!((1000..1_000_000).contains(&body.len()), "{}", body.len());
}

#[tokio::test]
async fn statuses_are_answers_and_redirects_are_not_followed() {
    let elsewhere = ModelServer::start();
    let server = ModelServer::start_with([
        Reply::status(404).body("text/plain", "not here"),
        Reply::status(307).header("location", elsewhere.url()),
    ]);
    let http = Http::new(PATIENT);
    let mut response = http.send(post(&server.url(), None)).await.unwrap();
    assert_eq!((response.status(), response.is_success()), (404, false));
    assert_eq!(read(&mut response).await.unwrap(), "not here");
    let response = http.send(post(&server.url(), None)).await.unwrap();
    assert_eq!((response.status(), response.header("Location")), (307, Some(elsewhere.url().as_str())));
    assert_eq!(elsewhere.requests().len(), 0);
    for request in server.requests() {
        assert_eq!(request.header("user-agent"), Some(concat!("zdx/", env!("CARGO_PKG_VERSION"))));
    }
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Nobody asks for a compressed body, and some proxies send one all the same.
#[tokio::test]
async fn a_compressed_body_is_unpacked() {
    let text = "data: grüße\n\n".repeat(20_000);
    for (pieces, header) in [(1, true), (7, false), (100_000, true)] {
        let mut reply = Reply::status(200).body("text/event-stream", packed(&text)).split_every(pieces);
        if header {
            reply = reply.header("content-encoding", "gzip");
        }
        let server = ModelServer::start_with([reply]);
        assert_eq!(said(&Http::new(PATIENT), post(&server.url(), None)).await.as_deref(), Ok(text.as_str()));
    }
    // A proxy unpacked it and left the header.
    let reply = Reply::status(200).body("text/plain", "plain").header("content-encoding", "gzip");
    let server = ModelServer::start_with([reply]);
    assert_eq!(said(&Http::new(PATIENT), post(&server.url(), None)).await.as_deref(), Ok("plain"));
}

#[tokio::test]
async fn a_compressed_body_that_breaks_off_or_is_none_is_broken() {
    let whole = packed(&"grüße".repeat(100));
    for body in [whole[..whole.len() / 2].to_vec(), b"\x1f\x8bnonsense".to_vec()] {
        let server = ModelServer::start_with([Reply::status(200).body("text/plain", body)]);
        let answer = said(&Http::new(PATIENT), post(&server.url(), None)).await;
        assert!(matches!(answer, Err(NetError::Broken(_))), "{answer:?}");
    }
}

/// The part of a packed stream that has come can be read at once.
#[tokio::test]
async fn a_compressed_stream_arrives_as_it_is_sent() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(b"first").unwrap();
    encoder.flush().unwrap();
    let first = std::mem::take(encoder.get_mut());
    let gate = Gate::new();
    encoder.write_all(b" and rest").unwrap();
    let steps = [Step::Bytes(first), Step::WaitFor(gate.clone()), Step::Bytes(encoder.finish().unwrap())];
    let server = ModelServer::start_with([Reply::stream(steps)]);
    let mut response = Http::new(PATIENT).send(post(&server.url(), None)).await.unwrap();
    assert_eq!(response.chunk().await.unwrap().as_deref(), Some(&b"first"[..]));
    gate.open();
    assert_eq!(read(&mut response).await.as_deref(), Ok(" and rest"));
}
