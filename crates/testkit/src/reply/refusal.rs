//! How real servers refuse what is too long for them, byte for byte as they were heard: llama.cpp's server, vLLM 0.32,
//! and LiteLLM around either. Only the numbers are the test's.

use super::Reply;

impl Reply {
    /// llama.cpp says what it counted and what it holds.
    pub fn llama_cpp_too_long(tokens: u64, limit: u64) -> Self {
        Self::status(400).body("application/json; charset=utf-8", format!(
            r#"{{"error":{{"code":400,"message":"request ({tokens} tokens) exceeds the available context size ({limit} tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":{tokens},"n_ctx":{limit}}}}}"#
        ))
    }

    /// vLLM stops counting one token behind its limit.
    pub fn vllm_too_long(limit: u64) -> Self {
        Self::status(400).body("application/json", format!(r#"{{"error":{}}}"#, vllm_prompt(limit)))
    }

    /// vLLM on an answer that alone could not fit, whatever the prompt.
    pub fn vllm_answer_too_long(max_tokens: u64, limit: u64) -> Self {
        Self::status(400)
            .body("application/json", format!(r#"{{"error":{}}}"#, vllm_answer(max_tokens, limit)))
    }

    /// vLLM behind LiteLLM's `hosted_vllm`.
    pub fn litellm_too_long(limit: u64) -> Self {
        let inner = format!(r#"{{"error":{}}}"#, vllm_prompt(limit));
        litellm(&format!(
            "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: Hosted_vllmException - {inner}\nmodel=vllm. \
             context_window_fallbacks=None. fallbacks=None.\n\nSet 'context_window_fallback' - https://docs.litellm.ai/docs/routing#fallbacks"
        ))
    }

    /// The same for an answer: LiteLLM does not see that it is about the context.
    pub fn litellm_answer_too_long(max_tokens: u64, limit: u64) -> Self {
        let inner = format!(r#"{{"error":{}}}"#, vllm_answer(max_tokens, limit));
        litellm(&format!("litellm.BadRequestError: Hosted_vllmException - {inner}"))
    }
}

fn litellm(what: &str) -> Reply {
    let message = format!(
        "{what}\n\nLiteLLM: model group 'vllm' failed with the error above. No fallback was attempted."
    );
    let message = serde_json::Value::String(message);
    Reply::status(400).body(
        "application/json",
        format!(
            r#"{{"error":{{"message":{message},"type":"invalid_request_error","param":null,"code":"400"}}}}"#
        ),
    )
}

fn vllm_prompt(limit: u64) -> String {
    let counted = limit + 1;
    format!(
        r#"{{"message":"This model's maximum context length is {limit} tokens. However, your prompt contains at least {counted} input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value={counted})","type":"BadRequestError","param":"input_tokens","code":400}}"#
    )
}

fn vllm_answer(max_tokens: u64, limit: u64) -> String {
    format!(
        r#"{{"message":"max_tokens={max_tokens} cannot be greater than max_model_len={limit}. Please request fewer output tokens. (parameter=max_tokens, value={max_tokens})","type":"BadRequestError","param":"max_tokens","code":400}}"#
    )
}
