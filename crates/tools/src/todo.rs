//! `todoread` and `todowrite`: the session's own list of what is to be done.
//! Holds the list; saving and telling a change is the turn's business.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use zdx_protocol::facts::{TODOREAD, TODOWRITE};
use zdx_protocol::todo::checklist;
use zdx_protocol::{Action, Preview, Todo, ToolError, ToolOutput, ToolSpec};

use super::{PreparedCall, Tool, ToolContext};

mod items;

/// The list of one session, shared by its tools.
#[derive(Default)]
pub struct TodoList {
    state: Mutex<TodoState>,
}

#[derive(Default)]
struct TodoState {
    items: Vec<Todo>,
    untold: bool,
    /// Made by zdx, for a model that has none yet.
    draft: bool,
}

impl TodoList {
    /// A list that is known already: what a resumed session left.
    pub fn new(items: Vec<Todo>) -> Self {
        Self { state: Mutex::new(TodoState { items, ..TodoState::default() }) }
    }

    pub fn items(&self) -> Vec<Todo> {
        self.lock().items.clone()
    }

    pub fn set(&self, items: Vec<Todo>) {
        let mut state = self.lock();
        let taken_up = std::mem::take(&mut state.draft);
        state.untold |= taken_up || state.items != items;
        state.items = items;
    }

    /// A list to start from, in place of none. Whoever sets it saves and tells it.
    pub fn set_draft(&self, items: Vec<Todo>) {
        *self.lock() = TodoState { items, untold: false, draft: true };
    }

    pub fn is_draft(&self) -> bool {
        self.lock().draft
    }

    /// True when there was a draft that nobody took up; now there is no list.
    pub fn drop_draft(&self) -> bool {
        let mut state = self.lock();
        let dropped = state.draft;
        if dropped {
            *state = TodoState::default();
        }
        dropped
    }

    /// The list as a session has it after going back: nobody needs to save it.
    pub fn reset(&self, items: Vec<Todo>) {
        *self.lock() = TodoState { items, ..TodoState::default() };
    }

    /// The list, if it changed since this was last asked: whoever asks must save and tell it.
    pub fn take_change(&self) -> Option<Vec<Todo>> {
        let mut state = self.lock();
        std::mem::take(&mut state.untold).then(|| state.items.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, TodoState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct TodoReadTool {
    spec: ToolSpec,
}

impl Default for TodoReadTool {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(TODOREAD.name),
            description: Cow::Borrowed("Read the todo list of this session."),
            schema: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        };
        Self { spec }
    }
}

impl Tool for TodoReadTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, _input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let todos = Arc::clone(&cx.todos);
        let run = move |_| {
            let items = todos.items();
            let mut data = json!({"items": items, "checklist": checklist(&items)});
            if todos.is_draft() {
                data["draft"] =
                    json!("nobody wrote this list yet: put the real steps in its place with todowrite");
            }
            std::future::ready(ToolOutput::Ok(data)).boxed()
        };
        Ok(PreparedCall {
            action: Action::Todo,
            preview: Preview::None,
            doomed: None,
            line: None,
            adds_mask: false,
            run: Box::new(run),
        })
    }
}

pub struct TodoWriteTool {
    spec: ToolSpec,
}

impl Default for TodoWriteTool {
    fn default() -> Self {
        let spec = ToolSpec {
            name: Cow::Borrowed(TODOWRITE.name),
            description: Cow::Borrowed(
                "Replace the whole todo list. Use it for work of two or more steps; keep at most one item in_progress and \
                 mark each completed as soon as it is.",
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "items": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": {"type": "string"},
                                "content": {"type": "string"},
                                "status": {"enum": ["pending", "in_progress", "completed"]}
                            },
                            "required": ["id", "content", "status"]
                        }
                    }
                },
                "required": ["items"],
                "additionalProperties": false
            }),
        };
        Self { spec }
    }
}

impl Tool for TodoWriteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, cx: &ToolContext) -> Result<PreparedCall, ToolError> {
        let items = items::read(input)?;
        let todos = Arc::clone(&cx.todos);
        let preview = Preview::Text { text: checklist(&items) };
        let run = move |_| {
            let output = ToolOutput::Ok(json!({"checklist": checklist(&items)}));
            todos.set(items);
            std::future::ready(output).boxed()
        };
        Ok(PreparedCall {
            action: Action::Todo,
            preview,
            doomed: None,
            line: None,
            adds_mask: false,
            run: Box::new(run),
        })
    }
}
