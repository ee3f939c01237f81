//! A prompt as blocks: its text, and an image or a link for each file and page that it mentions. No other file is read.

use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use zdx_acp::{PromptBlock, image_note};
use zdx_engine::{Linked, Links};
use zdx_protocol::ImageFormat;
use zdx_protocol::image::MAX_IMAGE_BYTES;
use zdx_workspace::Workspace;

/// Bytes by which an image is recognised.
const IMAGE_HEAD: u64 = 16;

/// The text as it was typed, then what it mentions. May block on a slow disk.
pub fn blocks(text: String, links: &Links, workspace: &Workspace) -> Vec<PromptBlock> {
    let mentioned = links.found.iter().flat_map(|linked| match linked {
        Linked::Page(url) => vec![link(url.clone(), url, mime(page_path(url)))],
        Linked::File { label, path } => file(label, path, workspace),
    });
    std::iter::once(PromptBlock::Text(text)).chain(mentioned).collect()
}

fn link(uri: String, name: &str, mime_type: Option<&str>) -> PromptBlock {
    PromptBlock::ResourceLink { uri, name: name.to_owned(), mime_type: mime_type.map(str::to_owned) }
}

fn file(name: &str, path: &Path, workspace: &Workspace) -> Vec<PromptBlock> {
    let uri = file_uri(path);
    if path.is_dir() {
        return vec![link(uri, name, Some("inode/directory"))];
    }
    match read_image(path, workspace) {
        Some(Image::Content { mime_type, bytes }) => vec![PromptBlock::Image {
            name: name.to_owned(),
            mime_type: mime_type.to_owned(),
            data_base64: BASE64_STANDARD.encode(bytes),
            uri: Some(uri),
        }],
        Some(Image::TooLarge { mime_type, size }) => {
            let why = format!("it is larger than {} MiB", MAX_IMAGE_BYTES >> 20);
            vec![link(uri, name, Some(mime_type)), image_note(name, size, &why)]
        }
        None => vec![link(uri, name, mime(&path.to_string_lossy()))],
    }
}

enum Image {
    Content { mime_type: &'static str, bytes: Vec<u8> },
    TooLarge { mime_type: &'static str, size: u64 },
}

/// None: it is no image, or it cannot be read, which the agent then finds out by itself.
fn read_image(path: &Path, workspace: &Workspace) -> Option<Image> {
    let opened = workspace.open_file(&workspace.resolve(path.to_str()?).ok()?).ok()?;
    let (mut file, mut bytes) = (opened.file, Vec::new());
    let mut read = |limit: u64, bytes: &mut Vec<u8>| -> io::Result<usize> {
        Read::by_ref(&mut file).take(limit).read_to_end(bytes)
    };
    read(IMAGE_HEAD, &mut bytes).ok()?;
    let mime_type = ImageFormat::of_magic(&bytes)?.media_type();
    if opened.size <= MAX_IMAGE_BYTES {
        read(MAX_IMAGE_BYTES + 1, &mut bytes).ok()?;
    }
    let size = opened.size.max(bytes.len() as u64);
    Some(match size > MAX_IMAGE_BYTES {
        true => Image::TooLarge { mime_type, size },
        false => Image::Content { mime_type, bytes },
    })
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

    fn linked(label: &str, path: &Path) -> Linked {
        Linked::File { label: label.into(), path: path.into() }
    }

    fn typed(uri: &str, name: &str, mime: Option<&str>) -> PromptBlock {
        link(uri.to_owned(), name, mime)
    }

    #[test]
    fn every_mention_is_a_link_with_its_type() {
        let file = |label: &str, path: &str| linked(label, Path::new(path));
        let found = vec![
            file("src/a.rs", "/w/src/a.rs"),
            file("my file.txt", "/w/my file.txt"),
            file("ü", "/w/ü"),
            Linked::Page("https://example.com/doc.md?x=1.png".into()),
            Linked::Page("https://docs.rs".into()),
        ];
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let page = "https://example.com/doc.md?x=1.png";
        assert_eq!(
            blocks("look".to_owned(), &Links { found, notices: Vec::new() }, &workspace),
            [
                PromptBlock::Text("look".to_owned()),
                typed("file:///w/src/a.rs", "src/a.rs", Some("text/x-rust")),
                typed("file:///w/my%20file.txt", "my file.txt", Some("text/plain")),
                typed("file:///w/%C3%BC", "ü", None),
                typed(page, page, Some("text/markdown")),
                typed("https://docs.rs", "https://docs.rs", None),
            ]
        );
    }

    #[test]
    fn an_image_is_told_by_its_content_and_sent_up_to_a_size() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let write = |name: &str, content: &[u8]| std::fs::write(root.join(name), content).unwrap();
        let png = |size: usize| [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![0; size - 8]].concat();
        let limit = usize::try_from(MAX_IMAGE_BYTES).unwrap();
        write("picture", &png(20));
        write("text.png", b"no picture");
        write("whole.gif", &png(limit));
        write("large.png", &png(limit + 1));
        let found =
            ["picture", "text.png", "whole.gif", "large.png"].map(|name| linked(name, &root.join(name)));
        let blocks = blocks(String::new(), &Links { found: found.into(), notices: Vec::new() }, &workspace);
        let uri = |name: &str| format!("file://{}/{name}", root.display());
        let PromptBlock::Image { mime_type, data_base64, uri: from, name } = &blocks[1] else {
            panic!("{:?}", blocks[1])
        };
        assert_eq!(
            (mime_type.as_str(), name.as_str(), from),
            ("image/png", "picture", &Some(uri("picture")))
        );
        assert_eq!(BASE64_STANDARD.decode(data_base64).unwrap(), png(20));
        assert_eq!(blocks[2], typed(&uri("text.png"), "text.png", Some("image/png")));
        let PromptBlock::Image { data_base64, mime_type, .. } = &blocks[3] else { panic!() };
        assert_eq!((data_base64.len(), mime_type.as_str()), (limit.div_ceil(3) * 4, "image/png"));
        assert_eq!(blocks[4], typed(&uri("large.png"), "large.png", Some("image/png")));
        let note = "[image large.png, 5242881 bytes: not sent as an image, it is larger than 5 MiB]";
        assert_eq!(blocks[5..], [PromptBlock::Text(note.to_owned())]);
    }
}
