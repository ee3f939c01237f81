//! Mentioned files and folders as text for the model, bounded, with a word about everything that was left out.
//! Opens files through the workspace alone. May block on a slow disk: not for an async thread.

use std::io::Read;
use std::path::PathBuf;

use zdx_protocol::Target;

use super::{Author, Form, Mention, What, trimmed};
use crate::files::Workspace;
use crate::files::text::{before_cut, decode};
use crate::files::workspace::FileError;

const LARGEST: usize = 64 * 1024;
const LARGEST_TOTAL: usize = 256 * 1024;
const MOST: usize = 32;
/// Of a folder's listing.
const MOST_NAMES: usize = 200;
/// A folder with more is not read to its end.
const MOST_READ: usize = 10_000;

/// One mentioned thing, to be sent in the system role before the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// The path as it was typed.
    pub label: String,
    /// `@file:<path>`, a line break, and the content.
    pub text: String,
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
pub(crate) fn attach(mentions: &[Mention], workspace: &Workspace) -> Attached {
    let mut desk = Desk { workspace, seen: Vec::new(), bytes: 0, out: Attached::default() };
    for mention in mentions {
        match &mention.what {
            What::Link(link) => desk.out.links.push(link.clone()),
            What::Agent(name) => desk.agent(name),
            What::Path { path, form } => desk.path(path, *form, mention.author),
        }
    }
    desk.out
}

struct Desk<'a> {
    workspace: &'a Workspace,
    seen: Vec<PathBuf>,
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

    fn path(&mut self, written: &str, form: Form, author: Author) {
        let Some((path, target)) = self.find(written) else {
            if form == Form::Named {
                self.say(trimmed(written), "there is no such file; nothing was attached");
            }
            return;
        };
        if !target.inside && !is_absolute(path) {
            return self.say(
                path,
                "it leaves the project, so it was not attached; type its absolute path if you mean it",
            );
        }
        if !target.inside && author == Author::File {
            return self.say(
                path,
                "a file or a pipe names it, not you, and it is outside the project; not attached",
            );
        }
        if self.seen.contains(&target.path) {
            return;
        }
        if self.out.attachments.len() == MOST || self.bytes >= LARGEST_TOTAL {
            return self.say(path, "not attached: too much is attached already");
        }
        match self.content(path, &target) {
            Ok(content) => {
                if !target.inside {
                    self.out
                        .notices
                        .push(format!("attached {}, which is outside the project", target.path.display()));
                }
                self.bytes += content.len();
                let text = format!("@file:{path}\n{content}");
                self.out.attachments.push(Attachment { label: path.to_owned(), text });
                self.seen.push(target.path);
            }
            Err(what) => self.say(path, &format!("not attached: {what}")),
        }
    }

    /// The longest reading of what was written that is a file: a sentence may go on right behind it.
    fn find<'w>(&self, written: &'w str) -> Option<(&'w str, Target)> {
        let plain = trimmed(written);
        let ascii = written.find(|c: char| !c.is_ascii()).map_or(plain, |end| trimmed(&written[..end]));
        [written, plain, ascii].into_iter().filter(|path| !path.is_empty()).find_map(|path| {
            let target = self.workspace.resolve(path).ok().filter(|target| target.exists)?;
            Some((path, target))
        })
    }

    fn content(&mut self, path: &str, target: &Target) -> Result<String, String> {
        let opened = match self.workspace.open_file(target) {
            Ok(opened) => opened,
            Err(FileError::NotRegular { what: "a folder", .. }) => return listing(target),
            Err(error) => return Err(error.to_string()),
        };
        let room = LARGEST.min(LARGEST_TOTAL - self.bytes);
        let mut bytes = Vec::new();
        let read = opened.file.take(room as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string().to_lowercase())?;
        if bytes.contains(&0) {
            return Err("it is not a text file".to_owned());
        }
        if bytes.len() <= room {
            return Ok(decode(&bytes));
        }
        let size = opened.size;
        self.say(path, &format!("only the first {room} of its {size} bytes were attached"));
        let kept = decode(before_cut(&bytes[..room]));
        Ok(format!("{kept}\n[cut: {room} of {size} bytes; read the file for the rest]"))
    }

    fn say(&mut self, path: &str, what: &str) {
        self.out.notices.push(format!("@{path}: {what}"));
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path == "~" || path.starts_with("~/")
}

fn listing(target: &Target) -> Result<String, String> {
    let read = std::fs::read_dir(&target.path).map_err(|error| error.to_string().to_lowercase())?;
    let mut names: Vec<String> = Vec::new();
    for entry in read.take(MOST_READ).flatten() {
        let name = entry.file_name().to_string_lossy().replace(char::is_control, "\u{fffd}");
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
