//! What a server's refusal as too long says in numbers. Each kind of server has its own sentence.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Tokens the model can hold.
    pub limit: Option<u64>,
    /// Tokens of the conversation that was refused.
    pub used: Option<Counted>,
    /// Not a word about the conversation: the answer that was asked for could not fit an empty one.
    pub only_answer: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Exactly(u64),
    /// The server stopped counting here.
    AtLeast(u64),
}

impl Counted {
    pub(super) fn least(self) -> u64 {
        match self {
            Self::Exactly(tokens) | Self::AtLeast(tokens) => tokens,
        }
    }
}

/// Phrases that a limit follows, in lower case; the first one with a number counts.
const LIMIT_FOLLOWS: &[&str] = &[
    "maximum context length is",  // vLLM, OpenAI
    "maximum context length of",  // SGLang, NIM
    "max_model_len=",             // vLLM, of the answer
    "maximum model length of",    // vLLM, of its engine
    "available context size",     // llama.cpp
    "max context size",           // llama.cpp
    "context window of",          // llama-cpp-python
    "the model's context length", // SGLang
    "maximum allowed length",     // SGLang
    "context length of only",     // LM Studio
    "context length is only",     // vLLM
    ">= n_ctx",                   // LM Studio
    "number of tokens allowed",   // Gemini
    "maximum prompt length is",   // xAI
    "must have less than",        // TGI
    "must be <=",                 // TGI, Together
    "max input tokens:",          // Bedrock
    "model token limit:",         // Moonshot
    "exceeds the limit of",       // Copilot
    "max_seq_len",                // TabbyAPI
    "limit for this model is",    // Cohere
    "maximum input length",       // NIM
    "maximum allowed input length of",
];
const LIMIT_PRECEDES: &[&str] = &["maximum context length", "maximum"];
/// Phrases that the size of the prompt follows, or precedes.
const SIZE_FOLLOWS: &[&str] = &[
    "requested tokens (",
    "the input (",
    "prompt length",
    "prompt (length",
    "input length (",
    "prompt is too long:",
    "exceed context limit:",
    "input token count:",
    "input token count (",
    "prompt token count of",
    "prompt contains",
    "request contains",
    "resulted in",
    "given:",
];
const SIZE_PRECEDES: &[&str] =
    &["in the messages", "in your prompt", "tokens from the input messages", "input tokens"];

pub(super) fn read(message: &str) -> Said {
    let text = message.to_ascii_lowercase();
    let limit = LIMIT_FOLLOWS
        .iter()
        .find_map(|phrase| after(&text, phrase))
        .or_else(|| LIMIT_PRECEDES.iter().find_map(|phrase| before(&text, phrase)))
        .or_else(|| text.contains("context limit").then(|| after(&text, ">")).flatten())
        .filter(|limit| *limit > 0);
    let at_least = || after(&text, "contains at least").map(Counted::AtLeast);
    // Cohere tells by how much.
    let beyond = || Some(limit? + after(&text, "size limit exceeded by")?);
    let exactly = || {
        SIZE_PRECEDES
            .iter()
            .find_map(|phrase| before(&text, phrase))
            .or_else(|| after(&text, "request (").filter(|_| text.contains("available context size")))
            .or_else(|| SIZE_FOLLOWS.iter().find_map(|phrase| after(&text, phrase)))
            .or_else(beyond)
            .map(Counted::Exactly)
    };
    let used = at_least().or_else(exactly).filter(|counted| counted.least() > 0);
    let only_answer = text.contains("cannot be greater than max_model_len");
    Said { limit, used, only_answer }
}

/// Thousands may be set apart by commas.
fn after(text: &str, phrase: &str) -> Option<u64> {
    let rest = text[text.find(phrase)? + phrase.len()..].trim_start_matches([' ', '(', ':']);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(rest.len());
    number(rest[..end].trim_end_matches(','))
}

fn before(text: &str, phrase: &str) -> Option<u64> {
    let before = text[..text.find(phrase)?].trim_end();
    let start = before.rfind(|c: char| !c.is_ascii_digit() && c != ',').map_or(0, |at| at + 1);
    number(before[start..].trim_start_matches(','))
}

