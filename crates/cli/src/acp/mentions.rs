//! A prompt as blocks: its text, and a link for each file and page that it mentions. Reads no file.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};
use zdx_engine::{Linked, Links};

/// The text as it was typed, then what it links to.
pub fn blocks(text: &str, links: &Links) -> Vec<Value> {
    let links = links.found.iter().map(|linked| match linked {
        Linked::Page(url) => link(url.clone(), url, mime(page_path(url))),
        Linked::File { label, path } => {
            let mime = if path.is_dir() { Some("inode/directory") } else { mime(&path.to_string_lossy()) };
            link(file_uri(path), label, mime)
        }
    });
    std::iter::once(json!({"type": "text", "text": text})).chain(links).collect()
}

fn link(uri: String, name: &str, mime: Option<&str>) -> Value {
    let mut link = json!({"type": "resource_link", "uri": uri, "name": name});
    if let Some(mime) = mime {
        link["mimeType"] = mime.into();
    }
    link
}

fn file_uri(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte);
    let spelled = path.as_os_str().as_bytes().iter().map(|byte| match plain(*byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    format!("file://{}", spelled.collect::<String>())
}

/// Without the host, the query and the fragment: `https://a.rs` is no Rust.
fn page_path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    path.split(['?', '#']).next().unwrap_or_default()
}

/// By what a name ends in; nothing where that says nothing.
fn mime(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let (stem, ending) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    let ending = ending.to_ascii_lowercase();
    TYPES.iter().find(|(endings, _)| endings.split(' ').any(|known| known == ending)).map(|(_, mime)| *mime)
}

const TYPES: &[(&str, &str)] = &[
    ("md markdown", "text/markdown"),
    ("txt log conf cfg ini env lock", "text/plain"),
    ("json jsonl", "application/json"),
    ("yaml yml", "application/yaml"),
    ("toml", "application/toml"),
    ("xml", "application/xml"),
    ("html htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("js mjs cjs jsx", "text/javascript"),
    ("ts tsx", "text/typescript"),
    ("py", "text/x-python"),
    ("rs", "text/x-rust"),
    ("go", "text/x-go"),
    ("java", "text/x-java"),
    ("kt", "text/x-kotlin"),
    ("c h", "text/x-c"),
    ("cc cpp hpp", "text/x-c++"),
    ("cs", "text/x-csharp"),
    ("rb", "text/x-ruby"),
    ("php", "text/x-php"),
    ("swift", "text/x-swift"),
    ("dart", "text/x-dart"),
    ("lua", "text/x-lua"),
    ("sh bash zsh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mention_is_a_link_with_its_type() {
        let file = |label: &str, path: &str| Linked::File { label: label.into(), path: path.into() };
        let found = vec![
            file("src/a.rs", "/w/src/a.rs"),
            file("my file.txt", "/w/my file.txt"),
            file("ü", "/w/ü"),
            Linked::Page("https://example.com/doc.md?x=1.png".into()),
            Linked::Page("https://docs.rs".into()),
        ];
        let blocks = blocks("look", &Links { found, notices: Vec::new() });
        let link = |uri: &str, name: &str| json!({"type": "resource_link", "uri": uri, "name": name});
        let typed = |uri: &str, name: &str, mime: &str| json!({"type": "resource_link", "uri": uri, "name": name, "mimeType": mime});
        assert_eq!(
            blocks,
            [
                json!({"type": "text", "text": "look"}),
                typed("file:///w/src/a.rs", "src/a.rs", "text/x-rust"),
                typed("file:///w/my%20file.txt", "my file.txt", "text/plain"),
                link("file:///w/%C3%BC", "ü"),
                typed(
                    "https://example.com/doc.md?x=1.png",
                    "https://example.com/doc.md?x=1.png",
                    "text/markdown"
                ),
                link("https://docs.rs", "https://docs.rs"),
            ]
        );
    }
}
