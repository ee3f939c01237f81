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

pub(super) fn read(message: &str) -> Said {
    let text = message.to_ascii_lowercase();
    let limit = after(&text, "maximum context length is") // vLLM, OpenAI
        .or_else(|| after(&text, "max_model_len=")) // vLLM, of the answer
        .or_else(|| after(&text, "available context size")) // llama.cpp
        .or_else(|| after(&text, "context window of")) // llama-cpp-python
        .or_else(|| after(&text, "the model's context length")) // SGLang
        .or_else(|| after(&text, "context length of only")) // LM Studio
        .or_else(|| before(&text, "maximum")) // Anthropic: 208310 tokens > 200000 maximum
        .or_else(|| text.contains("context limit").then(|| after(&text, ">")).flatten());
    let at_least = || after(&text, "contains at least").map(Counted::AtLeast);
    let exactly = || {
        before(&text, "in the messages")
            .or_else(|| before(&text, "in your prompt"))
            .or_else(|| before(&text, "input tokens"))
            .or_else(|| after(&text, "request (").filter(|_| text.contains("available context size")))
            .or_else(|| after(&text, "requested tokens ("))
            .or_else(|| after(&text, "the input ("))
            .or_else(|| after(&text, "prompt is too long:"))
            .or_else(|| after(&text, "exceed context limit:"))
            .map(Counted::Exactly)
    };
    let used = at_least().or_else(exactly).filter(|counted| counted.least() > 0);
    let only_answer = text.contains("cannot be greater than max_model_len");
    Said { limit: limit.filter(|limit| *limit > 0), used, only_answer }
}

fn after(text: &str, phrase: &str) -> Option<u64> {
    let rest = text[text.find(phrase)? + phrase.len()..].trim_start_matches([' ', '(', ':']);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn before(text: &str, phrase: &str) -> Option<u64> {
    let before = text[..text.find(phrase)?].trim_end();
    let start = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    before[start..].parse().ok()
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
        ];
        for (message, limit, used) in cases {
            assert_eq!(read(message), Said { limit, used, only_answer: false }, "{message}");
        }
        let answer =
            "max_tokens=8192 cannot be greater than max_model_len=4096. Please request fewer output tokens.";
        assert_eq!(read(answer), Said { limit: Some(4096), used: None, only_answer: true });
    }
}
