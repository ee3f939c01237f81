//! What a server answers, as a model reads it: text, structured data where it says more, and a note for what is no text.
//! Too much of it is cut, and the whole kept beside the session.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::{Value, json};
use zdx_protocol::display::format::size;
use zdx_protocol::{ContentOrigin, ImageRef, ToolCode, ToolOutput, path_text};

use zdx_tools::Shell;
use zdx_workspace::ContentStore;
use zdx_workspace::spill::{self, SpillError};
use zdx_workspace::text::{LIMIT, shorten};

/// `id` names the file that keeps the whole.
pub fn output(
    result: CallToolResult,
    id: &str,
    shell: &Shell,
    images: Option<&mut ImageKeeper<'_>>,
) -> ToolOutput {
    let text = text(&result.content, images);
    if result.is_error == Some(true) {
        let why = match text.trim() {
            "" => "the tool failed, and does not say why",
            why => why,
        };
        return ToolOutput::error(ToolCode::McpError, shorten(why, LIMIT, ""));
    }
    let structured = result.structured_content.filter(|value| !value.is_null() && !says(&text, value));
    let mut data = json!({});
    if !text.is_empty() || structured.is_none() {
        put(&mut data, "content", text, id, shell);
    }
    if let Some(value) = structured {
        let written = value.to_string();
        match written.len() > LIMIT {
            true => put(&mut data, "structured", written, id, shell),
            false => data["structured"] = value,
        }
    }
    ToolOutput::Ok(data)
}

/// A text that is too long keeps both its ends; where the whole is, stands beside it.
fn put(data: &mut Value, field: &str, text: String, id: &str, shell: &Shell) {
    if text.len() <= LIMIT {
        data[field] = json!(text);
        return;
    }
    let masked = shell.masked(&text);
    let whole = spill::readable(&masked);
    let file = shell.spill().map(|folder| folder.keep(&spill::name(id, field), &whole));
    let hint = match &file {
        Some(Ok(_)) => {
            "; the whole is in the file named in this result: read it with offset and limit".to_owned()
        }
        Some(Err(SpillError::Full)) => format!("; {}: ask for less at a time", spill::full_note()),
        Some(Err(SpillError::Failed)) | None => "; ask for less at a time".to_owned(),
    };
    data[field] = json!(shorten(&masked, LIMIT, &hint));
    data["truncated"] = json!(true);
    if let Some(Ok(file)) = file {
        data[format!("{field}_file")] = json!(path_text::encode(&file));
    }
}

/// Servers like to give the same twice, as data and as the text of it.
fn says(text: &str, structured: &Value) -> bool {
    let same = serde_json::from_str::<Value>(text).is_ok_and(|said| said == *structured);
    let wraps = structured.as_object().filter(|fields| fields.len() == 1);
    let wrapped = wraps.and_then(|fields| fields.values().next()).and_then(Value::as_str);
    same || wrapped.is_some_and(|inner| inner.trim() == text.trim())
}

/// Images go to the keeper and leave their notes in the text.
pub fn text(blocks: &[ContentBlock], mut images: Option<&mut ImageKeeper<'_>>) -> String {
    blocks.iter().map(|part| block(part, images.as_deref_mut())).collect::<Vec<_>>().join("\n")
}

/// Keeps the images of an answer in the session's content store.
pub struct ImageKeeper<'a> {
    store: &'a ContentStore,
    /// The name that they are known by.
    name: &'a str,
    pub images: Vec<ImageRef>,
}

impl<'a> ImageKeeper<'a> {
    pub fn new(store: &'a ContentStore, name: &'a str) -> Self {
        Self { store, name, images: Vec::new() }
    }

    /// Returns the note that stands for the image, or the reason why it cannot be shown.
    fn keep(&mut self, base64: &str) -> Result<String, String> {
        let bytes = STANDARD.decode(base64.trim()).map_err(|_| "not valid base64".to_owned())?;
        let name = match self.images.len() {
            0 => self.name.to_owned(),
            before => format!("{} ({})", self.name, before + 1),
        };
        let image = self.store.add_image(&bytes, &name, ContentOrigin::Server);
        let image = image.map_err(|refused| refused.to_string())?;
        let note = image.note();
        self.images.push(image);
        Ok(note)
    }
}

/// `[image image/png, 1.2 kB, not shown: …]` where it cannot be kept.
fn image(kind: &str, base64: &str, images: Option<&mut ImageKeeper<'_>>) -> String {
    match images.map(|images| images.keep(base64)) {
        Some(Ok(note)) => note,
        Some(Err(_)) | None => note("image", kind, base64),
    }
}

fn block(block: &ContentBlock, images: Option<&mut ImageKeeper<'_>>) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(found) => image(&found.mime_type, &found.data, images),
        ContentBlock::Audio(audio) => note("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => resource(&embedded.resource, images),
        ContentBlock::ResourceLink(link) => linked(link),
        _ => "[something that zdx does not know]".to_owned(),
    }
}

pub fn resource(contents: &ResourceContents, images: Option<&mut ImageKeeper<'_>>) -> String {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => format!("[resource {uri}]\n{text}"),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = mime_type.as_deref().unwrap_or("of no known type");
            let shown = match kind.starts_with("image/") {
                true => image(kind, blob, images),
                false => note("data", kind, blob),
            };
            format!("[resource {uri}] {shown}")
        }
        _ => "[a resource that zdx does not know]".to_owned(),
    }
}

/// `[image image/png, 1.2 kB, not shown]`.
fn note(what: &str, kind: &str, base64: &str) -> String {
    format!("[{what} {kind}, {}, not shown]", size(base64.len() as u64 / 4 * 3))
}

fn linked(link: &Resource) -> String {
    let kind = link.mime_type.as_deref().map(|kind| format!(", {kind}")).unwrap_or_default();
    let bytes = link.size.map(|bytes| format!(", {}", size(bytes))).unwrap_or_default();
    let about = link.description.as_deref().map(|about| format!(": {about}")).unwrap_or_default();
    format!("[link {} {}{kind}{bytes}]{about}", link.name, link.uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_not_said_twice() {
        assert!(says(r#"{"a": 1}"#, &json!({"a": 1})));
        assert!(says("hello\n", &json!({"content": "hello"})));
        assert!(!says("hello", &json!({"content": "hello", "size": 5})));
        assert!(!says("1 item", &json!({"items": ["a"]})));
    }

    #[test]
    fn what_is_no_text_is_a_note() {
        let blocks: Vec<ContentBlock> = serde_json::from_value(json!([
            {"type": "text", "text": "see"},
            {"type": "image", "data": "AAAA".repeat(300), "mimeType": "image/png"},
            {"type": "resource_link", "uri": "x://1", "name": "one", "mimeType": "text/plain", "size": 12, "description": "first"},
            {"type": "resource", "resource": {"uri": "x://2", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "x://3", "blob": "AAAA", "mimeType": "a/b"}},
        ]))
        .unwrap();
        let text = text(&blocks, None);
        assert_eq!(
            text,
            "see\n[image image/png, 900 B, not shown]\n[link one x://1, text/plain, 12 B]: first\n[resource x://2]\ninside\n[resource x://3] [data a/b, 3 B, not shown]"
        );
    }
}
