//! One request and everything that came of it.

use std::time::Duration;

use zdx_models::wire::Wire;
use zdx_models::{
    Client, Endpoint, ModelError, ModelEvent, ModelRequest, RequestImages, StopReason, Timeouts,
};
use zdx_protocol::{Message, Role, ToolCall, Usage};
use zdx_testkit::{ModelServer, Reply};

pub const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenaiChat];

/// No test waits longer: whatever has not ended by then hangs.
const HANG: Duration = Duration::from_secs(120);

/// Long enough for a busy machine; only faults that must run into a limit set a shorter one.
pub const PATIENT: Timeouts = Timeouts {
    connect: Duration::from_secs(60),
    first_byte: Some(Duration::from_secs(60)),
    idle: Duration::from_secs(60),
};

#[derive(Debug, Default, PartialEq)]
pub struct Heard {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<ToolCall>,
    pub usage: Option<Usage>,
    pub stop: Option<StopReason>,
    pub error: Option<ModelError>,
    pub events: usize,
}

pub fn endpoint(wire: Wire, base: &str) -> Endpoint {
    Endpoint::new("lab", wire, base, "model-x")
}

pub fn question() -> Vec<Message> {
    vec![Message::text(Role::User, "well?")]
}

pub fn request(messages: &[Message]) -> ModelRequest<'_> {
    ModelRequest {
        model: "model-x",
        system: "be brief",
        messages,
        images: RequestImages::none(),
        tools: &[],
        max_tokens: 100,
        temperature: None,
        top_p: None,
        thinking: None,
        thinking_off: None,
        stream: true,
    }
}

pub async fn ask(client: &Client, endpoint: &Endpoint) -> Heard {
    let messages = question();
    hear(client, endpoint, &request(&messages)).await
}

pub async fn hear(client: &Client, endpoint: &Endpoint, request: &ModelRequest<'_>) -> Heard {
    let mut heard = Heard::default();
    let run = async {
        let mut stream = client.start(endpoint, request).await?;
        while let Some(event) = stream.next().await? {
            heard.events += 1;
            assert!(heard.stop.is_none(), "{event:?} after the end");
            match event {
                ModelEvent::Text(text) => heard.text.push_str(&text),
                ModelEvent::ReasoningDelta(text) => heard.reasoning.push_str(&text),
                ModelEvent::WasThinking => heard.reasoning.push_str(&std::mem::take(&mut heard.text)),
                ModelEvent::ToolCall(call) => heard.calls.push(call),
                ModelEvent::Usage(usage) => heard.usage = Some(usage),
                ModelEvent::Stop(reason) => heard.stop = Some(reason),
                ModelEvent::Reasoning(_)
                | ModelEvent::ToolCallStarted { .. }
                | ModelEvent::ToolCallArguments { .. } => {}
            }
        }
        Ok(())
    };
    let result: Result<(), ModelError> = tokio::time::timeout(HANG, run).await.expect("the driver hangs");
    heard.error = result.err();
    assert!(heard.stop.is_some() != heard.error.is_some(), "neither an end nor an error, or both: {heard:?}");
    heard
}

/// Asks a fresh server that gives this reply.
pub async fn ask_for(wire: Wire, timeouts: Timeouts, reply: impl Into<Reply>) -> Heard {
    let server = ModelServer::start_with([reply.into()]);
    ask(&Client::new(timeouts), &endpoint(wire, &server.url())).await
}

/// A stream of this text, whole.
pub fn saying(wire: Wire, text: &str) -> Reply {
    match wire {
        Wire::Anthropic => Reply::anthropic().text(text).done(),
        Wire::OpenaiChat => Reply::chat().text(text).done(),
    }
}

/// The same without its end.
pub fn breaking_off(wire: Wire, text: &str) -> Reply {
    match wire {
        Wire::Anthropic => Reply::anthropic().text(text).unfinished().done(),
        Wire::OpenaiChat => Reply::chat().text(text).unfinished().done(),
    }
}

/// A stream with one call whose arguments come in these pieces.
pub fn calling(wire: Wire, pieces: &[&str]) -> Reply {
    match wire {
        Wire::Anthropic => Reply::anthropic().tool_use_deltas("call_1", "read", pieces.to_vec()).done(),
        Wire::OpenaiChat => Reply::chat().tool_call_deltas("call_1", "read", pieces.to_vec()).done(),
    }
}
