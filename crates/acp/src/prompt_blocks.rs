//! The content of a prompt, as the blocks that an agent takes by its `promptCapabilities`. Reads no file.

use serde_json::{Value, json};

use crate::shapes::Welcome;

/// One part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptBlock {
    Text(String),
    /// `uri` leads to the file, if there is one.
    Image {
        name: String,
        mime_type: String,
        data_base64: String,
        uri: Option<String>,
    },
    ResourceLink {
        uri: String,
        name: String,
        mime_type: Option<String>,
    },
    /// A file or page with its text. `label` is the line that stands before it where it goes as text.
    Resource {
        uri: String,
        label: String,
        mime_type: String,
        text: String,
    },
}

impl PromptBlock {
    /// Returns the blocks that this agent takes: an image becomes a link and a note, an embedded resource becomes text.
    pub fn fit_to(self, welcome: &Welcome) -> Vec<Self> {
        match self {
            Self::Image { name, mime_type, data_base64, uri } if !welcome.takes_prompt("image") => {
                let note = image_note(&name, decoded_len(&data_base64), "the agent takes no images");
                let link = |uri| Self::ResourceLink { uri, name, mime_type: Some(mime_type) };
                uri.map(link).into_iter().chain([note]).collect()
            }
            Self::Resource { label, text, .. } if !welcome.takes_prompt("embeddedContext") => {
                vec![Self::Text(format!("{label}\n{text}"))]
            }
            Self::Text(_) | Self::Image { .. } | Self::ResourceLink { .. } | Self::Resource { .. } => {
                vec![self]
            }
        }
    }

    /// Returns the block as it stands in `session/prompt`.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Image { mime_type, data_base64, uri, .. } => {
                let mut block = json!({"type": "image", "mimeType": mime_type, "data": data_base64});
                if let Some(uri) = uri {
                    block["uri"] = uri.as_str().into();
                }
                block
            }
            Self::ResourceLink { uri, name, mime_type } => {
                let mut block = json!({"type": "resource_link", "uri": uri, "name": name});
                if let Some(mime_type) = mime_type {
                    block["mimeType"] = mime_type.as_str().into();
                }
                block
            }
            Self::Resource { uri, mime_type, text, .. } => {
                json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}})
            }
        }
    }

    /// Returns the prompt of `session/prompt` for this agent.
    pub fn prompt(blocks: Vec<Self>, welcome: &Welcome) -> Vec<Value> {
        blocks.into_iter().flat_map(|block| block.fit_to(welcome)).map(|block| block.to_value()).collect()
    }
}

/// The note in place of an image that is not sent.
pub fn image_note(name: &str, bytes: u64, why: &str) -> PromptBlock {
    PromptBlock::Text(format!("[image {name}, {bytes} bytes: not sent as an image, {why}]"))
}

fn decoded_len(base64: &str) -> u64 {
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
    ((base64.len() / 4 * 3).saturating_sub(padding)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(capabilities: Value) -> Welcome {
        Welcome::read(&json!({"agentCapabilities": {"promptCapabilities": capabilities}}))
    }

    fn image(uri: Option<&str>) -> PromptBlock {
        PromptBlock::Image {
            name: "a.png".into(),
            mime_type: "image/png".into(),
            data_base64: "AAAAAA==".into(),
            uri: uri.map(str::to_owned),
        }
    }

    #[test]
    fn an_image_goes_to_agents_that_take_images() {
        assert_eq!(
            PromptBlock::prompt(
                vec![image(None), image(Some("file:///w/a.png"))],
                &agent(json!({"image": true}))
            ),
            [
                json!({"type": "image", "mimeType": "image/png", "data": "AAAAAA=="}),
                json!({"type": "image", "mimeType": "image/png", "data": "AAAAAA==", "uri": "file:///w/a.png"}),
            ]
        );
        let note = json!({"type": "text", "text": "[image a.png, 4 bytes: not sent as an image, the agent takes no images]"});
        for capabilities in [json!({}), json!({"image": false}), json!({"image": "yes"}), json!(null)] {
            let agent = agent(capabilities);
            assert_eq!(PromptBlock::prompt(vec![image(None)], &agent), std::slice::from_ref(&note));
            let link = json!({"type": "resource_link", "uri": "file:///w/a.png", "name": "a.png", "mimeType": "image/png"});
            assert_eq!(
                PromptBlock::prompt(vec![image(Some("file:///w/a.png"))], &agent),
                [link, note.clone()]
            );
        }
    }

    #[test]
    fn a_resource_is_embedded_only_where_the_agent_takes_it() {
        let resource = PromptBlock::Resource {
            uri: "file:///w/a.txt".into(),
            label: "@file:a.txt".into(),
            mime_type: "text/plain".into(),
            text: "one\ntwo\n".into(),
        };
        let embedded = json!({"type": "resource", "resource": {"uri": "file:///w/a.txt", "mimeType": "text/plain", "text": "one\ntwo\n"}});
        let blocks = vec![resource];
        assert_eq!(PromptBlock::prompt(blocks.clone(), &agent(json!({"embeddedContext": true}))), [embedded]);
        assert_eq!(
            PromptBlock::prompt(blocks, &agent(json!({"image": true}))),
            [json!({"type": "text", "text": "@file:a.txt\none\ntwo\n"})]
        );
    }
}
