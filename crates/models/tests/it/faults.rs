//! Faults of the stream: no hang, the right kind of error, and the text that came before it delivered, whatever the
//! size of the pieces the bytes come in.

use serde_json::json;
use zdx_models::wire::Wire;
use zdx_models::{Client, ModelError};
use zdx_testkit::{Framing, ModelServer, Reply, Step, quirks};

use crate::talk::{Heard, PATIENT, WIRES, ask, breaking_off, calling, endpoint, saying};

const TEXT: &str = "eins zwei grüße 🦀 drei";

struct Fault {
    name: &'static str,
    reply: Reply,
    /// All of the text, or how it begins.
    text: &'static str,
    check: fn(&Heard) -> bool,
}

fn fault(name: &'static str, reply: Reply, text: &'static str, check: fn(&Heard) -> bool) -> Fault {
    Fault { name, reply, text, check }
}

fn cut(heard: &Heard) -> bool {
    matches!(heard.error, Some(ModelError::Cut(_)))
}

fn empty(heard: &Heard) -> bool {
    matches!(heard.error, Some(ModelError::Empty(_)))
}

fn protocol(heard: &Heard) -> bool {
    matches!(heard.error, Some(ModelError::Protocol(_)))
}

fn fine(heard: &Heard) -> bool {
    heard.error.is_none()
}

fn raw_call(heard: &Heard) -> bool {
    heard.calls.len() == 1 && heard.calls[0].arguments.raw().is_some() && fine(heard)
}

/// Faults of the stream itself, for one wire.
fn stream_faults(wire: Wire) -> Vec<Fault> {
    let whole = saying(wire, TEXT);
    let body = whole.body_bytes();
    let inside = |needle: &str| {
        let text = String::from_utf8_lossy(&body).into_owned();
        text.find(needle).expect("the needle is in the stream")
    };
    let umlaut = inside("ü") + 1;
    let mid_event = inside("drei") + 2;
    let after_text = breaking_off(wire, TEXT);
    let replace = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        saying(wire, TEXT)
            .map_body(move |body| String::from_utf8(body).unwrap().replace(&from, &to).into_bytes())
    };
    let prefixed = |prefix: &str| {
        let prefix = prefix.as_bytes().to_vec();
        saying(wire, TEXT).map_body(move |body| [prefix, body].concat())
    };
    let mut faults = vec![
        fault("rst mid event", whole.clone().cut_at(mid_event, Step::Reset), "eins", cut),
        fault("rst mid character", whole.clone().cut_at(umlaut, Step::Reset), "eins", cut),
        fault("fin mid event", whole.clone().cut_at(mid_event, Step::Close), "eins", cut),
        fault("fin mid character", whole.clone().cut_at(umlaut, Step::Close), "eins", cut),
        fault(
            "clean end mid event",
            whole.clone().cut_at(mid_event, Step::Close).framed(Framing::Close),
            "eins",
            cut,
        ),
        fault(
            "clean end mid character",
            whole.clone().cut_at(umlaut, Step::Close).framed(Framing::Close),
            "eins",
            cut,
        ),
        fault("fin with no end marker", after_text.clone(), TEXT, cut),
        fault("end of connection with no end marker", after_text.framed(Framing::Close), TEXT, cut),
        fault("bom", prefixed("\u{feff}"), TEXT, fine),
        fault("crlf", replace("\n", "\r\n"), TEXT, fine),
        fault("cr", replace("\n", "\r"), TEXT, fine),
        fault("comments", prefixed(": OPENROUTER PROCESSING\n\n:\n\n"), TEXT, fine),
        fault("multi-line data", replace("data: {", "data: {\ndata: "), TEXT, fine),
        fault("no space after the colon", replace("data: ", "data:"), TEXT, fine),
        fault("padded json", replace("}\n\n", "}   \n\n"), TEXT, fine),
        fault(
            "no last blank line",
            saying(wire, TEXT).map_body(|body| body.trim_ascii_end().to_vec()),
            TEXT,
            fine,
        ),
        fault("wrong content type", saying(wire, TEXT).header("content-type", "text/plain"), TEXT, fine),
        fault("octets", saying(wire, TEXT).header("content-type", "application/octet-stream"), TEXT, fine),
        fault(
            "json content type on a stream",
            saying(wire, TEXT).header("content-type", "application/json"),
            TEXT,
            fine,
        ),
        fault("arguments invalid", calling(wire, &["{\"path\":", " oops"]), "", raw_call),
        fault("arguments no object", calling(wire, &["[1]"]), "", raw_call),
        fault("arguments empty", calling(wire, &[""]), "", |heard| {
            heard.calls.len() == 1 && heard.calls[0].arguments.input() == json!({}) && fine(heard)
        }),
        fault("a call and no end", breaking_off_call(wire), "", |heard| heard.calls.len() <= 1 && cut(heard)),
        fault("an empty body", Reply::stream([]), "", empty),
        fault("an empty body of llama-cpp-python", quirks::empty_stream(), "", empty),
        fault("only comments", Reply::stream([Step::bytes(": hi\n\n")]), "", empty),
        fault("only half a line", Reply::stream([Step::bytes("data: {\"a")]), "", cut),
        fault("bad json", Reply::stream([Step::bytes("data: {oops}\n\n")]), "", protocol),
        fault("no object", Reply::stream([Step::bytes("data: [1,2]\n\n")]), "", protocol),
    ];
    faults.extend(match wire {
        Wire::Anthropic => anthropic_faults(),
        Wire::OpenaiChat => chat_faults(),
    });
    faults
}

