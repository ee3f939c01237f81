//! The model that is built in, as people are told about it.

/// What it is called wherever a model has a name.
pub const NAME: &str = "demo";
/// How to get past it.
pub const HOW: &str = "For real answers start a local server (vLLM, llama.cpp, Ollama, LM Studio) or set a key such as \
                       ANTHROPIC_API_KEY, and run zdx again.";
