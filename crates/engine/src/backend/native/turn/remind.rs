//! Keeps work of several steps on its list: a starter list where there is none, and hidden words to the model,
//! at the beginning and at every tenth prompt. A simple question is left alone.

use zdx_protocol::facts::TODOWRITE;
use zdx_protocol::{Event, Prompt, Todo, TodoStatus, Transcript};

use crate::call::TurnIo;

const EVERY: u32 = 10;
const TITLE: usize = 120;

pub(super) async fn remind(prompt: &Prompt, io: &TurnIo) {
    let multi_step = prompt.is_multi_step();
    let (reminder, listless) = {
        let transcript = io.emit.transcript();
        (reminder(multi_step, &transcript), transcript.todos.is_empty())
    };
    let Some(text) = reminder else { return };
    // First, because a turn begins with it: going back takes the list along that came with the prompt.
    io.emit.emit(Event::Reminded { text }).await;
    if multi_step && listless && io.persona.has(TODOWRITE.name) {
        io.tools.todos.set(vec![starter(prompt)]);
        if let Some(items) = io.tools.todos.take_change() {
            io.emit.emit(Event::TodosChanged { items }).await;
        }
    }
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

#[cfg(test)]
#[allow(clippy::field_reassign_with_default)]
mod tests {
    use super::*;

    fn after(turns: u32, todos: &[TodoStatus]) -> Transcript {
        let todo =
            |status: &TodoStatus| Todo { id: "1".to_owned(), content: "x".to_owned(), status: *status };
        let mut transcript = Transcript::default();
        transcript.turns = turns;
        transcript.todos = todos.iter().map(todo).collect();
        transcript
    }

    #[test]
    fn several_steps_are_reminded_of_at_first_and_at_every_tenth_prompt() {
        assert!(reminder(true, &after(0, &[])).is_some());
        assert!(reminder(false, &after(0, &[])).is_none(), "a simple question is left alone");
        let open = [TodoStatus::InProgress];
        let reminded: Vec<u32> = (1..30)
            .filter(|turns| reminder(false, &after(*turns, &open)).is_some())
            .map(|turns| turns + 1)
            .collect();
        assert_eq!(reminded, [10, 20, 30]);
        assert!(reminder(false, &after(9, &[TodoStatus::Completed])).is_none(), "the list is done");
    }

    #[test]
    fn the_starter_is_the_task_in_one_line() {
        let todo = starter(&Prompt::from("\n  1. add a test\n2. fix it"));
        assert_eq!((todo.content.as_str(), todo.status), ("1. add a test", TodoStatus::InProgress));
    }
}