fn number(digits: &str) -> Option<u64> {
    digits.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_servers_sentence_is_read() {
        use Counted::{AtLeast, Exactly};
        let cases = [
            (
                "This model's maximum context length is 4096 tokens. However, you requested 8292 tokens (100 in the \
                 messages, 8192 in the completion).",
                Some(4096),
                Some(Exactly(100)),
            ),
            (
                "'max_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request \
                 has 808 input tokens (8192 > 4096 - 808).",
                Some(4096),
                Some(Exactly(808)),
            ),
            (
                "This model's maximum context length is 4096 tokens. However, your prompt contains at least 4097 input \
                 tokens, which exceeds this limit even without any output tokens. (parameter=input_tokens, value=4097)",
                Some(4096),
                Some(AtLeast(4097)),
            ),
            (
                "the request exceeds the available context size (4096 tokens), try increasing it",
                Some(4096),
                None,
            ),
            (
                "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: \
                 OpenAIException - request (41554 tokens) exceeds the available context size (4096 tokens), try",
                Some(4096),
                Some(Exactly(41_554)),
            ),
            (
                "This model's maximum context length is 4096 tokens, however you requested 5521 tokens (5009 in your \
                 prompt; 512 for the completion). Please reduce your prompt; or completion length.",
                Some(4096),
                Some(Exactly(5009)),
            ),
            ("Requested tokens (5009) exceed context window of 4096", Some(4096), Some(Exactly(5009))),
            (
                "The input (5009 tokens) is longer than the model's context length (4096 tokens).",
                Some(4096),
                Some(Exactly(5009)),
            ),
            ("prompt is too long: 208310 tokens > 200000 maximum", Some(200_000), Some(Exactly(208_310))),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease",
                Some(200_000),
                Some(Exactly(190_000)),
            ),
            ("Your input exceeds the context window of this model.", None, None),
            (
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
                Some(Exactly(1_196_265)),
            ),
            (
                "The input token count exceeds the maximum number of tokens allowed 1048576.",
                Some(1_048_576),
                None,
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
                Some(131_072),
                Some(Exactly(537_812)),
            ),
            ("`inputs` must have less than 1024 tokens. Given: 1512", Some(1024), Some(Exactly(1512))),
            (
                "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 7000 `inputs` tokens and 4096 `max_new_tokens`",
                Some(8193),
                Some(Exactly(7000)),
            ),
            (
                "Too many input tokens. Max input tokens: 42000, request input token count: 54321",
                Some(42_000),
                Some(Exactly(54_321)),
            ),
            ("Input is too long for requested model.", None, None),
            ("Your request exceeded model token limit: 262144 (requested: 263162)", Some(262_144), None),
            ("Prompt exceeds max length", None, None),
            ("invalid params, context window exceeds limit (2013)", None, None),
            ("Prompt length 5009 is greater than max_seq_len 4096", Some(4096), Some(Exactly(5009))),
            (
                "prompt token count of 140000 exceeds the limit of 128000",
                Some(128_000),
                Some(Exactly(140_000)),
            ),
            (
                "too many tokens: size limit exceeded by 11326 tokens. The limit for this model is 132000 tokens.",
                Some(132_000),
                Some(Exactly(143_326)),
            ),
            ("too many tokens: size limit exceeded by 11326 tokens.", None, None),
            (
                "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of \
                 9017 tokens: 5017 tokens from the input messages and 4000 tokens for the completion.",
                Some(8192),
                Some(Exactly(5017)),
            ),
            ("Prompt length (5009) exceeds maximum input length (4096).", Some(4096), Some(Exactly(5009))),
            ("prompt too long; exceeded max context length by 1200 tokens", None, None),
            ("Cannot truncate prompt with n_keep (5009) >= n_ctx (4096)", Some(4096), None),
            (
                "Prompt has 140,000 tokens, but the maximum context length is 131,072, shorten it",
                Some(131_072),
                None,
            ),
            (
                "Prompt contains 1000172 tokens and 0 draft tokens, too large for model with 40960 maximum context length",
                Some(40_960),
                Some(Exactly(1_000_172)),
            ),
        ];
        for (message, limit, used) in cases {
            assert_eq!(read(message), Said { limit, used, only_answer: false }, "{message}");
        }
        let answer =
            "max_tokens=8192 cannot be greater than max_model_len=4096. Please request fewer output tokens.";
        assert_eq!(read(answer), Said { limit: Some(4096), used: None, only_answer: true });
    }
}
