//! The OpenAI Chat Completions dialect, as OpenAI, vLLM, llama.cpp, Ollama, OpenRouter and many more speak it.

mod calls;
mod content;
mod decode;
mod encode;
mod reasoning;

pub(super) use decode::Decoder;
pub(super) use encode::encode;
pub(crate) use encode::wants_completion_tokens;

use super::Target;

const CHAT: Target = Target::fixed("/chat/completions");
pub(super) const MODELS: Target = Target::fixed("/models");

/// The path of a base URL that somebody wrote out to the end.
pub(super) fn without_target(path: &str) -> Option<&str> {
    path.strip_suffix("/chat/completions")
}

/// A bare host: every server of this dialect keeps it under `/v1`.
pub(super) fn root(path: &str) -> &str {
    if path.is_empty() { "/v1" } else { path }
}
