//! A conversation made fit to send, in no vendor's shape: what every server refuses is put right here, once.
//! Borrows the messages; what comes out for a prefix of them never changes when more follow.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::slice;
use std::sync::LazyLock;

use serde::{Serialize, Serializer};
use serde_json::Value;
use zdx_protocol::{Arguments, Message, Packed, Part, Reasoning, Role, Signature, ToolCode, ToolOutput};

use super::Wire;

#[cfg(test)]
mod tests;

pub(super) struct Turn<'a> {
    pub role: Role,
    pub blocks: Vec<Block<'a>>,
}

pub(super) enum Block<'a> {
    Text(&'a str),
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
    },
}

static UNANSWERED: LazyLock<Packed<ToolOutput>> = LazyLock::new(|| {
    ToolOutput::error(ToolCode::Interrupted, "the call was cut off before it finished").into()
});

/// Returns turns of user and assistant whose roles alternate, where every call is answered in the turn after it, ids are
/// unique, and no block is empty.
pub(super) fn turns<'a>(messages: &'a [Message], wire: Wire, model: &'a str) -> WireTurns<'a> {
    let (begun, open, used) = (VecDeque::new(), Vec::new(), HashMap::new());
    WireTurns { messages: messages.iter(), wire, model, begun, open, used }
}

/// Turns made one by one as they are written: all of them together would be as large as the history again.
pub(super) struct WireTurns<'a> {
    /// Those that are in no turn yet.
    messages: slice::Iter<'a, Message>,
    wire: Wire,
    model: &'a str,
    /// Turns that were not given out yet. Only the last may still change.
    begun: VecDeque<Turn<'a>>,
    /// Calls of the last assistant turn that have no result yet: the id as it came, the id as it is sent.
    open: Vec<(&'a str, Cow<'a, str>)>,
    /// Every id sent so far, with how often it was asked for.
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
                // What the user attached, put before his words. In the middle of a conversation hardly a server knows a
                // system message, and chat templates refuse one.
                Role::System => self.texts(Role::User, &message.parts),
            }
        }
        self.begun.pop_front()
    }
}

impl<'a> WireTurns<'a> {
    fn assistant(&mut self, parts: &'a [Part]) {
        self.answer(&mut HashMap::new());
        let (wire, model) = (self.wire.name(), self.model);
        let mut blocks = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Part::Text(text) if !is_blank(text) => blocks.push(Block::Text(text)),
                Part::Reasoning(thought)
                    if thought.wire == wire && thought.model == model && thought.opaque.is_some() =>
                {
                    blocks.push(Block::Reasoning(thought));
                }
                Part::ToolUse { id, name, arguments, signature } => {
                    let sent = self.unique(id);
                    self.open.push((id, sent.clone()));
                    let own = |made: &&Signature| made.wire == wire && made.model == model;
                    let signature = signature.as_deref().filter(own).map(|made| &made.opaque);
                    blocks.push(Block::Call { id: sent, name: fit_name(name), arguments, signature });
                }
                Part::Text(_) | Part::Reasoning(_) | Part::ToolResult { .. } => {}
            }
        }
        // Signed thinking alone is no answer: no server takes a message without content.
        if !blocks.iter().all(|block| matches!(block, Block::Reasoning(_))) {
            self.append(Role::Assistant, blocks);
        }
    }

    fn user(&mut self, parts: &'a [Part]) {
        let mut results: HashMap<&str, Vec<&'a Packed<ToolOutput>>> = HashMap::new();
        for part in parts {
            if let Part::ToolResult { tool_use_id, output } = part {
                results.entry(tool_use_id).or_default().push(output);
            }
        }
        self.answer(&mut results);
        self.texts(Role::User, parts);
    }

    fn texts(&mut self, role: Role, parts: &'a [Part]) {
        let text = |part: &'a Part| match part {
            Part::Text(text) if !is_blank(text) => Some(Block::Text(text)),
            Part::Text(_) | Part::Reasoning(_) | Part::ToolUse { .. } | Part::ToolResult { .. } => None,
        };
        self.append(role, parts.iter().filter_map(text).collect());
    }

    /// Answers all open calls in their order, directly after the turn that made them. A call without a result
    /// gets one that says so; a result without a call has no place in any wire and goes.
    fn answer(&mut self, results: &mut HashMap<&str, Vec<&'a Packed<ToolOutput>>>) {
        if self.open.is_empty() {
            return;
        }
        let mut blocks = Vec::with_capacity(self.open.len());
        for (id, sent) in self.open.drain(..) {
            let found = results.get_mut(id).filter(|of_id| !of_id.is_empty()).map(|of_id| of_id.remove(0));
            blocks.push(Block::Result { id: sent, output: found.unwrap_or_else(|| &UNANSWERED) });
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

    /// Servers refuse ids with odd characters (another vendor's) and ids used twice (careless ones).
    fn unique(&mut self, id: &'a str) -> Cow<'a, str> {
        let fit = fit_id(id);
        let mut candidate = fit.clone();
        while self.used.contains_key(&candidate) {
            let times = self.used.entry(fit.clone()).or_insert(1);
            *times += 1;
            candidate = Cow::Owned(format!("{fit}_{times}"));
        }
        self.used.insert(candidate.clone(), 1);
        candidate
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn fit_id(id: &str) -> Cow<'_, str> {
    match id {
        "" => Cow::Borrowed("call"),
        _ if id.chars().all(is_plain) => Cow::Borrowed(id),
        _ => Cow::Owned(id.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()),
    }
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
