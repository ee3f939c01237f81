//! Mentioned files and folders as text for the model, bounded, with a word about everything that was left out.
//! Opens files through the workspace alone. May block on a slow disk: not for an async thread.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use zdx_protocol::{Content, ContentOrigin, FileRef, ImageFormat, Target, path_text};

use zdx_protocol::mentions::{Mention, MentionAuthor, MentionForm, MentionTarget, trimmed};
use zdx_workspace::HashingReader;
use zdx_workspace::text::{InvalidUtf8, before_cut, decode};
use zdx_workspace::workspace::{FileError, OpenedFile, near_names};
use zdx_workspace::{ContentStore, Workspace};

const LARGEST: usize = 64 * 1024;
const LARGEST_TOTAL: usize = 256 * 1024;
/// Nobody looks for a line behind this.
const FURTHEST: u64 = 64 * 1024 * 1024;
const MOST: usize = 32;
/// Of a folder's listing.
const MOST_NAMES: usize = 200;
/// A folder with more is not read to its end.
const MOST_READ: usize = 10_000;

/// One mentioned thing, to be sent in the system role before the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// The path as it was typed, with its lines.
    pub label: String,
    pub content: Content,
    /// Where the rest can be read, if only a part of it fits.
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attached {
    pub attachments: Vec<Attachment>,
    /// The agent to answer this prompt and those after it; whether there is one of that name is not checked here.
    pub agent: Option<String>,
    /// Pages that were mentioned. Nothing is fetched.
    pub links: Vec<String>,
    pub notices: Vec<String>,
}

/// Each file once, in the order of mention.
pub(crate) fn attach(mentions: &[Mention], workspace: &Workspace, images: &ContentStore) -> Attached {
    let mut desk = Desk { workspace, images, seen: Vec::new(), bytes: 0, out: Attached::default() };
    for mention in mentions {
        match &mention.what {
            MentionTarget::Link(link) => desk.out.links.push(link.clone()),
            MentionTarget::Agent(name) => desk.agent(name),
            MentionTarget::Path { path, form } => desk.path(path, *form, mention.author),
        }
    }
    desk.out
}

struct Desk<'a> {
    workspace: &'a Workspace,
    images: &'a ContentStore,
    seen: Vec<(PathBuf, Option<Lines>)>,
    bytes: usize,
    out: Attached,
}

impl Desk<'_> {
    fn agent(&mut self, name: &str) {
        match &self.out.agent {
            None => self.out.agent = Some(name.to_owned()),
            Some(first) if first == name => {}
            Some(first) => {
                let notice = format!("one agent at a time: `{first}` is used, `{name}` is not");
                self.out.notices.push(notice);
            }
        }
    }

    fn path(&mut self, written: &str, form: MentionForm, author: MentionAuthor) {
        let Some(Found { label, path, target, lines }) = find(self.workspace, written) else {
            if form == MentionForm::Named || form == MentionForm::Bare && looks_like_a_file(trimmed(written))
            {
                self.missing(trimmed(written));
            }
            return;
        };
        if form == MentionForm::Dropped && !self.is_image(&target) {
            return;
        }
        if !target.inside && !is_absolute(path) {
            return self.say(
                path,
                "it leaves the project, so it was not attached; type its absolute path if you mean it",
            );
        }
        if !target.inside && author == MentionAuthor::File {
            return self.say(
                path,
                "a file or a pipe names it, not you, and it is outside the project; not attached",
            );
        }
        if self.seen.iter().any(|(seen, of)| *seen == target.path && (of.is_none() || *of == lines)) {
            return;
        }
        if self.out.attachments.len() == MOST || self.bytes >= LARGEST_TOTAL {
            return self.say(path, "not attached: too much is attached already");
        }
        match self.content(label, &target, lines) {
            Ok(content) => {
                if !target.inside {
                    self.out
                        .notices
                        .push(format!("attached {}, which is outside the project", target.path.display()));
                }
                if let Content::File(file) = &content {
                    self.bytes += file.body().len();
                }
                let (label, path) = (label.to_owned(), path.to_owned());
                self.out.attachments.push(Attachment { label, content, path });
                self.seen.push((target.path, lines));
            }
            Err(what) => self.say(label, &format!("not attached: {what}")),
        }
    }

    fn missing(&mut self, written: &str) {
        let path = Lines::split(written).map_or(written, |(path, _)| path);
        let near = self.workspace.resolve(path).map(|target| near_names(&target.path)).unwrap_or_default();
        let hint = if near.is_empty() { String::new() } else { format!("; near names: {}", near.join(", ")) };
        self.say(written, &format!("there is no such file; nothing was attached{hint}"));
    }

    fn is_image(&self, target: &Target) -> bool {
        let mut start = Vec::new();
        let opened = self.workspace.open_file(target).ok();
        let read = opened.and_then(|opened| opened.file.take(16).read_to_end(&mut start).ok());
        read.is_some() && ImageFormat::of_magic(&start).is_some()
    }

    fn content(&mut self, label: &str, target: &Target, lines: Option<Lines>) -> Result<Content, String> {
        let opened = match self.workspace.open_file(target) {
            Ok(opened) => opened,
            Err(FileError::NotRegular { what: "a folder", .. }) => return Ok(file(label, &listing(target)?)),
            Err(error) => return Err(error.to_string()),
        };
        match self.images.add_image_file(&opened.file, opened.size, label, ContentOrigin::Mention) {
            Some(Ok(image)) => Ok(Content::Image(Box::new(image))),
            Some(Err(error)) => Err(error.to_string()),
            None => Ok(file(label, &self.text(label, opened, target, lines)?)),
        }
    }

    fn text(
        &mut self,
        path: &str,
        opened: OpenedFile,
        target: &Target,
        lines: Option<Lines>,
    ) -> Result<String, String> {
        let room = LARGEST.min(LARGEST_TOTAL - self.bytes);
        let mut file = HashingReader::new(opened.file, opened.size);
        if let Some(lines) = lines {
            let text = lines.read(&mut file, room)?;
            self.workspace.ledger().note_seen(&target.path, file.version());
            return Ok(text);
        }
        let mut bytes = Vec::new();
        let read = Read::by_ref(&mut file).take(room as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string().to_lowercase())?;
        if bytes.contains(&0) {
            return Err("it is not a text file".to_owned());
        }
        self.workspace.ledger().note_seen(&target.path, file.version());
        if bytes.len() <= room {
            return Ok(decode_with_note(&bytes, 1));
        }
        let size = opened.size;
        self.say(path, &format!("only the first {room} of its {size} bytes were attached"));
        let kept = decode_with_note(before_cut(&bytes[..room]), 1);
        Ok(format!("{kept}\n[cut: {room} of {size} bytes; read the file for the rest]"))
    }

    fn say(&mut self, path: &str, what: &str) {
        self.out.notices.push(format!("@{path}: {what}"));
    }
}

