use super::*;

/// As these servers word it, or near to it: status, kind, message.
const REFUSALS: &[(u16, &str, &str)] = &[
    (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
    ),
    (400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed 1048576."),
    (400, "", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    (422, "validation", "Input validation error: `inputs` must have less than 1024 tokens. Given: 1512"),
    (
        422,
        "invalid_request_error",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 7000 `inputs` tokens and 4096 `max_new_tokens`",
    ),
    (
        400,
        "ValidationException",
        "The model returned the following errors: Input is too long for requested model.",
    ),
    (
        400,
        "ValidationException",
        "Too many input tokens. Max input tokens: 42000, request input token count: 54321",
    ),
    (
        400,
        "ValidationException",
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.",
    ),
    (
        400,
        "invalid_request_error",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 263162)",
    ),
    (400, "1261", "Prompt exceeds max length"),
    (400, "bad_request_error", "invalid params, context window exceeds limit (2013)"),
    (503, "", "Prompt length 5009 is greater than max_seq_len 4096"),
    (400, "model_max_prompt_tokens_exceeded", "prompt token count of 140000 exceeds the limit of 128000"),
    (
        400,
        "TOO_MANY_TOKENS",
        "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. The limit for this model is 132000 tokens.",
    ),
    (
        400,
        "BadRequestError",
        "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9017 tokens: 5017 tokens from the input messages and 4000 tokens for the completion.",
    ),
    (
        400,
        "",
        "Prompt length (5009) exceeds maximum input length (4096). Set log level to info and check TRTLLM logs",
    ),
    (400, "", "prompt too long; exceeded max context length by 1200 tokens"),
    (500, "", "the input length exceeds the context length"),
    (400, "", "Input length (5009 tokens) exceeds the maximum allowed length (4090 tokens)"),
    (
        400,
        "",
        "Prompt contains 1000172 tokens and 0 draft tokens, too large for model with 40960 maximum context length",
    ),
    (400, "", "Input length 264373 exceeds the maximum allowed input length of 262112 tokens."),
    // Nobody's words: by the rule.
    (400, "", "The conversation exceeds what this model's context can take"),
    (422, "", "prompt too large: 5000 tokens"),
    (413, "", "Your prompt is longer than 32768 tokens"),
];

#[test]
fn refusals_of_many_servers_are_known() {
    for (status, kind, message) in REFUSALS {
        assert!(is_context_refusal(Some(*status), message, Some(kind)), "{message}");
    }
}

#[test]
fn what_a_shorter_conversation_does_not_help_is_told_apart() {
    for (status, kind, message) in [
        (429, "", "too many tokens, please slow down"),
        (
            413,
            "rate_limit_exceeded",
            "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000",
        ),
        (400, "ThrottlingException", "Too many tokens, please wait before trying again."),
        (400, "", "max_tokens is too large: 100000. This model supports at most 16384 completion tokens"),
        (
            400,
            "",
            "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.",
        ),
        (400, "", "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64"),
        (400, "", "Too many stop tokens"),
        (400, "", "the image exceeds 5 MB, reduce it in the prompt"),
        (400, "", "invalid token in the request"),
        (400, "", "This model does not support the context parameter"),
        (500, "", "the prompt could not be processed: too many open files"),
        (403, "", "token limit of your plan exceeds the prompt"),
    ] {
        assert!(!is_context_refusal(Some(status), message, Some(kind)), "{message}");
    }
}
