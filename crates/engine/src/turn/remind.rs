//! Keeps work of several steps on its list: a starter list where there is none, and hidden words to the model,
//! at the beginning and at every tenth prompt. A simple question is left alone.

use zdx_protocol::{Event, Prompt, Todo, TodoStatus, Transcript};

use super::TurnIo;

const EVERY: u32 = 10;
const TITLE: usize = 120;

pub async fn remind(prompt: &Prompt, io: &mut TurnIo<'_>) {
    let multi_step = prompt.is_multi_step();
    let transcript = io.emit.transcript();
    let Some(text) = reminder(multi_step, transcript) else { return };
    if multi_step && transcript.todos.is_empty() && io.persona.has("todowrite") {
        io.tools.todos.set(vec![starter(prompt)]);
        if let Some(items) = io.tools.todos.take_change() {
            io.emit.emit(Event::TodosChanged { items }).await;
        }
    }
    io.emit.emit(Event::Reminded { text }).await;
}

fn reminder(multi_step: bool, transcript: &Transcript) -> Option<String> {
    let first = multi_step && transcript.todos.is_empty();
    let open = transcript.todos.iter().any(|todo| todo.status != TodoStatus::Completed);
    let periodic =
        transcript.turns > 0 && (transcript.turns + 1).is_multiple_of(EVERY) && (multi_step || open);
    if first {
        Some(
            "This task has several steps. Before other tools, put them on the todo list with todowrite, one in \
             progress at a time, and keep it true as you go."
                .to_owned(),
        )
    } else if periodic {
        let list: Vec<String> = transcript.todos.iter().map(ToString::to_string).collect();
        Some(format!("Keep the todo list true with todowrite. It stands at:\n{}", list.join("\n")))
    } else {
        None
    }
}

/// What the user wants, in one line: the model replaces it by real steps.
fn starter(prompt: &Prompt) -> Todo {
    let line = prompt.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let content = zdx_protocol::display::text::one_line(line, TITLE);
    Todo { id: "1".to_owned(), content, status: TodoStatus::InProgress }
}
