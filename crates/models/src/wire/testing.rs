//! What the tests of both wires share: a stream in any split, decoded the way the driver does it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use zdx_protocol::{
    Arguments, Content, ContentOrigin, ImageFormat, ImageInfo, ImageRef, Message, Part, Role, ToolCall,
    ToolOutput, ToolSpec, Usage,
};

use super::sse::Framer;
use super::{Frame, Ids, Wire};
use crate::{ModelError, ModelEvent, ModelRequest, RequestImages, StopReason};

pub type Outcome = (Vec<ModelEvent>, Option<ModelError>);

pub const MODEL: &str = "model-x";

/// Without the arguments piece by piece, which are told for the screen alone; see [`grown`].
pub fn decode(wire: Wire, pieces: &[&[u8]]) -> Outcome {
    let (mut events, error) = decode_all(wire, pieces);
    events.retain(|event| !matches!(event, ModelEvent::ToolCallArguments { .. }));
    (events, error)
}

/// What was told of calls before they were whole: the name that begins one, and the pieces of its arguments.
pub fn grown(wire: Wire, stream: &str) -> Vec<String> {
    let told = |event| match event {
        ModelEvent::ToolCallStarted { id, name } => Some(format!("{} {name}", id.unwrap_or_default())),
        ModelEvent::ToolCallArguments { id, more } => Some(format!("{id} +{more}")),
        _ => None,
    };
    decode_all(wire, &[stream.as_bytes()]).0.into_iter().filter_map(told).collect()
}

fn decode_all(wire: Wire, pieces: &[&[u8]]) -> Outcome {
    let mut framer = Framer::default();
    let mut decoder = wire.decoder_with(MODEL, Ids { seed: 0xabc, next: 0 });
    let mut out = Vec::new();
    let mut run = || {
        for piece in pieces {
            framer.push(piece, &mut |frame: &Frame| decoder.frame(frame, &mut out))?;
        }
        framer.finish(&mut |frame: &Frame| decoder.frame(frame, &mut out))?;
        decoder.finish(&mut out)
    };
    let error = run().err();
    (out, error)
}

pub fn whole(wire: Wire, body: &str) -> Outcome {
    let mut out = Vec::new();
    let error = wire.decoder_with(MODEL, Ids { seed: 0xabc, next: 0 }).whole(body.as_bytes(), &mut out).err();
    out.retain(|event| !matches!(event, ModelEvent::ToolCallArguments { .. }));
    (out, error)
}

/// Decodes a stream that must end well, and proves that no split in two changes what it means.
#[track_caller]
pub fn events(wire: Wire, stream: &str) -> Vec<ModelEvent> {
    let (events, error) = decode(wire, &[stream.as_bytes()]);
    assert_eq!(error, None, "{events:#?}");
    assert_eq!(events.iter().filter(|e| matches!(e, ModelEvent::Stop(_))).count(), 1);
    splits_agree(wire, stream, &(events.clone(), None));
    events
}

#[track_caller]
pub fn splits_agree(wire: Wire, stream: &str, expected: &Outcome) {
    let bytes = stream.as_bytes();
    for at in 0..=bytes.len() {
        assert_eq!(&decode(wire, &[&bytes[..at], &bytes[at..]]), expected, "split at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(&decode(wire, &single), expected, "one byte at a time");
}

/// Any number of cuts anywhere.
pub fn any_split_agrees(wire: Wire, stream: &str) {
    let bytes = stream.as_bytes();
    let whole = decode(wire, &[bytes]);
    let cuts = proptest::collection::vec(0..=bytes.len(), 0..40);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    });
    runner
        .run(&cuts, |mut cuts| {
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let mut at = 0;
            let pieces: Vec<&[u8]> =
                cuts.iter().map(|cut| &bytes[std::mem::replace(&mut at, *cut)..*cut]).collect();
            prop_assert_eq!(&decode(wire, &pieces), &whole);
            Ok(())
        })
        .unwrap();
}

pub fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

pub fn thinking(text: &str) -> ModelEvent {
    ModelEvent::ReasoningDelta(text.to_owned())
}

pub fn thought(wire: Wire, text: &str, opaque: Option<Value>) -> ModelEvent {
    ModelEvent::Reasoning(zdx_protocol::Reasoning {
        text: text.to_owned(),
        wire: wire.name().to_owned(),
        model: MODEL.to_owned(),
        opaque,
        took_ms: None,
    })
}

pub fn begun(id: &str, name: &str) -> ModelEvent {
    ModelEvent::ToolCallStarted { id: Some(id.to_owned()), name: name.to_owned() }
}

pub fn call(id: &str, name: &str, input: Value) -> ModelEvent {
    let arguments = match input {
        Value::Object(map) => Arguments::Object(map),
        Value::String(raw) => Arguments::Raw(raw),
        other => panic!("{other}"),
    };
    ModelEvent::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), arguments, signature: None })
}

pub fn usage(input: u64, output: u64) -> ModelEvent {
    ModelEvent::Usage(Usage { input_tokens: input, output_tokens: output, ..Usage::default() })
}

pub fn stop(reason: StopReason) -> ModelEvent {
    ModelEvent::Stop(reason)
}

