//! What is asked of a model and what comes back, in no vendor's shape.

use crate::RequestImages;
use zdx_protocol::{Message, Reasoning, ToolCall, ToolSpec, Usage};

#[derive(Clone, Debug)]
pub struct ModelRequest<'a> {
    /// The name the server knows, without the provider.
    pub model: &'a str,
    pub system: &'a str,
    pub messages: &'a [Message],
    /// The images that the messages name.
    pub images: &'a RequestImages,
    pub tools: &'a [ToolSpec],
    pub max_tokens: u32,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub thinking: Option<Thinking>,
    /// Asks for an answer without thinking, in the way that the server knows.
    pub thinking_off: Option<ThinkingSwitch>,
    pub stream: bool,
}

/// The switch for thinking that a server or a family of models has. Servers refuse fields that they do not know, so none is
/// sent at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingSwitch {
    /// llama.cpp, vLLM, SGLang: handed to the chat template.
    Template,
    /// OpenAI's reasoning models, gpt-oss: less is all there is.
    Effort,
    /// OpenRouter.
    Reasoning,
    /// DashScope, SiliconFlow.
    EnableThinking,
    /// GLM, DeepSeek, Kimi.
    ThinkingType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinking {
    pub budget_tokens: u32,
}

/// In the order things happen; a decoder ends with exactly one `Stop` or an error.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    Text(String),
    /// Thinking as it streams, for the screen.
    ReasoningDelta(String),
    /// A finished block of thinking, with what must be sent back.
    Reasoning(Reasoning),
    /// All text of this answer so far was thinking, as is only known now.
    WasThinking,
    /// The server has begun to send a call: a sign of life while long arguments stream.
    ToolCallStarted {
        /// As the server named it, where it did so at once.
        id: Option<String>,
        name: String,
    },
    /// More of the arguments of a call that has begun, where the server named it: for the screen.
    ToolCallArguments {
        id: String,
        more: String,
    },
    /// A whole call. Ids are never empty: a wire makes one up where the server sent none.
    ToolCall(ToolCall),
    Usage(Usage),
    Stop(StopReason),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The model is done, or wants its tools run.
    EndTurn,
    ToolUse,
    /// The answer hit `max_tokens`.
    Length,
    Refusal,
    ContentFilter,
    ContextExceeded,
    Other(String),
}
