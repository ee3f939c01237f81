//! A prompt as an agent gets it: the person's words, and the content that was attached to them.

use std::path::Path;

use serde_json::Value;
use zdx_acp::PromptBlock;
use zdx_acp::shapes::Welcome;
use zdx_protocol::{Content, Part, Role, Transcript};

/// Returns what was attached to the prompt of the turn that has started: it stands right before it, in a message of its own.
pub(super) fn attached(transcript: &Transcript) -> Vec<Content> {
    let attached = match transcript.messages() {
        // A prompt that nothing is attached to joins an earlier one that was not answered.
        [.., before, prompt] if prompt.parts.len() == 1 => Some(before),
        _ => None,
    };
    let attached = attached.filter(|before| before.role == Role::System);
    attached.into_iter().flat_map(|attached| &attached.parts).flat_map(Part::content).cloned().collect()
}

/// Content with the bytes of an image, where the agent takes it.
pub(super) struct PromptContent {
    pub content: Content,
    pub base64: Option<String>,
}

/// `before` is what a person has done since the last one.
pub(super) fn blocks(
    text: &str,
    before: &[String],
    attached: &[PromptContent],
    welcome: &Welcome,
    root: &Path,
) -> Vec<Value> {
    let words = |text: &str| PromptBlock::Text(text.to_owned());
    let resource = |label: String, uri: String, text: &str| PromptBlock::Resource {
        uri,
        label,
        mime_type: "text/plain".to_owned(),
        text: text.to_owned(),
    };
    let block = |PromptContent { content, base64 }: &PromptContent| match (content, base64) {
        (Content::File(file), _) => {
            let uri = format!("file://{}", root.join(&file.name).display());
            resource(format!("@file:{}", file.name), uri, file.body())
        }
        (Content::Resource(found), _) => {
            let label = format!("@{}", found.name);
            resource(label.clone(), label, found.body())
        }
        (Content::Image(image), Some(base64)) => PromptBlock::Image {
            name: image.name.clone(),
            mime_type: image.blob.media_type.clone(),
            data_base64: base64.clone(),
            uri: None,
        },
        (content, _) => words(&content.text()),
    };
    let before = before.iter().map(|text| words(text));
    PromptBlock::prompt(before.chain(attached.iter().map(block)).chain([words(text)]).collect(), welcome)
}

#[cfg(test)]
mod tests {
    use zdx_protocol::{AttachedContent, Event, FileRef, record};

    use super::*;

    #[test]
    fn only_the_attachments_of_this_prompt_are_found() {
        let mut transcript = Transcript::default();
        let mut tell = |event: Event| {
            transcript.absorb(event.record(record::now()).unwrap());
            attached(&transcript)
        };
        let file = |name: &str| Content::File(Box::new(FileRef::new(name, "x")));
        let prompt = |text: &str| Event::TurnStarted { turn: 1, prompt: text.to_owned() };
        let attach = |name: &str| Event::Attached(AttachedContent::new(file(name)));
        assert!(tell(prompt("alone")).is_empty());
        tell(attach("a"));
        tell(attach("b"));
        assert_eq!(tell(prompt("about these")), [file("a"), file("b")]);
        assert!(tell(prompt("again, since nobody answered")).is_empty());
        tell(Event::AssistantFinal { text: "hm".to_owned(), partial: false, continues: false });
        assert!(tell(prompt("next")).is_empty());
    }
}