pub fn request<'a>(messages: &'a [Message], tools: &'a [ToolSpec]) -> ModelRequest<'a> {
    ModelRequest {
        model: MODEL,
        system: "be brief",
        messages,
        images: RequestImages::none(),
        tools,
        max_tokens: 4096,
        temperature: None,
        top_p: None,
        thinking: None,
        thinking_off: None,
        stream: true,
    }
}

pub fn encoded(wire: Wire, request: &ModelRequest) -> Value {
    let encoded = wire.encode(request).unwrap();
    assert_eq!(encoded, wire.encode(request).unwrap(), "deterministic");
    serde_json::from_slice(&encoded.body).unwrap()
}

pub fn tools() -> Vec<ToolSpec> {
    let spec = |name: &'static str| ToolSpec {
        name: name.into(),
        description: format!("the tool {name}").into(),
        schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    ["read", "bash"].map(spec).to_vec()
}

pub fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

pub fn assistant(parts: Vec<Part>) -> Message {
    Message { role: Role::Assistant, parts }
}

pub fn results(parts: Vec<Part>) -> Message {
    Message { role: Role::User, parts }
}

pub fn said(text: &str) -> Part {
    Part::text(text)
}

pub fn used(id: &str, name: &str, input: Value) -> Part {
    let arguments = match input {
        Value::Object(map) => Arguments::Object(map),
        Value::String(raw) => Arguments::Raw(raw),
        _ => Arguments::Object(Map::new()),
    };
    Part::ToolUse { id: id.to_owned(), name: name.into(), arguments: arguments.into(), signature: None }
}

pub fn result(id: &str, output: Result<Value, &str>) -> Part {
    let output = match output {
        Ok(data) => ToolOutput::Ok(data),
        Err(message) => ToolOutput::error("failed".into(), message),
    };
    Part::result(id, output)
}

pub fn image(name: &str) -> Content {
    let info = ImageInfo { format: ImageFormat::Png, width: 8, height: 6 };
    Content::Image(Box::new(ImageRef::new(format!("hash of {name}"), 99, info, name, ContentOrigin::Mention)))
}

/// A file with an image before a prompt, and a call whose result has an image.
pub fn with_images() -> Vec<Message> {
    let Part::ToolResult { tool_use_id, output, .. } = result("t1", Ok(json!({"path": "b.png"}))) else {
        panic!()
    };
    let content = Box::new([image("b.png")]);
    vec![
        Message { role: Role::System, parts: vec![Part::Content(image("a.png"))] },
        user("compare"),
        assistant(vec![used("t1", "read", json!({"path": "b.png"}))]),
        results(vec![Part::ToolResult { tool_use_id, output, content }]),
    ]
}

pub fn sent_images() -> RequestImages {
    RequestImages::Sent(
        [("hash of a.png".to_owned(), "QUFB".into()), ("hash of b.png".to_owned(), "QkJC".into())].into(),
    )
}

pub fn not_taken() -> RequestImages {
    RequestImages::NotTaken { setting: "models.\"lab/x\".images".to_owned() }
}

/// The note that a model without images gets.
pub fn note(name: &str) -> String {
    format!(
        "[image not sent: {name}, PNG 8×6, 99 B; this model is not known to take images; \
         the user can set models.\"lab/x\".images = true if it does]"
    )
}

/// A turn of twenty steps, as requests see it grow: each element is the history one request was made with.
pub fn growing_turn() -> Vec<Vec<Message>> {
    let mut history = vec![user("first"), assistant(vec![said("yes?")]), user("do it")];
    let mut requests = vec![history.clone()];
    for step in 0..20 {
        let id = format!("call_{step}");
        let mut parts = vec![used(&id, "read", json!({"path": format!("f{step}")}))];
        let mut answers = vec![result(&id, Ok(json!({"content": "x".repeat(step)})))];
        if step % 3 == 0 {
            parts.insert(0, said("looking"));
        }
        if step % 5 == 0 {
            parts.push(used("same", "bash", json!("{broken")));
            answers.push(result("same", Err("no")));
        }
        history.extend([assistant(parts), results(answers)]);
        requests.push(history.clone());
    }
    history.extend([
        assistant(vec![said("done")]),
        Message::text(Role::System, "@file:a\nhello"),
        user("next"),
    ]);
    requests.push(history);
    requests
}

/// Takes all cache marks out.
fn unmarked(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("cache_control");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    strip(&mut value);
    value
}

/// Proves that each request of a growing turn extends the one before, byte for byte but for the marks.
pub fn prefix_is_stable(wire: Wire) {
    let tools = tools();
    let histories = growing_turn();
    let bodies: Vec<Value> =
        histories.iter().map(|messages| unmarked(encoded(wire, &request(messages, &tools)))).collect();
    assert_eq!(bodies.len(), 22);
    for pair in bodies.windows(2) {
        for part in ["tools", "system"] {
            assert_eq!(pair[0][part], pair[1][part]);
        }
        let (before, after) =
            (pair[0]["messages"].as_array().unwrap(), pair[1]["messages"].as_array().unwrap());
        assert!(before.len() < after.len());
        // As text, since key order counts for a cache.
        assert_eq!(json!(before).to_string(), json!(after[..before.len()]).to_string());
    }
}
