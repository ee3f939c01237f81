//! `zdx sessions compaction`: for each time a session was compacted, what left the context and what stayed.

use zdx_protocol::compaction::{Author, Compaction, Trigger};
use zdx_protocol::display::format::{count, size};
use zdx_protocol::display::{json_safe, plain};
use zdx_protocol::{Record, TodoStatus};

use super::{print, warn};
use crate::args::Format;
use crate::exit::{Ending, Failure};
use crate::settings::Settings;

pub fn show(settings: &Settings, id: &str) -> Result<Ending, Failure> {
    let store = settings.sessions();
    let id = store.find(id).map_err(Failure::runtime)?;
    let (mut text, mut number) = (String::new(), 0);
    let add = |record: Record| match (&record, settings.format) {
        (Record::Compaction(compaction), Format::Text) => {
            number += 1;
            text.push_str(&plain(&describe(number, compaction)));
        }
        // What was read from a line can be written as one again.
        (Record::Compaction(_), Format::Json) => {
            let line = record.to_line().unwrap_or_default();
            text.push_str(&json_safe(&String::from_utf8_lossy(&line)));
        }
        _ => {}
    };
    store.scan(id, add).map_err(Failure::runtime)?;
    if text.is_empty() && settings.format == Format::Text {
        warn(settings, &["this session was never compacted: the model still sees all of it".to_owned()]);
    }
    print(text)
}

fn describe(number: usize, compaction: &Compaction) -> String {
    let Compaction { dropped, kept, instructions, todos, files, skills, .. } = compaction;
    let why = match compaction.trigger {
        Trigger::Auto => "the context was nearly full",
        Trigger::Asked => "asked for",
        Trigger::Refused => "the server refused the request as too long",
    };
    let author = match compaction.author {
        Author::Model => "the model",
        Author::Session => "zdx, from the session itself",
    };
    let messages = usize::try_from(dropped.messages).unwrap_or(usize::MAX);
    let mut text = format!("compaction {number} · {} · {why}\n", compaction.ts);
    text.push_str(&format!("dropped {} ({})\n", count(messages, "message"), size(dropped.bytes)));
    if dropped.earlier_calls > 0 {
        text.push_str(&format!("  {} earlier calls\n", dropped.earlier_calls));
    }
    for step in &dropped.calls {
        text.push_str(&format!("  {} -> {}\n", step.call, step.outcome));
    }
    let open = todos.iter().filter(|todo| todo.status != TodoStatus::Completed).count();
    text.push_str(&format!(
        "kept {}, {} word for word, {} ({open} open), {}, {}\n",
        count(kept.len(), "message"),
        count(instructions.len(), "prompt"),
        count(todos.len(), "todo"),
        count(files.len(), "file name"),
        count(skills.len(), "skill"),
    ));
    if compaction.instructions_omitted > 0 {
        text.push_str(&format!("  {} prompts found no room\n", compaction.instructions_omitted));
    }
    for name in &compaction.skills_omitted {
        text.push_str(&format!("  the skill {name} found no room\n"));
    }
    text.push_str(&format!("summary by {author}\n"));
    for line in compaction.summary.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text.push('\n');
    text
}
