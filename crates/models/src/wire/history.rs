//! A conversation made fit to send, in no vendor's shape: what every server refuses is put right here, once.
//! Borrows the messages; what comes out for a prefix of them never changes when more follow.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::slice;
use std::sync::LazyLock;

use serde::{Serialize, Serializer};
use serde_json::Value;
use zdx_protocol::{
    Arguments, Content, ImageRef, Message, Packed, Part, Reasoning, Role, Signature, ToolCode, ToolOutput,
};

use super::{ImageLimit, Wire};
use crate::{ModelRequest, RequestImages};

#[cfg(test)]
mod tests;

pub(super) struct Turn<'a> {
    pub role: Role,
    pub blocks: Vec<Block<'a>>,
}

pub(super) enum Block<'a> {
    Text(Cow<'a, str>),
    Image(SentImage<'a>),
    /// Only thinking that may go back: made by the same wire and model, and signed.
    Reasoning(&'a Reasoning),
    Call {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: &'a Packed<Arguments>,
        /// What the server wants back with it: only from the same wire and model.
        #[cfg_attr(not(test), expect(dead_code, reason = "no wire so far gets its calls signed"))]
        signature: Option<&'a Value>,
    },
    Result {
        id: Cow<'a, str>,
        output: &'a Packed<ToolOutput>,
        /// Notes and images that came with it.
        content: Vec<Block<'a>>,
    },
}

pub(super) struct SentImage<'a> {
    pub media_type: &'a str,
    pub base64: &'a str,
}

/// The output of a call, and what came with it.
type CallResult<'a> = (&'a Packed<ToolOutput>, &'a [Content]);

static UNANSWERED: LazyLock<Packed<ToolOutput>> = LazyLock::new(|| {
    ToolOutput::error(ToolCode::Interrupted, "the call was cut off before it finished").into()
});

/// Returns turns of user and assistant whose roles alternate, where every call is answered in the turn after it, ids are
/// unique, and no block is empty.
pub(super) fn turns<'a>(request: &ModelRequest<'a>, wire: Wire) -> WireTurns<'a> {
    WireTurns {
        messages: request.messages.iter(),
        images: request.images,
        wire,
        model: request.model,
        begun: VecDeque::new(),
        open: Vec::new(),
        ids: IdRule::of(wire, request.model),
        used: HashMap::new(),
    }
}

/// Turns made one by one as they are written: all of them together would be as large as the history again.
pub(super) struct WireTurns<'a> {
    /// Those that are in no turn yet.
    messages: slice::Iter<'a, Message>,
    images: &'a RequestImages,
    wire: Wire,
    model: &'a str,
    /// Turns that were not given out yet. Only the last may still change.
    begun: VecDeque<Turn<'a>>,
    /// Calls of the last assistant turn that have no result yet: the id as it came, the id as it is sent.
    open: Vec<(&'a str, Cow<'a, str>)>,
    ids: IdRule,
    /// Every id sent so far, or in this answer, with how often it was asked for.
    used: HashMap<Cow<'a, str>, u32>,
}

impl<'a> Iterator for WireTurns<'a> {
    type Item = Turn<'a>;

    fn next(&mut self) -> Option<Turn<'a>> {
        while self.begun.len() < 2 {
            let Some(message) = self.messages.next() else {
                self.answer(&mut HashMap::new());
                break;
            };
            match message.role {
                Role::Assistant => self.assistant(&message.parts),
                Role::User => self.user(&message.parts),
                // Attachments go before the user's words. In the middle of a conversation hardly a server knows a
                // system message, and chat templates refuse one.
                Role::System => self.content(Role::User, &message.parts),
            }
        }
        self.begun.pop_front()
    }
}

