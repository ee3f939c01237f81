//! Content that is shown to a model besides its own words and calls: text, images, files and resources. Bytes stay in the
//! session's content store; what is here names them by their hash.

use std::borrow::Cow;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::image::{ImageFormat, ImageInfo};
use crate::typeset::format::size;

/// One piece of a prompt, an attachment or a tool result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Text(String),
    Image(Box<ImageRef>),
    File(Box<FileRef>),
    Resource(Box<ResourceRef>),
}

/// Bytes in the content store of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    pub sha256: String,
    pub bytes: u64,
    pub media_type: String,
}

/// An image and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRef {
    #[serde(flatten)]
    pub blob: BlobRef,
    pub width: u32,
    pub height: u32,
    /// A file's path as it was named, or a word for what has none.
    pub name: String,
    pub origin: ContentOrigin,
}

/// The way by which content came into a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentOrigin {
    /// A file that the user named in a prompt.
    Mention,
    /// A block of a prompt that an ACP client sent.
    Client,
    /// A file that a tool read.
    Tool,
    /// The result or resource of an MCP server.
    Server,
    #[serde(other)]
    Unknown,
}

/// Text of a file that the user named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// The path as it was typed, with its lines.
    pub name: String,
    /// Everything the model reads, header line included. In a record it stands in the message's own `text`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// Text that an MCP server offers under an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceRef {
    /// `server:uri`, as it was typed.
    pub name: String,
    pub uri: String,
    /// Everything the model reads, header line included. In a record it stands in the message's own `text`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

const FILE_HEADER: &str = "@file:";

impl FileRef {
    pub fn new(name: &str, content: &str) -> Self {
        Self { name: name.to_owned(), text: format!("{FILE_HEADER}{name}\n{content}") }
    }

    /// The text without its header line.
    pub fn body(&self) -> &str {
        body(&self.text, &[FILE_HEADER, &self.name])
    }
}

impl ResourceRef {
    pub fn new(server: &str, uri: &str, content: &str) -> Self {
        let name = format!("{server}:{uri}");
        Self { text: format!("@{name}\n{content}"), uri: uri.to_owned(), name }
    }

    /// The text without its header line.
    pub fn body(&self) -> &str {
        body(&self.text, &["@", &self.name])
    }
}

/// The header may be gone where a text was cut.
fn body<'a>(text: &'a str, header: &[&str]) -> &'a str {
    let rest = header.iter().try_fold(text, |rest, piece| rest.strip_prefix(piece));
    rest.and_then(|rest| rest.strip_prefix('\n')).unwrap_or(text)
}

impl ImageRef {
    pub fn new(sha256: String, bytes: u64, info: ImageInfo, name: &str, origin: ContentOrigin) -> Self {
        let blob = BlobRef { sha256, bytes, media_type: info.format.media_type().to_owned() };
        Self { blob, width: info.width, height: info.height, name: name.to_owned(), origin }
    }

    /// `shot.png, PNG 1280×800, 120 kB`.
    pub fn summary(&self) -> String {
        let format = ImageFormat::of_media_type(&self.blob.media_type).map_or("image", ImageFormat::name);
        format!("{}, {format} {}×{}, {}", self.name, self.width, self.height, size(self.blob.bytes))
    }

    /// The words that stand where the image itself cannot.
    pub fn note(&self) -> String {
        format!("[image: {}]", self.summary())
    }
}

impl Content {
    /// The words of it: an image has only a note.
    pub fn text(&self) -> Cow<'_, str> {
        match self.as_text() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.image().map(ImageRef::note).unwrap_or_default()),
        }
    }

    /// None for an image.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::File(file) => Some(&file.text),
            Self::Resource(resource) => Some(&resource.text),
            Self::Image(_) => None,
        }
    }

    pub fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Text(text) => Some(text),
            Self::File(file) => Some(&mut file.text),
            Self::Resource(resource) => Some(&mut resource.text),
            Self::Image(_) => None,
        }
    }

    pub fn image(&self) -> Option<&ImageRef> {
        match self {
            Self::Image(image) => Some(image),
            Self::Text(_) | Self::File(_) | Self::Resource(_) => None,
        }
    }

    /// As a record keeps it: the words, and what else is known where they are not all.
    pub(crate) fn into_record(mut self) -> (String, Option<Self>) {
        let text = match self.text_mut() {
            Some(text) => std::mem::take(text),
            None => self.text().into_owned(),
        };
        (text, Some(self).filter(|content| !matches!(content, Self::Text(_))))
    }

    /// The way back. Files were once recorded as text alone.
    pub(crate) fn from_record(text: String, content: Option<Self>) -> Self {
        let Some(mut content) = content else {
            let name = text.strip_prefix(FILE_HEADER).and_then(|rest| rest.split_once('\n'));
            return match name.map(|(name, _)| name.to_owned()) {
                Some(name) => Self::File(Box::new(FileRef { name, text })),
                None => Self::Text(text),
            };
        };
        if let Some(words) = content.text_mut() {
            *words = text;
        }
        content
    }
}

/// Content that the user named, put before a prompt for the model to read.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachedContent {
    /// The name under which the user knows it.
    pub label: String,
    pub content: Content,
}

impl AttachedContent {
    pub fn new(content: Content) -> Self {
        let label = match &content {
            Content::Text(text) => text.lines().next().unwrap_or_default().to_owned(),
            Content::Image(image) => image.summary(),
            Content::File(file) => file.name.clone(),
            Content::Resource(resource) => resource.name.clone(),
        };
        Self { label, content }
    }
}

impl Serialize for AttachedContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("AttachedContent", 3)?;
        fields.serialize_field("label", &self.label)?;
        fields.serialize_field("text", &self.content.text())?;
        if let Some(image) = self.content.image() {
            fields.serialize_field("image", image)?;
        }
        fields.end()
    }
}

/// The tokens that an image takes, by the rules of the wire that carries it. Estimates until a server has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageCost {
    /// The model is sent a note instead.
    #[default]
    Note,
    /// A token for 750 pixels, after the longer side was fitted into 1,568.
    Area,
    /// 85 tokens, and 170 for each square of 512 pixels after fitting the shorter side into 768.
    Tiles,
}

impl ImageCost {
    pub fn tokens(self, width: u32, height: u32) -> u64 {
        let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
        let fitted = |factor: f64| (width * factor, height * factor);
        match self {
            Self::Note => 40,
            Self::Area => {
                let (width, height) = fitted((1568.0 / width.max(height)).min(1.0));
                (width * height / 750.0).ceil() as u64
            }
            Self::Tiles => {
                let inside = (2048.0 / width.max(height)).min(1.0);
                let (width, height) = fitted(inside * (768.0 / (width.min(height) * inside)).min(1.0));
                85 + 170 * (width / 512.0).ceil() as u64 * (height / 512.0).ceil() as u64
            }
        }
    }
}

/// Content as a front end has it, before it lies in the content store of a session.
#[derive(Clone, PartialEq, Eq)]
pub struct IncomingImage {
    pub name: String,
    pub bytes: std::sync::Arc<[u8]>,
}

impl std::fmt::Debug for IncomingImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.bytes.len())
    }
}

#[cfg(test)]
mod tests;
