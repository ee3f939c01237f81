//! An answer that is over, but ended for another reason than being done, or said something that the user must not take for
//! an answer: what is said about it.

use zdx_models::StopReason;
use zdx_protocol::{CutShort, Event, NoticeLevel, ToolError};

use super::super::Native;
use super::stream::ModelAnswer;
use crate::call::TurnIo;

pub(super) async fn tell(native: &mut Native, answer: &ModelAnswer, io: &TurnIo) {
    let told = [reason(native, answer), text_call(native, answer)];
    for message in told.into_iter().flatten() {
        // It says why the answer looks as it does, so it stands there when the session is told again.
        io.session.events.emit(Event::Notice { level: NoticeLevel::Warning, message, kept: true }).await;
    }
}

/// The same for programs.
pub(super) fn cut_short(answer: &ModelAnswer) -> Option<CutShort> {
    match answer.stop.as_ref()? {
        StopReason::Length | StopReason::ContextExceeded => Some(CutShort::MaxTokens),
        StopReason::Refusal | StopReason::ContentFilter => Some(CutShort::Refusal),
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) => None,
    }
}

fn reason(native: &mut Native, answer: &ModelAnswer) -> Option<String> {
    let empty = answer.text.trim().is_empty();
    Some(match &answer.stop {
        Some(StopReason::Length) => match native.budget.learn_full(answer.usage, answer.most) {
            Some(limit) => {
                native.set_limit(limit);
                format!(
                    "the answer was cut off because the model's context is full ({limit} tokens); /compact makes room, \
                     or ask to go on"
                )
            }
            None => cut_off(answer),
        },
        Some(StopReason::Refusal) => "the model refused to answer".to_owned(),
        Some(StopReason::ContentFilter) => "the provider's content filter cut the answer".to_owned(),
        Some(StopReason::ContextExceeded) => {
            if let Some(limit) = native.budget.learn_full(answer.usage, answer.most) {
                native.set_limit(limit);
            }
            "the model's context is full; /compact makes room".to_owned()
        }
        Some(StopReason::Other(reason)) => format!("the model stopped: {reason}"),
        Some(StopReason::EndTurn | StopReason::ToolUse) | None if empty && answer.thought => {
            "the model only thought and answered with nothing; ask it for the answer".to_owned()
        }
        Some(StopReason::EndTurn | StopReason::ToolUse) | None if empty => {
            "the model answered with nothing".to_owned()
        }
        Some(StopReason::EndTurn | StopReason::ToolUse) | None => return None,
    })
}

/// A call that was cut off is answered, not run: both are told at what length, and what to do. Without that a model reads that
/// its JSON ends too soon, and writes the same again.
pub(super) async fn tell_cut_call(answer: &mut ModelAnswer, io: &TurnIo) {
    let (written, most) = (answer.usage.output_tokens, u64::from(answer.most));
    if answer.stop != Some(StopReason::Length) && (most == 0 || written < most) {
        return;
    }
    let Some(last) = answer.calls.last_mut().filter(|last| last.call.arguments.raw().is_some()) else {
        return;
    };
    let cut = match written {
        written if (1..most).contains(&written) => format!("cut off by the server after {written} tokens"),
        _ => format!("cut at max_tokens {most}"),
    };
    let name = last.call.name.clone();
    let message =
        format!("{cut}: write it in parts. The call was not run, because its arguments are incomplete");
    last.fault = Some(ToolError::invalid(message));
    let message =
        format!("a call of {name} was {cut}: write it in parts (the model was told), or raise max_tokens");
    io.session.events.emit(Event::Notice { level: NoticeLevel::Warning, message, kept: true }).await;
}

/// By `max_tokens`, or by a limit of the server's own that it does not speak of.
fn cut_off(answer: &ModelAnswer) -> String {
    let (written, most) = (answer.usage.output_tokens, u64::from(answer.most));
    let what = match answer.text.trim().is_empty() && answer.thought {
        true => "the model was still thinking when it",
        false => "the answer",
    };
    if written == 0 || written >= most {
        return format!("{what} was cut off at max_tokens ({most}); raise it, or ask to go on");
    }
    format!(
        "{what} was cut off by the server after {written} tokens, before max_tokens ({most}); ask to go on"
    )
}

/// A server that has no parser for a model's calls passes them on as text, and nothing ever runs. Said once a session.
fn text_call(native: &mut Native, answer: &ModelAnswer) -> Option<String> {
    if native.told_of_text_calls || native.tools.is_empty() {
        return None;
    }
    let parser = parser_of(&answer.text)?;
    native.told_of_text_calls = true;
    Some(format!(
        "the model called a tool in plain text, so nothing was run: its server does not read calls. start vLLM with \
         --enable-auto-tool-choice --tool-call-parser {parser}, llama.cpp with --jinja; other servers may not be able to"
    ))
}

/// What vLLM calls the parser of calls that look like those in this text.
fn parser_of(text: &str) -> Option<&'static str> {
    let begins_line = |at: usize| {
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty()
    };
    let call = |tag: &str, follows: fn(&str) -> bool| {
        text.match_indices(tag).any(|(at, _)| begins_line(at) && follows(&text[at + tag.len()..]))
    };
    // Qwen's coders wrap theirs in the same tag.
    if call("<function=", |rest| rest.split_once('>').is_some_and(|(name, _)| is_name(name))) {
        return Some("qwen3_coder");
    }
    let hermes = |rest: &str| rest.trim_start().starts_with('{') && rest.contains("\"name\"");
    call("<tool_call>", hermes).then_some("hermes")
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_the_text_is_known_by_its_form() {
        let hermes =
            "<tool_call>\n{\"name\": \"bash\", \"arguments\":{\"command\":\"echo hi\"}}\n</tool_call>";
        for (text, parser) in [
            (hermes, Some("hermes")),
            ("I will look.\n<tool_call>{\"name\":\"read\"}", Some("hermes")),
            ("<tool_call>\n<function=bash>\n<parameter=command>\nls\n</parameter>", Some("qwen3_coder")),
            ("  <function=read>", Some("qwen3_coder")),
            ("Hermes models write `<tool_call>{\"name\": …}`.", None),
            ("<tool_call>\nnothing", None),
            ("<function=>", None),
            ("hello", None),
            ("", None),
        ] {
            assert_eq!(parser_of(text), parser, "{text}");
        }
    }
}
