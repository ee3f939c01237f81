use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::json;
use zdx_testkit::{Framing, Gate, ModelServer, Moment, Reply, Step};

use crate::client::{SOON, chunks, connect, exchange, post, read_all, read_until, request};

fn text(server: &ModelServer) -> String {
    post(server, json!({}))
}

#[test]
fn records_what_was_asked_and_answers_in_order() {
    let server =
        ModelServer::start_with([Reply::status(200).json(json!(1)), Reply::status(429).json(json!(2))]);
    server.push(Reply::status(503).header("retry-after", "1"));

    let first = post(&server, json!({"messages": [{"role": "user"}], "tools": [{"name": "read"}]}));
    assert_eq!(first, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n1");
    assert!(text(&server).starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
    assert_eq!(
        text(&server),
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"
    );

    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(requests[0].messages(), [json!({"role": "user"})]);
    assert_eq!(requests[0].tool_names(), ["read"]);
    assert_eq!(requests[0].header("host"), Some("x"));
    assert_eq!(requests[1].raw, b"{}");
    assert!(requests[0].at < requests[1].at);
}

#[test]
fn keeps_a_connection_alive_between_requests() {
    let server = ModelServer::start();
    server.always(|request| Reply::status(200).json(request.body.clone()));
    let mut stream = connect(&server);
    for n in 0..3 {
        stream.write_all(request("POST", "/", &n.to_string()).as_bytes()).unwrap();
        assert!(read_until(&mut stream, &format!("\r\n\r\n{n}")).starts_with("HTTP/1.1 200"));
    }
    let connections: Vec<usize> = server.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}

#[test]
fn reads_chunked_requests_split_anywhere() {
    let server = ModelServer::start();
    server.always(|request| Reply::status(200).json(request.body.clone()));
    let body = "{\"a\":\"é\"}";
    let (left, right) = (&body.as_bytes()[..7], &body.as_bytes()[7..]);
    let mut bytes = b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for part in [left, right] {
        bytes.extend(format!("{:x}\r\n", part.len()).bytes().chain(part.iter().copied()).chain(*b"\r\n"));
    }
    bytes.extend(b"0\r\n\r\n");
    let mut stream = connect(&server);
    // Twice, so that what one request leaves unread breaks the next.
    for byte in bytes.repeat(2) {
        stream.write_all(&[byte]).unwrap();
    }
    read_until(&mut stream, body);
    read_until(&mut stream, body);
}

#[test]
fn lists_models_without_a_script() {
    let server = ModelServer::start();
    let (answer, _) = exchange(&server, "GET", "/v1/models", "");
    assert!(String::from_utf8(answer).unwrap().contains("\"id\":\"scripted\""));
    server.models(Reply::status(401));
    let (answer, _) = exchange(&server, "GET", "/v1/models?limit=1000", "");
    assert!(answer.starts_with(b"HTTP/1.1 401"));
    assert_eq!((server.requests().len(), server.calls().len()), (2, 0));
}

#[test]
fn an_unscripted_request_fails_the_test() {
    let server = ModelServer::start();
    let answer = text(&server);
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert!(answer.contains("POST /v1/chat/completions came, but no reply is scripted for it"), "{answer}");
    assert!(catch_unwind(AssertUnwindSafe(|| server.assert_clean())).is_err());

    let dropped = ModelServer::start();
    text(&dropped);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(dropped))).is_err());

    let allowed = ModelServer::start();
    allowed.allow_unscripted();
    text(&allowed);
    allowed.assert_clean();
}

#[test]
fn a_failing_script_fails_the_test() {
    let server = ModelServer::start();
    server.always(|request| -> Reply { panic!("did not expect {}", request.path) });
    assert!(text(&server).contains("did not expect /v1/chat/completions"));
    assert!(catch_unwind(AssertUnwindSafe(|| server.assert_clean())).is_err());
}

#[test]
fn each_event_is_a_chunk_and_each_split_too() {
    let server = ModelServer::start();
    let stream = || Reply::stream([Step::bytes("data: é1\n\n"), Step::bytes("data: 2\n\n")]);
    server.push(stream());
    assert_eq!(chunks(&text(&server)), ["data: é1\n\n", "data: 2\n\n"]);
    server.push(stream().split_at(&[3, 11]));
    assert_eq!(chunks(&text(&server)), ["dat", "a: é1\n\n", "data: 2\n\n"]);
    server.push(stream().split_at(&[1, 1, 0, 99]));
    assert_eq!(chunks(&text(&server)), ["d", "ata: é1\n\ndata: 2\n\n"]);
    server.push(Reply::stream([Step::bytes("abcde")]).split_every(2));
    assert_eq!(chunks(&text(&server)), ["ab", "cd", "e"]);
}

