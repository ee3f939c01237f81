//! What is known of a session without reading all of it: its header, the first thing that was asked, the model in use.
//! Looks at the beginning of a file and, where that is not enough, at a bounded part of its end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zdx_protocol::record::{Meta, Record};
use zdx_protocol::transcript::{Entry, Place, Turns};

use super::tail;

/// The header and the first prompt are looked for in this much of a file ...
const HEAD: u64 = 32 << 10;
/// ... and in this much, where files that the prompt mentions stand before it.
const LONG_HEAD: u64 = 1 << 20;
/// A change of model farther from the end is not looked for.
const TAIL: u64 = 8 << 20;
/// So much of a prompt is of use to a list.
pub(super) const PROMPT_CHARS: usize = 200;

#[derive(Debug, Default)]
pub(super) struct SessionHead {
    pub meta: Option<Meta>,
    /// The one in use, as far as can be seen.
    pub model: Option<String>,
    /// What was asked first and was not taken back; a command that the user ran himself only where nothing was asked.
    pub first_prompt: Option<String>,
    /// It began with an agent's name, right behind the header: what the session of a task looks like that was written
    /// before headers said so.
    begins_as_agent: bool,
    pub fault: Option<SessionFault>,
}

/// What keeps a file from being a session to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionFault {
    Empty,
    NoHeader,
    Unreadable,
}

impl SessionFault {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Empty => "its file is empty",
            Self::NoHeader => "its file has no header",
            Self::Unreadable => "its file cannot be read",
        }
    }
}

impl SessionHead {
    pub(super) fn read(path: &Path) -> Self {
        Self::of(path).unwrap_or_else(|_| Self { fault: Some(SessionFault::Unreadable), ..Self::default() })
    }

    /// The session that this one works for, if it is a task's.
    pub(super) fn works_for(&self) -> Option<&str> {
        let meta = self.meta.as_ref()?;
        meta.parent.as_deref().filter(|_| meta.task.is_some() || self.begins_as_agent)
    }

    fn of(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut bytes = Vec::new();
        let mut head = Self::default();
        for limit in [HEAD, LONG_HEAD] {
            (&mut file).take(limit - bytes.len() as u64).read_to_end(&mut bytes)?;
            let (found, settled) = fold(&bytes, bytes.len() as u64 >= limit);
            head = found;
            if settled || (bytes.len() as u64) < limit {
                break;
            }
        }
        let whole = bytes.len() as u64 == file.metadata()?.len();
        let last = |start: &[u8]| match whole {
            true => Ok(tail::last_in(&bytes, bytes.len(), start)),
            false => tail::last_of(&file, start, TAIL),
        };
        // A header that was lost is put behind what is there; so is one that makes a conversation of a run of one prompt.
        if head.meta.as_ref().is_none_or(|meta| meta.one_prompt)
            && let Some(Record::Meta(meta)) = last(tail::META)?
        {
            head.meta = Some(meta);
        }
        head.fault = match &head.meta {
            Some(_) => None,
            None if bytes.is_empty() => Some(SessionFault::Empty),
            None => Some(SessionFault::NoHeader),
        };
        head.model = match last(tail::MODEL)? {
            Some(Record::Model(change)) => Some(change.model),
            Some(_) | None => head.meta.as_ref().and_then(|meta| meta.model.clone()),
        };
        Ok(head)
    }
}

/// What was asked in a turn, and whether it was a command.
#[derive(Default)]
struct FirstPrompt {
    text: String,
    ran: bool,
}

/// What a beginning adds up to, and whether more of the file could change that.
fn fold(bytes: &[u8], cut: bool) -> (SessionHead, bool) {
    // A revert may have taken back what was asked first.
    let goes_back = memchr::memmem::find(bytes, tail::REVERT).is_some();
    let mut head = SessionHead::default();
    let mut turns: Turns<FirstPrompt> = Turns::default();
    let mut settled = false;
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let mut last = &[][..];
    let mut seen = 0;
    while let Some(line) = lines.next().filter(|_| !settled) {
        last = line;
        let Ok(record) = Record::parse(line) else { continue };
        seen += 1;
        if let (2, Record::Agent(agent), Some(meta)) = (seen, &record, &head.meta) {
            head.begins_as_agent = agent.ts >= meta.ts;
        }
        let entry = Entry::from(record);
        turns.fold(&entry, FirstPrompt::default);
        let place = entry.place();
        match (entry, turns.last_mut()) {
            (Entry::Meta(meta), _) => head.meta = Some(meta),
            (Entry::Prompt { text }, Some(turn)) => turn.text = text,
            (Entry::Ran { .. }, Some(turn)) => turn.ran = true,
            (_, Some(turn)) => {
                settled = place == Place::Within && !turn.ran && !goes_back && head.meta.is_some()
            }
            (_, None) => {}
        }
    }
    let asked = turns.iter().find(|turn| !turn.ran).or_else(|| turns.iter().next());
    head.first_prompt = asked.map(|turn| turn.text.clone());
    if cut
        && !settled
        && turns.iter().all(|turn| turn.ran)
        && let Some(text) = cut_off_prompt(last)
    {
        head.first_prompt = Some(text);
        settled = true;
    }
    (head, settled)
}

/// The beginning of a prompt that is longer than the head. What is hidden is never as long as that.
fn cut_off_prompt(line: &[u8]) -> Option<String> {
    let text = line.strip_prefix(br#"{"type":"message","role":"user","text":""#)?;
    let text = &text[..text.len().min(PROMPT_CHARS * 6)];
    // The cut may be inside a character or an escape: at most the 12 bytes of a surrogate pair.
    (0..=12.min(text.len())).find_map(|drop| {
        let quoted = [b"\"", &text[..text.len() - drop], b"\""].concat();
        serde_json::from_slice(&quoted).ok()
    })
}
