//! A saved session as text: what was said and done, in the order it happened. Written as it is read, so that
//! a session of any length needs no memory.

use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;

use zdx_protocol::display::{context, json_safe, labels, plain};
use zdx_protocol::{Record, Role};

use crate::args::Format;
use crate::output::write_all;

const CHUNK: usize = 64 << 10;

pub struct Replay<'a> {
    out: BorrowedFd<'a>,
    format: Format,
    buffer: Vec<u8>,
    /// Names of the calls whose results are still to come.
    calls: HashMap<String, String>,
    failed: Option<io::Error>,
}

impl<'a> Replay<'a> {
    pub fn new(format: Format, out: BorrowedFd<'a>) -> Self {
        Self { out, format, buffer: Vec::new(), calls: HashMap::new(), failed: None }
    }

    pub fn record(&mut self, record: &Record) {
        if self.failed.is_some() {
            return;
        }
        match self.format {
            Format::Json => {
                // What was read from a line can be written as one again.
                let line = record.to_line().unwrap_or_default();
                self.buffer.extend(json_safe(&String::from_utf8_lossy(&line)).as_bytes());
            }
            Format::Text => {
                let text = self.words(record);
                self.buffer.extend(plain(&text).as_bytes());
            }
        }
        if self.buffer.len() >= CHUNK {
            self.write();
        }
    }

    pub fn finish(mut self) -> io::Result<()> {
        self.write();
        self.failed.map_or(Ok(()), Err)
    }

    fn write(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.failed = self.failed.take().or(write_all(self.out, &buffer).err());
    }

    fn words(&mut self, record: &Record) -> String {
        match record {
            Record::Meta(meta) => {
                let root =
                    meta.root.as_deref().map(|root| format!(" · {}", root.display())).unwrap_or_default();
                let model = meta.model.as_deref().map(|model| format!(" · {model}")).unwrap_or_default();
                format!("session {} · {}{root}{model}\n", meta.id.as_deref().unwrap_or("?"), meta.ts)
            }
            Record::Message(message) if message.hidden => String::new(),
            Record::Message(message) => match message.role {
                Role::User => format!("\n> {}\n\n", message.text.trim_end().replace('\n', "\n> ")),
                Role::Assistant | Role::System if message.text.is_empty() => String::new(),
                Role::Assistant | Role::System => format!("{}\n", message.text.trim_end_matches('\n')),
            },
            Record::ToolUse(call) => {
                self.calls.insert(call.id.clone(), call.name.clone());
                format!("{}\n", labels::tool_requested(&call.name, &call.input))
            }
            Record::ToolResult(result) => {
                let name = self.calls.remove(&result.tool_use_id);
                format!("{}\n", labels::tool_finished(name.as_deref().unwrap_or("tool"), &result.output))
            }
            Record::Todos(todos) => todos.items.iter().map(|item| format!("{item}\n")).collect(),
            Record::Revert(revert) => format!("{}\n", labels::reverted(revert.turn, &revert.files)),
            Record::Redo(_) => "the revert was taken back\n".to_owned(),
            Record::Interrupted(_) => "interrupted\n".to_owned(),
            Record::Agent(change) => format!("agent: {}\n", change.agent),
            Record::Compaction(compaction) => format!("{}\n", context::compacted(compaction)),
            Record::Prune(prune) => format!("{}\n", context::pruned(prune.calls.len(), prune.bytes)),
            Record::Model(change) => format!("model: {}\n", change.model),
            Record::Error(error) => format!("error: {}\n", error.message),
            Record::Change(_)
            | Record::Reasoning(_)
            | Record::Approval(_)
            | Record::Usage(_)
            | Record::Unknown(_) => String::new(),
        }
    }
}