fn breaking_off_call(wire: Wire) -> Reply {
    match wire {
        Wire::Anthropic => {
            Reply::anthropic().tool_use_deltas("a", "bash", ["{\"command\""]).unfinished().done()
        }
        Wire::OpenaiChat => Reply::chat().tool_call_deltas("a", "bash", ["{\"command\""]).unfinished().done(),
    }
}

fn overloaded(heard: &Heard) -> bool {
    matches!(&heard.error, Some(ModelError::Api { kind: Some(kind), .. }) if kind == "overloaded_error")
}

fn anthropic_faults() -> Vec<Fault> {
    let base = Reply::anthropic;
    vec![
        fault(
            "error event",
            base().text("so far").error("overloaded_error", "full").unfinished().done(),
            "so far",
            overloaded,
        ),
        fault(
            "unknown events",
            base().text("a").event("new_thing", json!({"type":"new_thing","x":[1]})).ping().text("b").done(),
            "ab",
            fine,
        ),
        fault(
            "two starts",
            base()
                .event("message_start", json!({"type":"message_start","message":{"id":"2"}}))
                .text("a")
                .done(),
            "a",
            fine,
        ),
        fault("usage only", base().done(), "", |heard| heard.usage.is_some() && fine(heard)),
        fault("missing id", base().tool_use("", "read", json!({"path":"a"})).done(), "", |heard| {
            heard.calls.len() == 1 && !heard.calls[0].id.is_empty() && fine(heard)
        }),
        fault(
            "duplicate ids",
            base().tool_use("a", "read", json!({})).tool_use("a", "read", json!({})).done(),
            "",
            |heard| heard.calls.len() == 2 && fine(heard),
        ),
    ]
}

fn chat_faults() -> Vec<Fault> {
    let base = Reply::chat;
    let call = |index: u64, id: &str, arguments: &str| json!({"tool_calls":[{"index":index,"id":id,"function":{"name":"read","arguments":arguments}}]});
    let more = |index: u64, arguments: &str| json!({"tool_calls":[{"index":index,"function":{"arguments":arguments}}]});
    let two_objects = |heard: &Heard| {
        heard.calls.len() == 2
            && heard.calls.iter().all(|call| call.arguments.input()["p"] == 1)
            && fine(heard)
    };
    vec![
        fault(
            "error chunk",
            base()
                .text("so far")
                .chunk(json!({"error":{"message":"full","type":"overloaded_error"}}))
                .unfinished()
                .done(),
            "so far",
            overloaded,
        ),
        fault(
            "old error chunk",
            base()
                .text("so far")
                .chunk(json!({"object":"error","message":"full","type":"overloaded_error"}))
                .unfinished()
                .done(),
            "so far",
            overloaded,
        ),
        fault(
            "unknown chunks",
            base().text("a").chunk(json!({"x":1})).bytes("event: odd\ndata: {}\n\n").text("b").done(),
            "ab",
            fine,
        ),
        fault("usage only", base().done(), "", |heard| heard.usage.is_some() && fine(heard)),
        fault("missing id", base().delta(call(0, "", "{\"p\":1}")).done(), "", |heard| {
            heard.calls.len() == 1 && !heard.calls[0].id.is_empty() && fine(heard)
        }),
        fault(
            "duplicate ids",
            base().delta(call(0, "a", "{\"p\":1}")).delta(call(1, "a", "{\"p\":1}")).done(),
            "",
            two_objects,
        ),
        fault(
            "ids out of order",
            base().delta(call(5, "b", "{\"p\":1}")).delta(call(2, "a", "{\"p\":1}")).done(),
            "",
            two_objects,
        ),
        fault(
            "one index for two",
            base().delta(call(0, "a", "{\"p\":1}")).delta(call(0, "b", "{\"p\":1}")).done(),
            "",
            two_objects,
        ),
        fault(
            "interleaved calls",
            base()
                .delta(call(0, "a", "{\"p\""))
                .delta(call(1, "b", "{\"p\""))
                .delta(more(0, ":1}"))
                .delta(more(1, ":1}"))
                .done(),
            "",
            two_objects,
        ),
        fault(
            "stop although calls were sent",
            base().delta(call(0, "a", "{}")).finish("stop").done(),
            "",
            |heard| heard.stop == Some(zdx_models::StopReason::ToolUse),
        ),
        fault(
            "no done marker",
            base()
                .text("a")
                .done()
                .map_body(|b| String::from_utf8(b).unwrap().replace("data: [DONE]\n\n", "").into_bytes()),
            "a",
            fine,
        ),
    ]
}

async fn play(wire: Wire, fault: &Fault, pieces: usize) {
    let server = ModelServer::start_with([fault.reply.clone().split_every(pieces)]);
    let heard = ask(&Client::new(PATIENT), &endpoint(wire, &server.url())).await;
    let context = format!("{wire:?}, {}, pieces of {pieces}: {heard:?}", fault.name);
    assert!((fault.check)(&heard), "{context}");
    // A reset throws away what the kernel had not delivered yet, and of many small pieces that may be all.
    if fault.name.starts_with("rst") && pieces > 0 {
        assert!(TEXT.starts_with(&heard.text), "{context}");
    } else {
        assert!(heard.text.starts_with(fault.text), "{context}");
    }
    if heard.error.is_none() {
        assert_eq!(heard.text, fault.text, "{context}");
    }
}

#[tokio::test]
async fn every_fault_of_a_stream_in_pieces_of_every_size() {
    for wire in WIRES {
        let faults = stream_faults(wire);
        assert!(faults.len() >= 34, "{}", faults.len());
        for fault in &faults {
            // 0: as the reply writes them; then 24 sizes from single bytes up.
            for pieces in (0..20).chain([32, 57, 100, 333, 1000]) {
                play(wire, fault, pieces).await;
            }
        }
    }
}
