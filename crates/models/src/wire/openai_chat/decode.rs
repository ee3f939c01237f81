//! An answer of a Chat Completions server, streamed or whole, as events.

use serde::Deserialize;
use serde_json::Value;
use zdx_protocol::Usage;

use super::super::problem::{Problem, brief};
use super::super::{Decode, Frame, Ids, Unread, lenient, unreadable, was_told_to_stop};
use super::calls::{CallDelta, Calls, FunctionDelta};
use super::content::{Content, Parts};
use super::reasoning::{self, REASONING, REASONING_CONTENT, Thinking};
use crate::{ModelError, ModelEvent, StopReason};

#[cfg(test)]
mod tests;

pub(in crate::wire) struct Decoder {
    model: String,
    ids: Ids,
    thinking: Thinking,
    calls: Calls,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    refused: bool,
    done: bool,
    /// Something of an answer came.
    begun: bool,
    unread: Unread,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Counts>,
    #[serde(default)]
    error: Value,
    object: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    /// Stands for `delta` in a whole answer. Some servers send both.
    message: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    content: Content,
    refusal: Option<String>,
    reasoning: Option<String>,
    reasoning_content: Option<String>,
    reasoning_details: Option<Vec<Value>>,
    tool_calls: Option<Vec<CallDelta>>,
    /// The name of old.
    function_call: Option<FunctionDelta>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's own.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        let prompt = counts.prompt_tokens_details.unwrap_or_default();
        let cached = prompt.cached_tokens.or(counts.prompt_cache_hit_tokens);
        let completion = counts.completion_tokens_details.unwrap_or_default();
        Self {
            input_tokens: counts.prompt_tokens.unwrap_or_default(),
            output_tokens: counts.completion_tokens.unwrap_or_default(),
            cache_read_tokens: cached.unwrap_or_default(),
            cache_write_tokens: prompt.cache_write_tokens.unwrap_or_default(),
            reasoning_tokens: completion.reasoning_tokens.unwrap_or_default(),
        }
    }
}

type Out<'a> = &'a mut Vec<ModelEvent>;

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame, out: Out) -> Result<(), ModelError> {
        let data = frame.data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            if !self.begun
                && let Some(error) = self.unread.last.take()
            {
                return Err(error);
            }
            self.complete(out);
            return Ok(());
        }
        match lenient::parse::<Chunk>(data) {
            Ok(chunk) => {
                self.unread.forget();
                self.chunk(chunk, data, out)
            }
            Err(error) => {
                let in_call = self.calls.any() && self.stop.is_none();
                self.unread.pass_over(unreadable("an event", data, &error), data, in_call)
            }
        }
    }

    fn whole(&mut self, body: &[u8], out: Out) -> Result<(), ModelError> {
        let text = String::from_utf8_lossy(body);
        let chunk: Chunk = lenient::parse(&text).map_err(|error| unreadable("the answer", &text, &error))?;
        let answered = chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty());
        self.chunk(chunk, &text, out)?;
        if !answered {
            let value: Value = serde_json::from_str(&text).unwrap_or_default();
            let hint =
                if value["type"] == "message" { "; set wire = \"anthropic\" for this provider" } else { "" };
            return Err(ModelError::Protocol(format!("an answer without choices{hint}: {}", brief(&text))));
        }
        self.complete(out);
        Ok(())
    }

    fn finish(&mut self, out: Out) -> Result<(), ModelError> {
        if !self.done {
            self.done = true;
            was_told_to_stop(self.stop.as_ref()).map_err(|missing| self.unread.blame(missing))?;
            self.complete(out);
        }
        Ok(())
    }
}

impl Decoder {
    pub fn new(model: &str, ids: Ids) -> Self {
        Self {
            model: model.to_owned(),
            ids,
            thinking: Thinking::default(),
            calls: Calls::default(),
            usage: None,
            stop: None,
            refused: false,
            done: false,
            begun: false,
            unread: Unread::default(),
        }
    }

