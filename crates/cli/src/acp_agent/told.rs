//! What happens in a session, in the words of the protocol: events in, updates out. Sends nothing, and decides nothing.

use std::path::Path;

use serde_json::{Value, json};
use zdx_protocol::display::approval::{folder_added, grant_words};
use zdx_protocol::display::{context, labels, text::one_line};
use zdx_protocol::{CheckResult, CheckStanding, ContextUsage, Event, NoticeLevel, Todo, TodoStatus};

use super::calls::Calls;

/// Of the first thing said, what names a session.
const TITLE_COLUMNS: usize = 80;

/// What is to be said because of an event.
#[derive(Debug, PartialEq)]
pub enum Said {
    Update(Value),
    /// For the person; not every client shows it.
    Notice(NoticeLevel, String),
}

/// Whether it happens now, or happened in a session before it was opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Now,
    Before,
}

pub struct Told {
    pub calls: Calls,
    /// Of the message that is being said, pieces were told: its end says nothing new.
    spoke: bool,
    thought: bool,
    titled: bool,
}

impl Told {
    pub fn new(root: &Path) -> Self {
        Self { calls: Calls::new(root), spoke: false, thought: false, titled: false }
    }

    pub fn tell(&mut self, event: &Event, when: When) -> Vec<Said> {
        let update = |update: Value| vec![Said::Update(update)];
        let notice = |level, message: String| vec![Said::Notice(level, message)];
        let some = |update: Option<Value>| update.map(Said::Update).into_iter().collect();
        match event {
            Event::TurnStarted { prompt, .. } => self.asked(prompt, when),
            Event::AssistantDelta { text } => {
                self.spoke = true;
                update(message(text))
            }
            Event::AssistantFinal { text, .. } => {
                let told = std::mem::take(&mut self.spoke) || text.is_empty();
                some((!told).then(|| message(text)))
            }
            Event::ReasoningDelta { text } => {
                self.thought = true;
                update(thought(text))
            }
            Event::ReasoningFinal(reasoning) => {
                let told = std::mem::take(&mut self.thought) || reasoning.text.is_empty();
                some((!told).then(|| thought(&reasoning.text)))
            }
            Event::ToolRequested { id, name, input, .. } => update(self.calls.requested(id, name, input)),
            Event::ToolStarted { id, kind, locations, preview, .. } => {
                some(self.calls.started(id, *kind, locations, preview))
            }
            Event::ToolProgress { id, chunk } => some(self.calls.progress(id, chunk)),
            Event::ToolFinished { id, result, diff, .. } => {
                some(self.calls.finished(id, result, diff.as_deref()))
            }
            Event::TodosChanged { items, draft: false } => update(plan(items)),
            Event::ContextUsage(usage) => update(filled(usage)),
            Event::AgentChanged { agent } if when == When::Now => {
                update(json!({"sessionUpdate": "current_mode_update", "currentModeId": agent}))
            }
            Event::ShellFinished { text, shell } if when == When::Before => {
                vec![Said::Update(user(&format!("!{}", shell.command))), Said::Update(message(&fenced(text)))]
            }
            Event::Reverted { turn, files, left } => {
                update(message(&labels::reverted(*turn, files, left.as_ref(), Some(self.calls.root()))))
            }
            Event::Redone { turn, files } => {
                update(message(&labels::redone(*turn, files, Some(self.calls.root()))))
            }
            Event::Exported { path } => update(message(&format!("written to {}", path.display()))),
            Event::FolderAdded { path } => update(message(&folder_added(path))),
            Event::GrantRevoked { grant } => {
                let words = grant_words(grant, Some(self.calls.root()));
                update(message(&format!("no longer allowed: {words}")))
            }
            Event::CheckTold(state) => {
                // An offer stands below the answer of its turn.
                let before = if state.standing == CheckStanding::Offered { "\n\n" } else { "" };
                update(message(&format!("{before}{}", labels::check_told(state))))
            }
            Event::Compacted(compacted) => notice(NoticeLevel::Info, context::compacted(&compacted.0)),
            Event::Pruned { calls, images, bytes } if when == When::Now => {
                notice(NoticeLevel::Info, context::pruned(context::PrunedTotals::new(calls, images, *bytes)))
            }
            Event::InputCut { cuts } if when == When::Now => notice(NoticeLevel::Warning, context::cut(cuts)),
            Event::Checked(checked) if checked.result != CheckResult::GivenUp => {
                let (level, message) = labels::checked(checked);
                notice(level, message)
            }
            Event::Retrying { attempt, of, delay_ms, reason, .. } => {
                let text = labels::retrying(*attempt, *of, delay_ms.div_ceil(1000), reason);
                notice(NoticeLevel::Info, text)
            }
            Event::McpChanged(server) if server.error.is_some() => {
                notice(NoticeLevel::Warning, server.fault())
            }
            Event::Notice { level, message, .. } => notice(*level, message.clone()),
            Event::TrustRequested(request) => notice(NoticeLevel::Warning, untrusted(&request.state)),
            // Of a turn that is over: who reads on wants to know why nothing came of it.
            Event::Error { message: why, .. } if when == When::Before => update(message(why)),
            Event::Error { .. }
            | Event::AgentChanged { .. }
            | Event::RemoteSession { .. }
            | Event::ShellFinished { .. }
            | Event::TodosChanged { .. }
            | Event::Pruned { .. }
            | Event::InputCut { .. }
            | Event::Checked(_)
            | Event::McpChanged(_)
            | Event::SessionStarted(_)
            | Event::StateChanged { .. }
            | Event::ToolAnnounced { .. }
            | Event::ToolGrew { .. }
            | Event::ApprovalRequested(_)
            | Event::ApprovalWithdrawn { .. }
            | Event::ApprovalResolved { .. }
            | Event::FileChanged { .. }
            | Event::FileChangeIntended { .. }
            | Event::FileChangeDropped { .. }
            | Event::ModelChanged { .. }
            | Event::ApprovalChanged { .. }
            | Event::ToolsChanged { .. }
            | Event::TrustResolved { .. }
            | Event::Replayed { .. }
            | Event::Attached(_)
            | Event::Reminded { .. }
            | Event::UsageReported(_)
            | Event::Interrupted
            | Event::TurnFinished(_)
            | Event::Done { .. }
            | Event::Reply { .. } => Vec::new(),
        }
    }

