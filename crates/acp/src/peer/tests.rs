use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, duplex, split};

use super::*;

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work);
}

fn pair() -> ((Peer, Inbox), (Peer, Inbox)) {
    let (ours, theirs) = duplex(64 << 10);
    let side = |stream| {
        let (reader, writer) = split(stream);
        connect(reader, writer, None)
    };
    (side(ours), side(theirs))
}

/// The other side as bytes.
fn raw() -> ((Peer, Inbox), BufReader<DuplexStream>) {
    let (ours, theirs) = duplex(64 << 10);
    let (reader, writer) = split(ours);
    (connect(reader, writer, None), BufReader::new(theirs))
}

#[test]
fn both_sides_ask_with_ids_of_their_own() {
    run(async {
        let ((a, mut to_a), (b, mut to_b)) = pair();
        let asks = async { tokio::join!(a.call("from/a", json!(1)), b.call("from/b", json!(2))) };
        let answers = async {
            let Some(Heard::Request(asked)) = to_b.recv().await else { panic!() };
            assert_eq!(
                (asked.method.as_str(), &asked.params, &asked.id),
                ("from/a", &json!(1), &Id::number(0))
            );
            asked.answer(Ok(json!("for a"))).await;
            let Some(Heard::Request(asked)) = to_a.recv().await else { panic!() };
            assert_eq!((asked.method.as_str(), &asked.id), ("from/b", &Id::number(0)));
            asked.answer(Err(RpcError::method_not_found("from/b"))).await;
        };
        let ((for_a, for_b), ()) = tokio::join!(asks, answers);
        assert_eq!(for_a, Ok(json!("for a")));
        assert_eq!(for_b, Err(CallError::Refused(RpcError::method_not_found("from/b"))));
    });
}

#[test]
fn what_came_before_an_answer_is_in_the_inbox_before_it() {
    run(async {
        let ((a, mut to_a), (b, mut to_b)) = pair();
        let other = async {
            let Some(Heard::Request(asked)) = to_b.recv().await else { panic!() };
            for n in 0..20 {
                b.notify("n", json!(n)).await.unwrap();
            }
            asked.answer(Ok(Value::Null)).await;
        };
        let (answer, ()) = tokio::join!(a.call("x", Value::Null), other);
        answer.unwrap();
        for n in 0..20 {
            let Ok(Heard::Notification { params, .. }) = to_a.try_recv() else { panic!("{n}") };
            assert_eq!(params, json!(n));
        }
    });
}

#[test]
fn a_request_that_is_dropped_is_answered_all_the_same() {
    run(async {
        let ((a, _to_a), (_b, mut to_b)) = pair();
        let other = async { drop(to_b.recv().await) };
        let (answer, ()) = tokio::join!(a.call("x", Value::Null), other);
        assert!(matches!(answer, Err(CallError::Refused(error)) if error.code == code::INTERNAL));
    });
}

#[test]
fn whoever_waits_hears_that_the_other_side_is_gone() {
    run(async {
        let ((a, _to_a), other) = raw();
        let (answer, ()) = tokio::join!(a.call("x", Value::Null), async { drop(other) });
        assert_eq!(answer, Err(CallError::Gone));
        assert_eq!(a.call("y", Value::Null).await, Err(CallError::Gone));
    });
}

#[test]
fn strays_are_told_and_the_next_line_is_read() {
    run(async {
        let ((a, mut to_a), mut other) = raw();
        let garbage = b"starting up\nnull\n\n{\"id\":99,\"result\":1}\n{\"method\":\"n\"}\n";
        other.get_mut().write_all(garbage).await.unwrap();
        for why in [Unreadable::NotJson, Unreadable::NotRpc, Unreadable::NotRpc] {
            let Some(Heard::Stray { why: found, .. }) = to_a.recv().await else { panic!() };
            assert_eq!(found, why);
        }
        assert!(matches!(to_a.recv().await, Some(Heard::Notification { .. })));
        drop(a);
    });
}

#[test]
fn an_answer_that_is_too_long_is_one() {
    run(async {
        for begin in ["{\"jsonrpc\":\"2.0\",\"id\": 0,\"result\":\"", "{\"result\":\""] {
            let ((a, mut to_a), mut other) = raw();
            let long = async {
                let mut asked = String::new();
                other.read_line(&mut asked).await.unwrap();
                other.get_mut().write_all(begin.as_bytes()).await.unwrap();
                let piece = vec![b'x'; 1 << 20];
                for _ in 0..=LONGEST >> 20 {
                    other.get_mut().write_all(&piece).await.unwrap();
                }
                other.get_mut().write_all(b"\"}\n").await.unwrap();
            };
            let (answer, ()) = tokio::join!(a.call("x", Value::Null), long);
            assert!(matches!(answer, Err(CallError::Refused(error)) if error.message.contains("too long")));
            assert!(matches!(to_a.recv().await, Some(Heard::Stray { why: Unreadable::TooLong, .. })));
        }
    });
}

#[test]
fn what_is_too_long_is_an_answer_only_where_it_begins_so() {
    let id = |n| Some(Some(Id::number(n)));
    assert_eq!(answered(r#"{"jsonrpc":"2.0","id":12,"result":{"id":3"#), id(12));
    assert_eq!(answered(r#"{"error":{"message":"x"#), Some(None));
    assert_eq!(answered(r#"{"id":1,"method":"m","params":{"result":"#), None);
    assert_eq!(answered("xxxx"), None);
}

#[test]
fn the_stream_is_closed_with_the_last_peer_although_we_listen() {
    run(async {
        let ((a, _to_a), mut other) = raw();
        a.notify("last", json!({})).await.unwrap();
        drop(a);
        let mut line = String::new();
        other.read_line(&mut line).await.unwrap();
        assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"method\":\"last\",\"params\":{}}\n");
        line.clear();
        assert_eq!(other.read_line(&mut line).await.unwrap(), 0);
    });
}

#[test]
fn a_call_that_is_given_up_is_forgotten() {
    run(async {
        let ((a, mut to_a), (_b, mut to_b)) = pair();
        let id = a.next_id();
        tokio::select! {
            _ = a.call_as(&id, "slow", Value::Null) => panic!(),
            heard = to_b.recv() => {
                let Some(Heard::Request(asked)) = heard else { panic!() };
                tokio::spawn(asked.answer(Ok(Value::Null)));
            }
        }
        assert!(matches!(to_a.recv().await, Some(Heard::Stray { .. })));
        assert!(a.calls.waiting().as_ref().unwrap().is_empty());
    });
}

#[test]
fn a_tap_sees_every_line_of_both_ways() {
    run(async {
        let (ours, theirs) = duplex(64 << 10);
        let (reader, writer) = split(ours);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let tap: Tap = Arc::new({
            let seen = Arc::clone(&seen);
            move |way, line: &[u8]| {
                seen.lock().unwrap().push((way, String::from_utf8_lossy(line).into_owned()))
            }
        });
        let (a, mut to_a) = connect(reader, writer, Some(tap));
        let (reader, mut writer) = split(theirs);
        a.notify("hi", Value::Null).await.unwrap();
        BufReader::new(reader).lines().next_line().await.unwrap();
        writer.write_all(b"garbage\n").await.unwrap();
        to_a.recv().await;
        let seen = seen.lock().unwrap();
        assert_eq!(seen[0].0, Direction::Sent);
        assert_eq!(seen[1], (Direction::Received, "garbage".to_owned()));
    });
}