fn file(label: &str, text: &str) -> Content {
    Content::File(Box::new(FileRef::new(label, text)))
}

/// The longest reading of what was written that is a file: a sentence may go on right behind it, and lines of it may
/// be named.
pub(super) fn find<'w>(workspace: &Workspace, written: &'w str) -> Option<Found<'w>> {
    let plain = trimmed(written);
    let ascii = written.find(|c: char| !c.is_ascii()).map_or(plain, |end| trimmed(&written[..end]));
    let there = |path: &str| workspace.resolve(path).ok().filter(|target| target.exists);
    let readings = [written, plain, ascii].into_iter().filter(|path| !path.is_empty());
    let whole = |path: &'w str| Some(Found { label: path, path, target: there(path)?, lines: None });
    let some_lines = |label: &'w str| {
        let (path, lines) = Lines::split(label)?;
        Some(Found { label, path, target: there(path)?, lines: Some(lines) })
    };
    readings.clone().find_map(whole).or_else(|| readings.clone().find_map(some_lines))
}

/// What a mention turned out to name.
pub(super) struct Found<'w> {
    /// As it was written, lines included.
    pub label: &'w str,
    pub path: &'w str,
    pub target: Target,
    lines: Option<Lines>,
}

/// `:1-3` or `:7` behind a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lines {
    first: usize,
    last: usize,
}

impl Lines {
    fn split(written: &str) -> Option<(&str, Self)> {
        let (path, range) = written.rsplit_once(':')?;
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (!path.is_empty() && first >= 1 && last >= first).then_some((path, Self { first, last }))
    }

    /// Only these lines, in at most so many bytes.
    fn read(self, file: impl Read, room: usize) -> Result<String, String> {
        let mut from = BufReader::new(file.take(FURTHEST));
        let (mut line, mut passed, mut wanted) = (Vec::new(), 0, Vec::new());
        while passed < self.last {
            line.clear();
            let read = from.read_until(b'\n', &mut line).map_err(|error| error.to_string().to_lowercase())?;
            if read == 0 {
                break;
            }
            passed += 1;
            if passed >= self.first {
                wanted.extend_from_slice(&line);
            }
            if wanted.len() > room {
                let kept = decode_with_note(before_cut(&wanted[..room]), self.first as u64);
                return Ok(format!("{kept}\n[cut: {room} bytes of these lines; read the file for the rest]"));
            }
        }
        match wanted {
            none if none.is_empty() => Err(format!("it has {passed} lines")),
            text if text.contains(&0) => Err("it is not a text file".to_owned()),
            text => Ok(decode_with_note(&text, self.first as u64)),
        }
    }
}

/// The text, and what of it is not the file's own.
fn decode_with_note(bytes: &[u8], first_line: u64) -> String {
    let text = decode(bytes);
    match InvalidUtf8::find(bytes, first_line) {
        Some(invalid) => format!("{text}\n[{invalid}]"),
        None => text,
    }
}

/// Whether somebody who wrote this meant a file. Much else begins with `@`: names, decorators, packages.
pub(super) fn looks_like_a_file(written: &str) -> bool {
    const ENDINGS: [&str; 43] = [
        "adoc", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "env", "ex", "go", "h", "hpp", "html",
        "ini", "java", "jpg", "js", "json", "jsonl", "jsx", "kt", "lock", "log", "lua", "md", "php", "png",
        "py", "rb", "rs", "sh", "sql", "svg", "swift", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml",
    ];
    let path = Lines::split(written).map_or(written, |(path, _)| path);
    let named =
        path.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && ENDINGS.contains(&ending));
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '~' | ' ');
    let led = ["./", "../", "~/", "/"].iter().any(|start| path.starts_with(start));
    (named || led) && path.chars().all(plain)
}

pub(super) fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path == "~" || path.starts_with("~/")
}

fn listing(target: &Target) -> Result<String, String> {
    let read = std::fs::read_dir(&target.path).map_err(|error| error.to_string().to_lowercase())?;
    let mut names: Vec<String> = Vec::new();
    for entry in read.take(MOST_READ).flatten() {
        let name = path_text::shown(Path::new(&entry.file_name())).replace(char::is_control, "\u{fffd}");
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        names.push(if is_dir { format!("{name}/") } else { name });
    }
    names.sort();
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    if more > 0 {
        names.push(format!("[cut: {more} more entries]"));
    }
    if names.is_empty() {
        names.push("[empty folder]".to_owned());
    }
    Ok(names.join("\n"))
}
