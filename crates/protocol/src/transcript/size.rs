//! How large the context is, kept up as it grows: nobody measures a whole history again at every step.
//! Weights are near the bytes of the wire; what a token weighs is learnt from what servers report.

use serde_json::Value;

use crate::compaction::Measured;
use crate::content::{Content, ImageCost, ImageRef};
use crate::conversation::{Message, Part, Role, Usage};
use crate::tool::{Signature, ToolOutput};

/// A token of an image weighs as much as one of text where nothing was learnt yet.
const BYTES_PER_IMAGE_TOKEN: u64 = 3;
/// What a wire adds around each part.
const AROUND: usize = 24;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextSize {
    pub summary: u64,
    /// What was said, and the calls.
    pub messages: u64,
    pub tool_results: u64,
    /// The rule by which images are counted in all of these.
    pub image_cost: ImageCost,
    /// There are or were some.
    pub has_images: bool,
    /// Of `messages`: the answer that is being built, or was the last thing to come.
    answer: u64,
    /// The whole context after the last answer, as its server counted it.
    pub reported: Option<Measured>,
    /// The messages of the last request, as its server counted them together with everything sent along.
    pub learnt: Option<Measured>,
}

impl ContextSize {
    /// Of a context that begins with a summary, or does not.
    pub fn of(messages: &[Message], summarised: bool, image_cost: ImageCost) -> Self {
        let mut size = Self { image_cost, ..Self::default() };
        for message in messages {
            for part in &message.parts {
                size.add(message.role, part);
            }
        }
        if let (true, Some(part)) = (summarised, messages.first().and_then(|first| first.parts.first())) {
            size.summary = size.weight(part);
            size.messages -= size.summary;
        }
        size
    }

    pub fn total(&self) -> u64 {
        self.summary + self.messages + self.tool_results
    }

    pub(super) fn add(&mut self, role: Role, part: &Part) {
        self.has_images |= part.content().iter().any(|content| content.image().is_some());
        let (before, weight) = (self.total(), self.weight(part));
        match part {
            Part::ToolResult { .. } => self.tool_results += weight,
            Part::Content(_) | Part::Reasoning(_) | Part::ToolUse { .. } => self.messages += weight,
        }
        match role {
            Role::Assistant => {
                self.answer += weight;
                // Calls are recorded after the answer they came in was counted.
                if let Some(reported) = self.reported.as_mut().filter(|reported| reported.bytes == before) {
                    reported.bytes += weight;
                }
            }
            Role::User | Role::System => self.answer = 0,
        }
    }

    /// The last answer's text grew. What it held before was sent back to have it go on, and so was no part of the answer
    /// to that request.
    pub(super) fn go_on(&mut self, bytes: usize) {
        self.messages += bytes as u64;
        self.answer = bytes as u64;
    }

    pub(super) fn replace(&mut self, old: &Part, new: &Part) {
        let (gone, came) = (self.weight(old), self.weight(new));
        let of_kind = match old {
            Part::ToolResult { .. } => &mut self.tool_results,
            Part::Content(_) | Part::Reasoning(_) | Part::ToolUse { .. } => &mut self.messages,
        };
        *of_kind = (*of_kind + came).saturating_sub(gone);
    }

    /// A text of the messages lost so many bytes.
    pub(super) fn shorten_text(&mut self, bytes: usize) {
        self.messages = self.messages.saturating_sub(bytes as u64);
    }

    pub(super) fn report(&mut self, usage: Usage) {
        if usage.input_tokens == 0 {
            return;
        }
        let total = self.total();
        // Thinking is counted as output, and is not part of the next request.
        let output = usage.output_tokens.saturating_sub(usage.reasoning_tokens);
        self.reported = Some(Measured { bytes: total, tokens: usage.input_tokens + output });
        self.learnt = Some(Measured { bytes: total - self.answer.min(total), tokens: usage.input_tokens });
    }
}

impl ContextSize {
    /// About what a part takes on a wire, in bytes of text.
    pub fn weight(&self, part: &Part) -> u64 {
        let images = part.content().iter().filter_map(Content::image);
        let images: u64 = images.map(|image| self.image_weight(image)).sum();
        (words(part) + AROUND) as u64 + images
    }

    pub fn image_weight(&self, image: &ImageRef) -> u64 {
        self.image_cost.tokens(image.width, image.height) * BYTES_PER_IMAGE_TOKEN
    }
}

fn words(part: &Part) -> usize {
    match part {
        Part::Content(content) => content.as_text().map_or(0, str::len),
        // Only signed thinking goes back.
        Part::Reasoning(thought) => {
            thought.opaque.as_ref().map_or(0, |opaque| thought.text.len() + of_value(opaque))
        }
        Part::ToolUse { id, name, arguments, signature } => {
            // Anything but an object goes out as an empty one.
            let arguments = if arguments.is_object() { arguments.text().len() } else { 2 };
            let signed = |signature: &&Signature| !signature.opaque.is_null();
            let signature = signature.as_deref().filter(signed);
            let signature = signature.map_or(0, |signature| of_value(&signature.opaque) + AROUND);
            id.len() + name.len() + arguments + signature + AROUND
        }
        Part::ToolResult { tool_use_id, output, content } => {
            let notes: usize = content.iter().filter_map(Content::as_text).map(str::len).sum();
            tool_use_id.len() + output.text().len() + notes
        }
    }
}

pub fn of_output(output: &ToolOutput) -> usize {
    match output {
        ToolOutput::Ok(data) => of_value(data) + 20,
        ToolOutput::Err(error) => error.code.as_str().len() + error.message.len() + 50,
    }
}

/// Near the length of the JSON text, without writing it.
pub fn of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 6,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| of_value(item) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map.iter().map(|(key, value)| key.len() + 4 + of_value(value)).sum::<usize>()
        }
    }
}
