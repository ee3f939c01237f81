//! A prompt as an agent gets it: the person's words, and what was mentioned in them.

use std::path::Path;

use serde_json::Value;
use zdx_acp::PromptBlock;
use zdx_acp::shapes::Welcome;
use zdx_protocol::{Part, Role, Transcript};

const FILE: &str = "@file:";

/// Returns what was attached to the prompt of the turn that has started: it stands right before it, in a message of its own.
pub(super) fn attached(transcript: &Transcript) -> Vec<String> {
    let attached = match transcript.messages() {
        // A prompt that nothing is attached to joins an earlier one that was not answered.
        [.., before, prompt] if prompt.parts.len() == 1 => Some(before),
        _ => None,
    };
    let attached = attached.filter(|before| before.role == Role::System);
    let text = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::Reasoning(_) | Part::ToolUse { .. } | Part::ToolResult { .. } => None,
    };
    attached.into_iter().flat_map(|attached| &attached.parts).filter_map(text).collect()
}

/// `before` is what a person has done since the last one.
pub(super) fn blocks(
    text: &str,
    before: &[String],
    attached: &[String],
    welcome: &Welcome,
    root: &Path,
) -> Vec<Value> {
    let block = |attached: &String| match attached.split_once('\n') {
        Some((label, text)) => PromptBlock::Resource {
            uri: address(label, root),
            label: label.to_owned(),
            mime_type: "text/plain".to_owned(),
            text: text.to_owned(),
        },
        None => PromptBlock::Text(attached.clone()),
    };
    let words = |text: &str| PromptBlock::Text(text.to_owned());
    let before = before.iter().map(|text| words(text));
    PromptBlock::prompt(before.chain(attached.iter().map(block)).chain([words(text)]).collect(), welcome)
}

/// Of a file that was mentioned; anything else is named as it was.
fn address(label: &str, root: &Path) -> String {
    match label.strip_prefix(FILE) {
        Some(path) => format!("file://{}", root.join(path).display()),
        None => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use zdx_protocol::{Event, record};

    use super::*;

    #[test]
    fn only_the_attachments_of_this_prompt_are_found() {
        let mut transcript = Transcript::default();
        let mut tell = |event: Event| {
            transcript.absorb(event.record(record::now()).unwrap());
            attached(&transcript)
        };
        let prompt = |text: &str| Event::TurnStarted { turn: 1, prompt: text.to_owned() };
        let attach = |text: &str| Event::Attached { label: String::new(), text: text.to_owned() };
        assert!(tell(prompt("alone")).is_empty());
        tell(attach("a"));
        tell(attach("b"));
        assert_eq!(tell(prompt("about these")), ["a", "b"]);
        assert!(tell(prompt("again, since nobody answered")).is_empty());
        tell(Event::AssistantFinal { text: "hm".to_owned(), partial: false, continues: false });
        assert!(tell(prompt("next")).is_empty());
    }
}
