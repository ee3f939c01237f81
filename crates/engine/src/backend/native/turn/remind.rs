//! Keeps work of several steps on its list: a draft of one where there is none, and hidden words to the model,
//! at the beginning and at every tenth prompt. A simple question is left alone, and so is what came through a pipe.

use std::sync::Arc;

use zdx_protocol::display::text::one_line;
use zdx_protocol::facts::TODOWRITE;
use zdx_protocol::{Event, Prompt, Todo, TodoStatus, Transcript};

use super::prompt_steps::{is_multi_step, listed_steps};
use crate::call::TurnIo;
use crate::history::file_changes;

const EVERY: u32 = 10;
const TITLE: usize = 120;
const MOST_STEPS: usize = 50;
/// For a task that names no steps itself.
const STEPS: [&str; 3] = ["look at what is there", "do what is asked", "check the result"];

/// A session that is gone on with may find files changed that the model believes it left otherwise.
pub(super) async fn remind_of_changes(io: &TurnIo) {
    let files = file_changes::net_changes(&io.session.events.transcript());
    if files.is_empty() {
        return;
    }
    let workspace = Arc::clone(io.session.workspace());
    let text = tokio::task::spawn_blocking(move || {
        let changed = file_changes::overtaken(&files, &workspace);
        file_changes::reminder(&changed, workspace.root())
    });
    if let Ok(Some(text)) = text.await {
        io.session.events.emit(Event::Reminded { text }).await;
    }
}

pub(super) async fn remind(prompt: &Prompt, io: &TurnIo) {
    if !io.persona.has(TODOWRITE.name) {
        return;
    }
    let multi_step = is_multi_step(prompt);
    let (reminder, idle) = {
        let transcript = io.session.events.transcript();
        (reminder(multi_step, &transcript), !is_open(&transcript))
    };
    let Some(text) = reminder else { return };
    // First, because a turn begins with it: going back takes the list along that came with the prompt.
    io.session.events.emit(Event::Reminded { text }).await;
    if multi_step && idle {
        let items = starter(prompt);
        io.session.state.tools.todos.set_draft(items.clone());
        io.session.events.emit(Event::TodosChanged { items, draft: true }).await;
    }
}

/// At the end of a turn: a draft that the model did not take up was of no use.
pub(super) async fn forget_draft(io: &TurnIo) {
    if io.session.state.tools.todos.drop_draft() {
        io.session.events.emit(Event::TodosChanged { items: Vec::new(), draft: false }).await;
    }
}

/// Something on the list is still to be done. A list that is done says nothing about the next task.
fn is_open(transcript: &Transcript) -> bool {
    transcript.todos.iter().any(|todo| todo.status != TodoStatus::Completed)
}

fn reminder(multi_step: bool, transcript: &Transcript) -> Option<String> {
    let open = is_open(transcript);
    let periodic = transcript.turns > 0 && (transcript.turns + 1).is_multiple_of(EVERY) && open;
    if multi_step && !open {
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

/// The user's own list, or steps that fit any task; never a piece of prose.
fn starter(prompt: &Prompt) -> Vec<Todo> {
    let listed = listed_steps(prompt);
    let steps = if listed.len() >= 2 { listed.as_slice() } else { STEPS.as_slice() };
    let todo = |(at, step): (usize, &&str)| Todo {
        id: (at + 1).to_string(),
        content: one_line(step, TITLE),
        status: if at == 0 { TodoStatus::InProgress } else { TodoStatus::Pending },
    };
    steps.iter().take(MOST_STEPS).enumerate().map(todo).collect()
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
        assert!(reminder(true, &after(3, &[TodoStatus::Completed])).is_some(), "that was another task");
        assert!(reminder(true, &after(3, &open)).is_none(), "it is at work on its list");
    }

    #[test]
    fn the_starter_is_the_users_list_or_steps_that_fit_any_task() {
        let list = |text: &str| zdx_protocol::todo::checklist(&starter(&Prompt::from(text)));
        assert_eq!(list("Please do this:\n  1. add a test\n  2. fix it"), "[~] add a test\n[ ] fix it");
        let neutral = "[~] look at what is there\n[ ] do what is asked\n[ ] check the result";
        assert_eq!(list("Add a flag --all and then document it."), neutral);
        assert_eq!(starter(&Prompt::from("- x\n".repeat(900).as_str())).len(), MOST_STEPS);
    }
}
