//! Blocks of content: in messages, and what a tool call shows.

use serde_json::Value;

use super::text;

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Text(String),
    /// Of such a type, and of so many bytes of base64.
    Image {
        mime: Option<String>,
        size: usize,
    },
    Audio {
        mime: Option<String>,
        size: usize,
    },
    Link {
        uri: String,
    },
    /// With its text, if it is one.
    Resource {
        uri: String,
        text: Option<String>,
    },
    Unknown(Value),
}

impl Block {
    pub fn read(block: &Value) -> Self {
        let size = || block["data"].as_str().map_or(0, str::len);
        let mime = || text(block, "mimeType");
        match block["type"].as_str() {
            // A text of another type than text is one without words.
            Some("text") => Self::Text(block["text"].as_str().unwrap_or_default().to_owned()),
            Some("image") => Self::Image { mime: mime(), size: size() },
            Some("audio") => Self::Audio { mime: mime(), size: size() },
            Some("resource_link") => Self::Link { uri: text(block, "uri").unwrap_or_default() },
            Some("resource") => {
                let resource = &block["resource"];
                Self::Resource {
                    uri: text(resource, "uri").unwrap_or_default(),
                    text: text(resource, "text"),
                }
            }
            // Some send the bare text, or leave the type out.
            Some(_) | None => match (block, &block["text"]) {
                (Value::String(words), _) | (_, Value::String(words)) => Self::Text(words.clone()),
                _ => Self::Unknown(block.clone()),
            },
        }
    }
}

/// What a tool call shows.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolContent {
    Content(Block),
    /// As it was sent, `type` left out. Its path may be relative.
    Diff(Value),
    Terminal(String),
    Unknown(Value),
}

impl ToolContent {
    pub fn read(content: &Value) -> Self {
        match content["type"].as_str() {
            Some("content") => Self::Content(Block::read(&content["content"])),
            Some("diff") => {
                let mut diff = content.clone();
                if let Some(fields) = diff.as_object_mut() {
                    fields.shift_remove("type");
                }
                Self::Diff(diff)
            }
            Some("terminal") => Self::Terminal(text(content, "terminalId").unwrap_or_default()),
            Some(_) | None => Self::Unknown(content.clone()),
        }
    }
}
