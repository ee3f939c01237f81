//! What a server's refusal as too long says in numbers. Each kind of server has its own sentence.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// Tokens the model can hold.
    pub limit: Option<u64>,
    /// Tokens of the conversation that was refused.
    pub used: Option<u64>,
}

pub(super) fn read(message: &str) -> Said {
    let text = message.to_ascii_lowercase();
    let limit = after(&text, "maximum context length is") // vLLM, OpenAI
        .or_else(|| after(&text, "available context size")) // llama.cpp
        .or_else(|| before(&text, "maximum")) // Anthropic: 208310 tokens > 200000 maximum
        .or_else(|| text.contains("context limit").then(|| after(&text, ">")).flatten());
    let used = before(&text, "in the messages")
        .or_else(|| before(&text, "input tokens"))
        .or_else(|| after(&text, "prompt is too long:"))
        .or_else(|| after(&text, "exceed context limit:"));
    Said { limit: limit.filter(|limit| *limit > 0), used }
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
        let cases = [
            (
                "This model's maximum context length is 4096 tokens. However, you requested 8292 tokens (100 in the \
                 messages, 8192 in the completion).",
                Some(4096),
                Some(100),
            ),
            (
                "'max_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request \
                 has 808 input tokens (8192 > 4096 - 808).",
                Some(4096),
                Some(808),
            ),
            (
                "the request exceeds the available context size (4096 tokens), try increasing it",
                Some(4096),
                None,
            ),
            ("prompt is too long: 208310 tokens > 200000 maximum", Some(200_000), Some(208_310)),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease",
                Some(200_000),
                Some(190_000),
            ),
            ("Your input exceeds the context window of this model.", None, None),
        ];
        for (message, limit, used) in cases {
            assert_eq!(read(message), Said { limit, used }, "{message}");
        }
    }
}
