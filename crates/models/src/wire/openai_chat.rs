//! The OpenAI Chat Completions dialect, as OpenAI, vLLM, llama.cpp, Ollama, OpenRouter and many more speak it.

mod calls;
mod content;
mod decode;
mod encode;
mod reasoning;

pub(super) use decode::Decoder;
pub(super) use encode::encode;