#[test]
fn every_framing_carries_the_same_body() {
    for framing in [Framing::Chunked, Framing::Length, Framing::Close] {
        let server =
            ModelServer::start_with([Reply::stream([Step::bytes("a"), Step::bytes("b")]).framed(framing)]);
        let answer = text(&server);
        let body = match framing {
            Framing::Chunked => chunks(&answer).concat(),
            Framing::Length | Framing::Close => answer.split_once("\r\n\r\n").unwrap().1.to_owned(),
        };
        assert_eq!(body, "ab", "{framing:?}");
    }
}

#[test]
fn raw_replies_are_exactly_the_bytes_given() {
    let server =
        ModelServer::start_with([Reply::raw([Step::bytes("HTTP/1.1 2"), Step::bytes("00 OK\n\nrubbish")])]);
    assert_eq!(text(&server), "HTTP/1.1 200 OK\n\nrubbish");
}

#[test]
fn a_reset_is_seen_as_one_at_every_place() {
    let stream = || Reply::stream([Step::bytes("data: 1\n\n"), Step::bytes("data: 2\n\n")]);
    let cases = [
        (Reply::raw([Step::Reset]), ""),
        (stream().cut_at(0, Step::Reset), "text/event-stream"),
        (stream().cut_after_events(1, Step::Reset), "data: 1\n\n"),
        (stream().cut_at(12, Step::Reset), "dat"),
    ];
    for (reply, sent) in cases {
        let server = ModelServer::start_with([reply]);
        let (bytes, end) = exchange(&server, "POST", "/", "");
        let got = String::from_utf8(bytes).unwrap();
        assert_eq!(end.unwrap_err().kind(), ErrorKind::ConnectionReset, "{got}");
        assert!(got.contains(sent), "{sent} is not in {got}");
        assert!(!got.contains("data: 2"));
    }
}

#[test]
fn a_close_ends_the_connection_without_the_end_of_the_body() {
    let server = ModelServer::start_with([Reply::stream([Step::bytes("data: 1\n\n"), Step::Close])]);
    let (bytes, end) = exchange(&server, "POST", "/", "");
    end.unwrap();
    assert!(bytes.ends_with(b"\r\n9\r\ndata: 1\n\n\r\n"));
}

#[test]
fn a_gate_holds_the_reply_until_it_opens() {
    let gate = Gate::new();
    let server = ModelServer::start_with([Reply::stream([Step::bytes("before"), Step::bytes("after")])
        .after_events(0, Step::Pause(Duration::from_millis(1)))
        .insert_at(6, Step::WaitFor(gate.clone()))]);
    let mut stream = connect(&server);
    stream.write_all(request("POST", "/", "").as_bytes()).unwrap();
    gate.wait_reached(SOON);
    read_until(&mut stream, "before\r\n");
    stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    assert_eq!(read_all(&mut stream).1.unwrap_err().kind(), ErrorKind::WouldBlock);
    gate.open();
    stream.set_read_timeout(Some(SOON)).unwrap();
    read_until(&mut stream, "after\r\n0\r\n\r\n");
}

#[test]
fn a_stall_lasts_until_the_client_leaves() {
    let server = ModelServer::start_with([Reply::raw([Step::Stall])]);
    let mut stream = connect(&server);
    stream.write_all(request("POST", "/", "").as_bytes()).unwrap();
    server.wait_for_call(1, SOON);
    assert!(
        catch_unwind(AssertUnwindSafe(|| server.wait_for_hangups(1, Duration::from_millis(20)))).is_err()
    );
    drop(stream);
    server.wait_for_hangups(1, SOON);
}

#[test]
fn dropping_the_server_ends_its_connections() {
    let server = ModelServer::start_with([Reply::raw([Step::Stall])]);
    let mut stream = connect(&server);
    stream.write_all(request("POST", "/", "").as_bytes()).unwrap();
    server.wait_for_request(1, SOON);
    drop(server);
    assert_eq!(read_all(&mut stream).0, b"");
}

#[test]
fn forgets_and_observes_when_told_to() {
    let server = ModelServer::start();
    let (seen, observed) = std::sync::mpsc::channel();
    server.forget_requests();
    server.observe(move |moment| match moment {
        Moment::Asked(request) => seen.send(Some(request.raw.len())).unwrap(),
        Moment::Answering => seen.send(None).unwrap(),
    });
    server.push(Reply::status(200));
    text(&server);
    assert_eq!(observed.try_iter().collect::<Vec<_>>(), [Some(2), None]);
    assert!(server.requests().is_empty());
}