    fn chunk(&mut self, chunk: Chunk, data: &str, out: Out) -> Result<(), ModelError> {
        // What a chunk brings beside its error is shown first: OpenRouter's error chunks may carry text.
        // Only one answer was asked for, so the first choice is it.
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            self.choice(choice, out);
        }
        if let Some(counts) = chunk.usage {
            self.usage = Some(counts.into());
        }
        let failed = self.stop == Some(StopReason::Other("error".to_owned()));
        if lenient::is_error(&chunk.error) || chunk.object.as_deref() == Some("error") || failed {
            self.done = true;
            let value: Value = lenient::parse(data).unwrap_or_default();
            let unnamed = || Problem { kind: None, message: "an error without a message".to_owned() };
            return Err(Problem::in_json(&value).unwrap_or_else(unnamed).mid_stream());
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice, out: Out) {
        self.begun = true;
        let delta = choice.delta.or(choice.message).unwrap_or_default();
        let Parts { text, thinking } = delta.content.parts();
        self.think(delta.reasoning, delta.reasoning_content, delta.reasoning_details, thinking, out);
        let refusal = delta.refusal.unwrap_or_default();
        self.refused |= !refusal.is_empty();
        for text in [text, refusal] {
            if !text.is_empty() {
                self.end_plain_thinking(out);
                out.push(ModelEvent::Text(text));
            }
        }
        let old_style = delta.function_call.map(|function| CallDelta {
            index: Some(0),
            id: None,
            function: Some(function),
        });
        for call in delta.tool_calls.into_iter().flatten().chain(old_style) {
            self.end_plain_thinking(out);
            out.extend(self.calls.push(call));
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.stop = Some(stop_reason(reason));
        }
    }

    /// One thought comes under up to four names at once: the first that says something is taken.
    fn think(
        &mut self,
        reasoning: Option<String>,
        reasoning_content: Option<String>,
        details: Option<Vec<Value>>,
        part: String,
        out: Out,
    ) {
        let details = details.unwrap_or_default();
        let fields = [(REASONING, reasoning), (REASONING_CONTENT, reasoning_content)];
        let named = |(field, text): (_, Option<String>)| Some((Some(field), text.filter(|t| !t.is_empty())?));
        let (field, text) = fields
            .into_iter()
            .find_map(named)
            .unwrap_or_else(|| (None, if part.is_empty() { reasoning::words(&details) } else { part }));
        self.thinking.add_text(&text, field);
        self.thinking.add_details(details);
        if !text.is_empty() {
            out.push(ModelEvent::ReasoningDelta(text));
        }
    }

    fn end_plain_thinking(&mut self, out: Out) {
        if self.thinking.is_closed_by_other_content() {
            self.end_thinking(out);
        }
    }

    fn end_thinking(&mut self, out: Out) {
        out.extend(self.thinking.take(&self.model).map(ModelEvent::Reasoning));
    }

    fn complete(&mut self, out: Out) {
        self.end_thinking(out);
        let calls = self.calls.finish(&mut self.ids);
        let called = !calls.is_empty();
        out.extend(calls.into_iter().map(ModelEvent::ToolCall));
        out.extend(self.usage.take().map(ModelEvent::Usage));
        let reason = match self.stop.take() {
            // Servers end with "stop" although they sent calls (vLLM with a named tool): the calls count.
            None | Some(StopReason::EndTurn | StopReason::Other(_)) if called => StopReason::ToolUse,
            None | Some(StopReason::EndTurn) if self.refused => StopReason::Refusal,
            None => StopReason::EndTurn,
            Some(StopReason::ToolUse) if !called => StopReason::EndTurn,
            Some(reason) => reason,
        };
        out.push(ModelEvent::Stop(reason));
        self.done = true;
    }
}

fn stop_reason(reason: String) -> StopReason {
    match reason.as_str() {
        "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" => StopReason::EndTurn,
        "tool_calls" | "function_call" | "tool_use" => StopReason::ToolUse,
        "length" | "max_tokens" => StopReason::Length,
        "model_context_window_exceeded" => StopReason::ContextExceeded, // GLM
        "content_filter" => StopReason::ContentFilter,
        _ => StopReason::Other(reason),
    }
}