    /// The client knows what it sent; what was said before it is told, and the first of it names the session.
    fn asked(&mut self, prompt: &str, when: When) -> Vec<Said> {
        let mut said = Vec::new();
        if when == When::Before {
            said.push(Said::Update(user(prompt)));
        }
        if !std::mem::replace(&mut self.titled, true) {
            let title = one_line(prompt, TITLE_COLUMNS);
            said.push(Said::Update(json!({"sessionUpdate": "session_info_update", "title": title})));
        }
        said
    }
}

fn untrusted(state: &zdx_protocol::TrustState) -> String {
    let wants = state.wants.len();
    format!(
        "this folder's own files want {wants} things that need your trust, and do not get them; look at them with \
         `zdx trust` in {}",
        state.root.display()
    )
}

fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

pub fn message(text: &str) -> Value {
    chunk("agent_message_chunk", text)
}

fn thought(text: &str) -> Value {
    chunk("agent_thought_chunk", text)
}

fn user(text: &str) -> Value {
    chunk("user_message_chunk", text)
}

fn plan(items: &[Todo]) -> Value {
    let entry = |item: &Todo| {
        let status = match item.status {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in_progress",
            TodoStatus::Completed => "completed",
        };
        json!({"content": item.content, "priority": "medium", "status": status})
    };
    json!({"sessionUpdate": "plan", "entries": items.iter().map(entry).collect::<Vec<_>>()})
}

pub fn filled(usage: &ContextUsage) -> Value {
    json!({"sessionUpdate": "usage_update", "used": usage.used, "size": usage.limit})
}

/// A text as it is, whatever it holds: in a block of code whose fence is longer than any in it.
pub fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_once_however_it_comes() {
        let mut told = Told::new(Path::new("/w"));
        let piece = Event::AssistantDelta { text: "hi".into() };
        let whole = Event::AssistantFinal { text: "hi".into(), partial: false, continues: false };
        assert_eq!(told.tell(&piece, When::Now), [Said::Update(message("hi"))]);
        assert_eq!(told.tell(&whole, When::Now), []);
        assert_eq!(told.tell(&whole, When::Now), [Said::Update(message("hi"))]);
    }

    #[test]
    fn a_prompt_is_told_again_but_not_twice() {
        let mut told = Told::new(Path::new("/w"));
        let asked = Event::TurnStarted { turn: 1, prompt: "why\nso?".into() };
        let title = json!({"sessionUpdate": "session_info_update", "title": "why so?"});
        assert_eq!(told.tell(&asked, When::Now), [Said::Update(title)]);
        assert_eq!(told.tell(&asked, When::Before), [Said::Update(user("why\nso?"))]);
        assert_eq!(told.tell(&asked, When::Now), []);
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("a"), "```\na\n```");
        assert_eq!(fenced("```\n"), "````\n```\n````");
    }
}