impl<'a> WireTurns<'a> {
    fn assistant(&mut self, parts: &'a [Part]) {
        self.answer(&mut HashMap::new());
        if self.ids.repeats_between_answers()
            && self.begun.back().is_none_or(|last| last.role != Role::Assistant)
        {
            self.used.clear();
        }
        let (wire, model) = (self.wire, self.model);
        let mut blocks = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Part::Content(content) => blocks.extend(self.block(content)),
                Part::Reasoning(thought)
                    if thought.wire == wire.name() && thought.model == model && thought.opaque.is_some() =>
                {
                    blocks.push(Block::Reasoning(thought));
                }
                Part::ToolUse { id, name, arguments, signature } => {
                    let sent = self.unique(self.ids.wanted(id, signature.as_deref(), wire));
                    self.open.push((id, sent.clone()));
                    let own = |made: &&Signature| made.wire == wire.name() && made.model == model;
                    let signature = signature.as_deref().filter(own).map(|made| &made.opaque);
                    let signature = signature.filter(|opaque| !opaque.is_null());
                    blocks.push(Block::Call { id: sent, name: fit_name(name), arguments, signature });
                }
                Part::Reasoning(_) | Part::ToolResult { .. } => {}
            }
        }
        // Signed thinking alone is no answer: no server takes a message without content.
        if !blocks.iter().all(|block| matches!(block, Block::Reasoning(_))) {
            self.append(Role::Assistant, blocks);
        }
    }

    fn user(&mut self, parts: &'a [Part]) {
        let mut results: HashMap<&str, Vec<CallResult<'a>>> = HashMap::new();
        for part in parts {
            if let Part::ToolResult { tool_use_id, output, content } = part {
                results.entry(tool_use_id).or_default().push((output, content));
            }
        }
        self.answer(&mut results);
        self.content(Role::User, parts);
    }

    fn content(&mut self, role: Role, parts: &'a [Part]) {
        let block = |part: &'a Part| match part {
            Part::Content(content) => self.block(content),
            Part::Reasoning(_) | Part::ToolUse { .. } | Part::ToolResult { .. } => None,
        };
        let blocks = parts.iter().filter_map(block).collect();
        self.append(role, blocks);
    }

    /// None for blank text.
    fn block(&self, content: &'a Content) -> Option<Block<'a>> {
        let Content::Image(image) = content else {
            return content.as_text().filter(|text| !is_blank(text)).map(|text| Block::Text(text.into()));
        };
        let ImageLimit { side, base64_bytes } = self.wire.image_limit();
        Some(match self.images.find(image) {
            Ok(base64) if base64.len() > base64_bytes || image.width.max(image.height) > side => {
                Block::Text(too_large(image).into())
            }
            Ok(base64) => Block::Image(SentImage { media_type: &image.blob.media_type, base64 }),
            Err(note) => Block::Text(note.into()),
        })
    }

    /// Answers all open calls in their order, directly after the turn that made them. A call without a result
    /// gets one that says so; a result without a call has no place in any wire and goes.
    fn answer(&mut self, results: &mut HashMap<&str, Vec<CallResult<'a>>>) {
        if self.open.is_empty() {
            return;
        }
        let mut blocks = Vec::with_capacity(self.open.len());
        for (id, sent) in std::mem::take(&mut self.open) {
            let found = results.get_mut(id).filter(|of_id| !of_id.is_empty()).map(|of_id| of_id.remove(0));
            let (output, content) = found.unwrap_or_else(|| (&UNANSWERED, &[]));
            let content = content.iter().filter_map(|content| self.block(content)).collect();
            blocks.push(Block::Result { id: sent, output, content });
        }
        // Nothing but words of the user can have come since.
        match self.begun.back_mut() {
            Some(said) if said.role == Role::User => {
                said.blocks.splice(0..0, blocks);
            }
            Some(_) | None => self.begun.push_back(Turn { role: Role::User, blocks }),
        }
    }

    fn append(&mut self, role: Role, mut blocks: Vec<Block<'a>>) {
        match self.begun.back_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.role == role => last.blocks.append(&mut blocks),
            _ => self.begun.push_back(Turn { role, blocks }),
        }
    }

    /// Servers refuse ids used twice.
    fn unique(&mut self, id: &'a str) -> Cow<'a, str> {
        let fit = self.ids.fit(id);
        let mut candidate = fit.clone();
        while self.used.contains_key(&candidate) {
            let times = self.used.entry(fit.clone()).or_insert(1);
            *times += 1;
            candidate = self.ids.another(&fit, *times);
        }
        self.used.insert(candidate.clone(), 1);
        candidate
    }
}

