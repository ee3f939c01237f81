//! Which events are saved, and as what: the one place that says so.

use jiff::Timestamp;

use super::{Event, Outcome, TurnSummary};
use crate::code::ErrorKind;
use crate::compaction::{Compacted, Compaction};
use crate::conversation::Role;
use crate::record::{self, Record, ToolUseOrigin};
use crate::tool::CallOrigin;

impl Event {
    /// What of this event is saved: the one place that decides it.
    pub fn record(&self, ts: Timestamp) -> Option<Record> {
        Some(match self {
            Self::SessionStarted(info) if !info.resumed => Record::Meta(record::Meta {
                schema_version: record::SCHEMA_VERSION,
                id: Some(info.session.clone()),
                root: Some(info.root.clone()),
                model: Some(info.model.clone()),
                parent: info.parent.clone(),
                task: info.task.clone(),
                one_prompt: info.one_prompt,
                ts,
            }),
            Self::TurnStarted { prompt, .. } => {
                Record::Message(record::Message::new(Role::User, prompt.as_str(), ts))
            }
            Self::Attached(attached) => Record::Message(record::Message::attached(&attached.content, ts)),
            Self::Reminded { text } => Record::Message(record::Message {
                hidden: true,
                ..record::Message::new(Role::User, text.as_str(), ts)
            }),
            Self::ShellFinished { text, shell } => Record::Message(record::Message {
                shell: Some(shell.clone()),
                ..record::Message::new(Role::Assistant, text.as_str(), ts)
            }),
            Self::AgentChanged { agent } => Record::Agent(record::Agent { agent: agent.clone(), ts }),
            Self::AssistantFinal { text, partial, continues } => Record::Message(record::Message {
                partial: *partial,
                continues: *continues,
                ..record::Message::new(Role::Assistant, text.as_str(), ts)
            }),
            Self::ReasoningFinal(reasoning) => {
                Record::Reasoning(record::ReasoningRecord { reasoning: reasoning.clone(), ts })
            }
            Self::RemoteSession { agent, session } => {
                Record::Remote(record::Remote { agent: agent.clone(), session: session.clone(), ts })
            }
            Self::ToolRequested { id, name, input, raw, signature, origin, .. } => {
                Record::ToolUse(record::ToolUse {
                    origin: recorded(*origin)?,
                    id: id.clone(),
                    name: name.clone(),
                    input: input.clone(),
                    raw: raw.clone(),
                    signature: signature.clone(),
                    ts,
                })
            }
            Self::ToolFinished { id, result, content, diff, duration_ms, reads, beside, origin, .. } => {
                Record::ToolResult(record::ToolResult {
                    origin: recorded(*origin)?,
                    tool_use_id: id.clone(),
                    output: result.clone(),
                    content: content.clone(),
                    ok: result.is_ok(),
                    diff: diff.clone(),
                    duration_ms: Some(*duration_ms),
                    reads: *reads,
                    beside: beside.clone(),
                    ts,
                })
            }
            Self::ApprovalRequested(request) => {
                let tool_use_id = request.id.clone();
                Record::Asked(record::Asked { tool_use_id, withdrawn: false, ts })
            }
            Self::ApprovalWithdrawn { id, .. } => {
                Record::Asked(record::Asked { tool_use_id: id.clone(), withdrawn: true, ts })
            }
            Self::ApprovalResolved { id, decision, grant, by, .. } => {
                let (tool_use_id, decision) = (id.clone(), decision.clone());
                let (grant, by) = (grant.clone(), by.clone());
                Record::Approval(record::ApprovalRecord { tool_use_id, decision, grant, by, ts })
            }
            Self::ApprovalChanged { approval } => Record::Preset(record::Preset { approval: *approval, ts }),
            Self::GrantRevoked { grant } => Record::Revoked(record::Revoked { grant: grant.clone(), ts }),
            Self::FolderAdded { path } => Record::FolderAdded(record::FolderAdded { path: path.clone(), ts }),
            Self::TodosChanged { items, draft } => {
                Record::Todos(record::Todos { items: items.clone(), draft: *draft, ts })
            }
            Self::FileChanged { id, change } => Record::Change(record::Change::new(id, change, ts)),
            Self::FileChangeIntended { id, change } => {
                Record::ChangeIntent(record::Change::new(id, change, ts))
            }
            Self::FileChangeDropped { id, change } => {
                Record::ChangeDropped(record::Change::new(id, change, ts))
            }
            Self::Reverted { turn, files, left } => {
                Record::Revert(record::Revert { turn: *turn, files: files.clone(), left: left.clone(), ts })
            }
            Self::Redone { files, .. } => Record::Redo(record::Redo { files: files.clone(), ts }),
            Self::ModelChanged { model } => Record::Model(record::Model { model: model.clone(), ts }),
            Self::Compacted(Compacted(compaction)) => {
                Record::Compaction(Box::new(Compaction { ts, ..Compaction::clone(compaction) }))
            }
            Self::InputCut { cuts } => Record::Cut(record::Cut { cuts: cuts.clone(), ts }),
            Self::Pruned { calls, images, bytes } => {
                let (calls, images) = (calls.clone(), images.clone());
                Record::Prune(record::Prune { calls, images, bytes: *bytes, ts })
            }
            Self::UsageReported(usage) => Record::Usage(record::UsageRecord { usage: *usage, ts }),
            Self::Error { command: None, kind, message, .. } => {
                Record::Error(record::ErrorRecord { kind: *kind, message: message.clone(), ts })
            }
            Self::McpChanged(server) if server.error.is_some() => {
                Record::Error(record::ErrorRecord { kind: ErrorKind::Tool, message: server.fault(), ts })
            }
            Self::Checked(checked) => Record::Checked(record::Checked { checked: checked.clone(), ts }),
            Self::Notice { level, message, kept: true } => {
                Record::Noted(record::Noted { level: *level, message: message.clone(), ts })
            }
            // That one was interrupted is a record of its own.
            Self::TurnFinished(summary) if summary.begun && summary.outcome != Outcome::Interrupted => {
                Record::TurnEnd(turn_end(summary, ts))
            }
            Self::Interrupted => Record::Interrupted(record::Interrupted::at(ts)),
            Self::SessionStarted(_)
            | Self::CheckTold(_)
            | Self::StateChanged { .. }
            | Self::ReasoningDelta { .. }
            | Self::AssistantDelta { .. }
            | Self::ToolAnnounced { .. }
            | Self::ToolGrew { .. }
            | Self::ToolStarted { .. }
            | Self::ToolProgress { .. }
            | Self::McpChanged(_)
            | Self::ToolsChanged { .. }
            | Self::TrustRequested(_)
            | Self::TrustResolved { .. }
            | Self::Replayed { .. }
            | Self::Exported { .. }
            | Self::Done { .. }
            | Self::Reply { .. }
            // What a front end asked for in vain is no part of the conversation.
            | Self::Error { .. }
            | Self::ContextUsage(_)
            | Self::Retrying { .. }
            | Self::Notice { .. }
            | Self::TurnFinished(_) => return None,
        })
    }
}

/// The origin a call is recorded with; None for calls that whoever asked for them records in another way.
fn recorded(origin: CallOrigin) -> Option<ToolUseOrigin> {
    match origin {
        CallOrigin::Model => Some(ToolUseOrigin::Model),
        CallOrigin::Remote => Some(ToolUseOrigin::Remote),
        CallOrigin::Check => Some(ToolUseOrigin::Check),
        CallOrigin::User | CallOrigin::Command | CallOrigin::Subagent => None,
    }
}

fn turn_end(summary: &TurnSummary, ts: Timestamp) -> record::TurnEnd {
    let TurnSummary { outcome, usage, denied, duration_ms, cut_short, .. } = *summary;
    record::TurnEnd { outcome, usage, denied, duration_ms, cut_short, ts }
}
