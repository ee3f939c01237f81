//! Whether a server refuses a request because it exceeds the model's context. Each kind of server has its own sentence, and
//! new ones come up: phrases that are known to mean it count with any status, others only by a rule and with a status that
//! says the request is at fault.

#[cfg(test)]
mod tests;

/// Phrases in lower case. A comment names the servers that say it, where they are known.
const PHRASES: &[&str] = &[
    "context_length_exceeded",
    "context length exceeded",
    "model_context_window_exceeded",
    "contextwindowexceedederror", // LiteLLM, around any server's words
    "maximum context length",     // OpenAI, vLLM, SGLang, NIM, Mistral, Ollama
    "max context length",         // Ollama
    "prompt is too long",         // Anthropic
    "exceed context limit",       // Anthropic
    "exceeds the available context size",
    "exceed_context_size",
    "larger than the max context size",
    "context size has been exceeded", // llama.cpp, of a cache that all slots share
    "exceeds the context window",
    "exceeds the context length",
    "exceeds the maximum allowed length", // SGLang
    "exceeds the kv memory budget",       // SGLang
    "longer than the maximum model length",
    "longer than the model's context length", // SGLang
    "longer than the context length",         // Ollama
    "greater than the context length",        // LM Studio
    "context length of only",                 // LM Studio
    "cannot truncate prompt with n_keep",     // LM Studio
    "context length is only",                 // vLLM
    "cannot be greater than max_model_len",   // vLLM, of the answer that was asked for
    "exceed context window of",               // llama-cpp-python
    "range of input length should be",        // DashScope
    "exceeds the maximum number of tokens",   // Gemini
    "maximum prompt length is",               // xAI
    "`inputs` must have less than",           // TGI, Together
    "`inputs` tokens + `max_new_tokens`",     // TGI, Together
    "input is too long for requested model",  // Bedrock
    "too many input tokens",                  // Bedrock
    "input tokens exceeded",                  // Bedrock
    "exceeded model token limit",             // Moonshot
    "prompt exceeds max length",              // GLM
    "context window exceeds limit",           // MiniMax
    "greater than max_seq_len",               // TabbyAPI
    "model_max_prompt_tokens_exceeded",       // Copilot
    "prompt token count of",                  // Copilot
    "too many tokens",                        // Cohere
    "exceeds maximum input length",           // NIM
    "maximum allowed input length",           // Poolside
    "reduce the length of the messages",      // Groq
    "token limit exceeded",
    "configured context size is",
];

/// Words for the size of what is sent, and for too much of it.
const SIZES: &[&str] = &["token", "context", "prompt", "input length", "input is"];
const EXCESSES: &[&str] = &[
    "exceed",
    "too long",
    "too large",
    "too many",
    "longer than",
    "larger than",
    "greater than",
    "must have less than",
    "must be <=",
    "must be less than",
    "reduce the length",
];
/// Other things that have a length or a limit, which no shorter conversation helps.
const OTHERS: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxoutputtokens",
    "output token",
    "completion token",
    "cache_key",
    "stop",
    "logprob",
    "top_k",
    "image",
    "tools",
    "schema",
    "access token",
    "api key",
];
/// A limit on how much may be sent in a time, or on an answer: the request itself is not too long.
const NOT_THE_CONTEXT: &[&str] = &[
    "per minute",
    "per day",
    "per hour",
    "rate limit",
    "rate_limit",
    "quota",
    "throttl",
    "please wait",
    "maximum output",
];

/// `status`: of the answer, or the number that an error within a stream has for one.
pub(super) fn is_context_refusal(status: Option<u16>, message: &str, kind: Option<&str>) -> bool {
    let message = message.to_lowercase();
    let kind = kind.unwrap_or_default().to_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words) || kind.contains(words));
    if status == Some(429) || says(NOT_THE_CONTEXT) {
        return false;
    }
    let is_about_request = matches!(status, Some(400 | 413 | 422));
    says(PHRASES) || (is_about_request && says(SIZES) && says(EXCESSES) && !says(OTHERS))
}
