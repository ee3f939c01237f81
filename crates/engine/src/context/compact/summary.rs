//! The words of a summary: what the model is asked for, whether its answer is of use, and what the session itself says
//! when it is not.

use zdx_models::StopReason;
use zdx_protocol::display::text::one_line;
use zdx_protocol::{Part, Role, Transcript};
use zdx_workspace::text;

/// An answer below this says nothing.
const LEAST_ANSWER: usize = 20;
const ONE_SAYING: usize = 300;

/// The message that asks for it. Everything before it stays as it was, so that the server's cache of it is used.
pub(crate) fn request(bytes: usize) -> String {
    let words = (bytes / 7).max(60);
    format!(
        "The context is nearly full. Write a summary of this conversation for yourself, as the only memory you will have \
         of it: what was done and found out (names, paths, commands, exact values that matter), decisions and why, what \
         state the work is in, pending risks, and the next concrete steps. The user's own words, the todo list and the \
         names of touched files are kept besides: do not repeat them. At most {words} words, plain text. Call no tool."
    )
}

/// What one answer to that request came to.
#[derive(Default)]
pub(crate) struct SummaryText {
    pub text: String,
    pub called: bool,
    pub stop: Option<StopReason>,
}

impl SummaryText {
    /// The text, if it is a summary at all.
    pub(crate) fn usable(self, bytes: usize) -> Option<String> {
        let done = match self.stop {
            Some(StopReason::EndTurn) | None => true,
            Some(
                StopReason::ToolUse
                | StopReason::Length
                | StopReason::Refusal
                | StopReason::ContentFilter
                | StopReason::ContextExceeded
                | StopReason::Other(_),
            ) => false,
        };
        let text = self.text.trim();
        let fits = (LEAST_ANSWER..=most(bytes)).contains(&text.len());
        (done && !self.called && fits).then(|| text.to_owned())
    }
}

/// Longer than asked for is forgiven up to this.
pub(crate) fn most(bytes: usize) -> usize {
    bytes * 2
}

/// What the model said on its way, the newest of it, and what an earlier summary knew.
pub(crate) fn from_session(transcript: &Transcript, bytes: usize) -> String {
    let earlier = transcript.compaction().map(|earlier| earlier.summary.as_str()).unwrap_or_default();
    let mut left = if earlier.is_empty() { bytes } else { bytes / 2 };
    let texts = transcript.messages().iter().filter(|message| message.role == Role::Assistant);
    let texts = texts.flat_map(|message| &message.parts).filter_map(Part::as_text);
    let texts = texts.map(str::trim).filter(|text| !text.is_empty());
    let mut sayings = Vec::new();
    for text in texts.collect::<Vec<_>>().into_iter().rev() {
        let saying = format!("- {}", one_line(text, ONE_SAYING));
        if saying.len() > left {
            break;
        }
        left -= saying.len();
        sayings.push(saying);
    }
    sayings.reverse();
    let mut text = text::shorten(earlier, bytes / 2, "");
    if !sayings.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}You said on the way:\n{}", sayings.join("\n")));
    }
    text
}