/// Ids as a server takes them.
#[derive(Clone, Copy)]
enum IdRule {
    /// Letters, digits, `_` and `-`; none twice in a conversation.
    Plain,
    /// As the server that made the call spelled them: chat templates render them (Kimi). None twice in an answer.
    Verbatim,
    /// Nine letters or digits: templates of Mistral's models raise an error otherwise.
    Nine,
}

const NINE: usize = 9;

impl IdRule {
    fn of(wire: Wire, model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        match wire {
            Wire::Anthropic => Self::Plain,
            // Mistral, Ministral, Codestral, Devstral, Magistral; Mixtral, Pixtral, Voxtral.
            Wire::OpenaiChat if model.contains("stral") || model.contains("xtral") => Self::Nine,
            Wire::OpenaiChat => Self::Verbatim,
        }
    }

    /// A server that counts the calls of each answer from zero gets its own ids back.
    fn repeats_between_answers(self) -> bool {
        match self {
            Self::Plain => false,
            Self::Verbatim | Self::Nine => true,
        }
    }

    fn wanted<'a>(self, id: &'a str, signature: Option<&'a Signature>, wire: Wire) -> &'a str {
        let servers =
            signature.filter(|made| made.wire == wire.name()).and_then(|made| made.call_id.as_deref());
        match self {
            Self::Plain => id,
            Self::Verbatim | Self::Nine => servers.unwrap_or(id),
        }
    }

    fn fit(self, id: &str) -> Cow<'_, str> {
        match self {
            _ if id.is_empty() => self.fit("call"),
            Self::Verbatim => Cow::Borrowed(id),
            Self::Nine if id.len() == NINE && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Cow::Borrowed(id)
            }
            Self::Nine => Cow::Owned(nine_characters(id)),
            Self::Plain if id.chars().all(is_plain) => Cow::Borrowed(id),
            Self::Plain => Cow::Owned(id.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()),
        }
    }

    fn another<'a>(self, fit: &str, times: u32) -> Cow<'a, str> {
        Cow::Owned(match self {
            Self::Plain => format!("{fit}_{times}"),
            Self::Verbatim => format!("{fit}-{times}"),
            Self::Nine => nine_characters(&format!("{fit}_{times}")),
        })
    }
}

/// The same for the same id in every request: the prefix that servers have cached stays as it is.
fn nine_characters(id: &str) -> String {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    // FNV-1a.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let letter = |(_, rest): (char, u64)| (char::from(LETTERS[(rest % 36) as usize]), rest / 36);
    std::iter::successors(Some(letter((' ', hash))), |last| Some(letter(*last)))
        .map(|(c, _)| c)
        .take(NINE)
        .collect()
}

/// One image too large would make every later request of the session fail.
fn too_large(image: &ImageRef) -> String {
    format!("[image not sent: {}; it is larger than this server accepts]", image.summary())
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// A name that a model made up must not make every later request invalid.
fn fit_name(name: &str) -> Cow<'_, str> {
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let fit: String = name.chars().take(64).map(|c| if is_plain(c) { c } else { '_' }).collect();
    Cow::Owned(if fit.is_empty() { "unknown".to_owned() } else { fit })
}

/// Call arguments as the text of an object. Unreadable ones go back as `{}`: servers refuse anything but an object (vLLM
/// answers 400 to broken JSON), and nothing is lost, since the error result that follows quotes them.
pub(super) fn object_text(arguments: &Packed<Arguments>) -> &str {
    if arguments.is_object() { arguments.text() } else { "{}" }
}

/// The same as a JSON value.
pub(super) struct Object<'a>(pub &'a Packed<Arguments>);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_object() {
            return self.0.serialize(serializer);
        }
        serializer.collect_map(std::iter::empty::<((), ())>())
    }
}

/// An output with the notes behind it, where some stand in for images: any server takes them so.
pub(super) fn output_text<'a>(output: &'a Packed<ToolOutput>, content: &[Block<'_>]) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(output.text());
    for block in content {
        if let Block::Text(note) = block {
            let text = text.to_mut();
            text.push('\n');
            text.push_str(note);
        }
    }
    text
}
