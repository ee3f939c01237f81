//! Faults around the stream: connections, waits, statuses, and answers that are none.

use std::time::{Duration, SystemTime};

use serde_json::json;
use zdx_models::wire::Wire;
use zdx_models::{Client, ModelError, TimeoutPhase, Timeouts};
use zdx_testkit::{Reply, Step};

use crate::talk::{PATIENT, WIRES, ask, ask_for, breaking_off, endpoint, saying};

const SHORT: Duration = Duration::from_millis(400);
const TEXT: &str = "eins zwei grüße 🦀 drei";

#[tokio::test]
async fn nobody_listens() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    for wire in WIRES {
        let heard = ask(&Client::new(PATIENT), &endpoint(wire, &format!("http://127.0.0.1:{port}"))).await;
        match heard.error {
            Some(ModelError::Connect { url, message }) => {
                assert_eq!(url, format!("http://127.0.0.1:{port}"));
                assert_eq!(message, "connection refused; is the server running?");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn resets_before_and_after_the_head() {
    for wire in WIRES {
        let heard = ask_for(wire, PATIENT, Reply::raw([Step::Reset])).await;
        assert!(matches!(heard.error, Some(ModelError::Connect { .. })), "{heard:?}");
        let heard = ask_for(wire, PATIENT, Reply::raw([Step::Close])).await;
        assert!(matches!(heard.error, Some(ModelError::Connect { .. })), "{heard:?}");
        let heard = ask_for(wire, PATIENT, Reply::raw([Step::bytes("HTTP/1.1 200 O"), Step::Reset])).await;
        assert!(matches!(heard.error, Some(ModelError::Connect { .. })), "{heard:?}");
        let heard = ask_for(wire, PATIENT, Reply::raw([Step::bytes("nonsense\r\n\r\n")])).await;
        assert!(matches!(heard.error, Some(ModelError::Connect { .. })), "{heard:?}");
        let heard = ask_for(wire, PATIENT, Reply::stream([Step::Reset])).await;
        assert!(matches!(heard.error, Some(ModelError::Cut(_) | ModelError::Connect { .. })), "{heard:?}");
    }
}

#[tokio::test]
async fn stalls_end_with_the_phase_they_happened_in() {
    let first = |phase: TimeoutPhase| Some(ModelError::Timeout { phase, after: SHORT });
    for wire in WIRES {
        let waiting = Timeouts { first_byte: Some(SHORT), connect: SHORT, ..PATIENT };
        let heard = ask_for(wire, waiting, Reply::raw([Step::Stall])).await;
        assert_eq!(heard.error, first(TimeoutPhase::FirstByte), "before the head");
        let heard = ask_for(wire, waiting, Reply::stream([Step::Stall])).await;
        assert_eq!(heard.error, first(TimeoutPhase::FirstByte), "after the head");

        let idle = Timeouts { idle: SHORT, ..PATIENT };
        let stalled = breaking_off(wire, TEXT).joined().then(Step::Stall);
        let heard = ask_for(wire, idle, stalled).await;
        assert_eq!((heard.text.as_str(), heard.error), (TEXT, first(TimeoutPhase::Idle)), "between events");
        let stalled = saying(wire, TEXT).joined();
        let half = stalled.body_bytes().len() / 2;
        let heard = ask_for(wire, idle, stalled.cut_at(half, Step::Stall)).await;
        assert_eq!(heard.error, first(TimeoutPhase::Idle), "mid event");
    }
    // A server that says all but its last marker and then forgets to close: the answer counts.
    let forgetful = saying(Wire::OpenaiChat, TEXT)
        .map_body(|body| String::from_utf8(body).unwrap().replace("data: [DONE]\n\n", "").into_bytes())
        .then(Step::Stall);
    let heard = ask_for(Wire::OpenaiChat, Timeouts { idle: SHORT, ..PATIENT }, forgetful).await;
    assert_eq!((heard.text.as_str(), heard.error), (TEXT, None));
}

/// Reading a long prompt takes a server of one's own minutes, with or without a sign of life in between.
#[tokio::test]
async fn a_server_nearby_has_all_the_time_it_needs_to_read_a_prompt() {
    let patient = Timeouts { first_byte: None, connect: SHORT, idle: SHORT };
    for wire in WIRES {
        let before_head = Reply::raw([Step::Pause(SHORT * 3), Step::Bytes(raw_answer(wire))]);
        let after_head = saying(wire, TEXT).insert_at(0, Step::Pause(SHORT * 3));
        let after_a_sign = saying(wire, TEXT)
            .insert_at(0, Step::Pause(SHORT * 3))
            .insert_at(0, Step::bytes(": reading\n\n"));
        for reply in [before_head, after_head, after_a_sign] {
            let heard = ask_for(wire, patient, reply).await;
            assert_eq!((heard.text.as_str(), heard.error), (TEXT, None));
        }
        // Once it writes, silence is a fault as ever.
        let stalled = breaking_off(wire, TEXT).joined().then(Step::Stall);
        let error = ask_for(wire, patient, stalled).await.error;
        assert_eq!(error, Some(ModelError::Timeout { phase: TimeoutPhase::Idle, after: SHORT }));
    }
}

/// Where the wait is set, signs of life are no answer, and yet the server is not given up while it sends them.
#[tokio::test]
async fn keep_alives_put_the_first_byte_off() {
    let waiting = Timeouts { first_byte: Some(SHORT), connect: SHORT, ..PATIENT };
    for wire in WIRES {
        let mut reply = saying(wire, TEXT);
        for _ in 0..8 {
            reply = reply.insert_at(0, Step::Pause(SHORT / 3)).insert_at(0, Step::bytes(": reading\n\n"));
        }
        let heard = ask_for(wire, waiting, reply).await;
        assert_eq!((heard.text.as_str(), heard.error), (TEXT, None));
    }
}

/// A whole answer as bytes, head included.
fn raw_answer(wire: Wire) -> Vec<u8> {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    [head.to_vec(), saying(wire, TEXT).body_bytes()].concat()
}

#[tokio::test]
async fn every_status_keeps_its_meaning() {
    for status in [400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529] {
        for wire in WIRES {
            let body = match wire {
                Wire::Anthropic => {
                    json!({"type":"error","error":{"type":"some_error","message":"no"},"request_id":"r"})
                }
                Wire::OpenaiChat => {
                    json!({"error":{"message":"no","type":"some_error","param":null,"code":status}})
                }
            };
            match ask_for(wire, PATIENT, Reply::status(status).json(body)).await.error {
                Some(ModelError::Status { status: got, message, kind, .. }) => {
                    assert_eq!((got, kind.as_deref()), (status, Some("some_error")));
                    assert!(message.starts_with("no"), "{message}");
                    assert_eq!(message.contains("no key was sent"), matches!(status, 401 | 403), "{message}");
                }
                other => panic!("{status}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn each_form_of_retry_after() {
    let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));
    for (name, value, expected) in [
        ("retry-after-ms", "1500", 1.5..=1.5),
        ("retry-after", "7", 7.0..=7.0),
        ("retry-after", "0.5", 0.5..=0.5),
        ("retry-after", soon.as_str(), 15.0..=30.0),
    ] {
        let reply = Reply::status(429).header(name, value);
        match ask_for(Wire::OpenaiChat, PATIENT, reply).await.error {
            Some(ModelError::Status { status: 429, retry_after: Some(after), .. }) => {
                assert!(expected.contains(&after.as_secs_f64()), "{value}: {after:?}");
            }
            other => panic!("{value}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn error_bodies_that_break_off_or_never_end() {
    let reply = Reply::status(500)
        .body("text/plain", "half a rea")
        .header("content-length", "1000")
        .then(Step::Close);
    let error = ask_for(Wire::OpenaiChat, PATIENT, reply).await.error;
    assert!(
        matches!(&error, Some(ModelError::Status { status: 500, message, .. }) if message == "half a rea"),
        "{error:?}"
    );
    let reply = Reply::status(500).body("text/plain", "x".repeat(3_000_000));
    let error = ask_for(Wire::OpenaiChat, PATIENT, reply).await.error;
    assert!(matches!(&error, Some(ModelError::Status { message, .. }) if message.len() < 1000));
    let reply =
        Reply::status(503).body("text/plain", "wait").header("content-length", "1000").then(Step::Stall);
    let error = ask_for(Wire::OpenaiChat, Timeouts { idle: SHORT, ..PATIENT }, reply).await.error;
    assert!(matches!(error, Some(ModelError::Status { status: 503, .. })), "{error:?}");
}

#[tokio::test]
async fn what_is_no_answer_is_said_in_one_line() {
    let page = format!("<!doctype html><html><head><title>Sign in</title></head>{}", "x".repeat(200_000));
    for wire in WIRES {
        for (content_type, body) in [
            ("text/html; charset=utf-8", page.as_str()),
            ("text/plain", page.as_str()),
            ("text/plain", "hello there"),
            ("application/json", "nonsense"),
            ("application/json", "{}"),
            ("image/png", "\u{1}PNG"),
        ] {
            let heard = ask_for(wire, PATIENT, Reply::status(200).body(content_type, body)).await;
            let error = heard.error.unwrap();
            assert!(matches!(error, ModelError::Protocol(_)), "{content_type}: {error:?}");
            let text = error.to_string();
            assert!(text.len() < 600 && text.lines().count() == 1, "{text}");
            assert_eq!(text.contains("Sign in"), body.starts_with("<!doctype"), "{text}");
        }
    }
    let heard = ask_for(Wire::OpenaiChat, PATIENT, Reply::status(200)).await;
    assert!(matches!(heard.error, Some(ModelError::Empty(_))), "{heard:?}");
}

#[tokio::test]
async fn too_long_a_request_is_told_apart() {
    let body = json!({"error":{"message":"This model's maximum context length is 10 tokens","type":"BadRequestError","code":400}});
    let heard = ask_for(Wire::OpenaiChat, PATIENT, Reply::status(400).json(body)).await;
    assert!(matches!(heard.error, Some(ModelError::ContextTooLong { .. })), "{heard:?}");
}

#[tokio::test]
async fn a_ten_megabyte_event_arrives_whole() {
    let text = "grüße ".repeat(10 * 1024 * 1024 / 8);
    for wire in WIRES {
        let reply = match wire {
            Wire::Anthropic => Reply::anthropic().text_deltas([text.clone()]).done(),
            Wire::OpenaiChat => Reply::chat().text_deltas([text.clone()]).done(),
        };
        let heard = ask_for(wire, PATIENT, reply).await;
        assert!(heard.text == text && heard.error.is_none());
    }
}

#[tokio::test]
async fn an_answer_without_end_is_cut() {
    let piece = "x".repeat(1 << 20);
    for wire in WIRES {
        let reply = match wire {
            Wire::Anthropic => Reply::anthropic().text_deltas(vec![piece.clone(); 48]).done(),
            Wire::OpenaiChat => Reply::chat().text_deltas(vec![piece.clone(); 48]).done(),
        };
        let heard = ask_for(wire, PATIENT, reply).await;
        assert!((32 << 20..40 << 20).contains(&heard.text.len()), "{}", heard.text.len());
        assert!(matches!(&heard.error, Some(ModelError::Protocol(why)) if why.contains("32 MiB")));
    }
}
