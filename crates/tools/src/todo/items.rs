//! A todo list as models send it, and the list that is meant.
//! Patient about spelling; strict about ids, statuses and what is being worked on.

use std::collections::HashSet;

use serde_json::{Map, Value};
use zdx_protocol::facts::TODOWRITE;
use zdx_protocol::{Todo, TodoStatus, ToolError};

use super::super::input::{ToolInput, invalid};

const MOST_ITEMS: usize = 200;
const LONGEST_CONTENT: usize = 2000;
const LONGEST_ID: usize = 100;

const CONTENT_NAMES: [&str; 7] = ["content", "text", "task", "step", "title", "description", "name"];

pub(super) fn read(input: Map<String, Value>) -> Result<Vec<Todo>, ToolError> {
    let list = match ToolInput::new(&TODOWRITE, input).any("items") {
        // Some models encode the list a second time.
        Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Some(list) => list,
        None => return Err(invalid("`items` is missing: a list of {id, content, status} is expected")),
    };
    let Value::Array(list) = list else {
        return Err(invalid("`items` must be a list of {id, content, status}"));
    };
    if list.len() > MOST_ITEMS {
        return Err(invalid(format!("{} items are too many: at most {MOST_ITEMS}", list.len())));
    }
    let drafts = list.into_iter().enumerate().map(|(at, item)| TodoDraft::read(item, at + 1));
    finish(drafts.collect::<Result<_, _>>()?)
}

/// One item as it came; its id may be missing.
struct TodoDraft {
    id: Option<String>,
    content: String,
    status: TodoStatus,
}

impl TodoDraft {
    fn read(item: Value, number: usize) -> Result<Self, ToolError> {
        let mut item = match item {
            Value::Object(item) => item,
            Value::String(text) => Map::from_iter([("content".to_owned(), Value::String(text))]),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                return Err(invalid(format!("item {number} must be an object with id, content and status")));
            }
        };
        let content = CONTENT_NAMES.iter().find_map(|name| match item.remove(*name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            _ => None,
        });
        let Some(content) = content else {
            return Err(invalid(format!("item {number} has no `content`: say what is to be done")));
        };
        if content.len() > LONGEST_CONTENT {
            return Err(invalid(format!(
                "the content of item {number} is too long: at most {LONGEST_CONTENT} bytes"
            )));
        }
        let id = match item.remove("id") {
            Some(Value::String(id)) if !id.trim().is_empty() => Some(id.trim().to_owned()),
            Some(Value::Number(id)) => Some(id.to_string()),
            Some(Value::String(_) | Value::Null) | None => None,
            Some(_) => return Err(invalid(format!("the id of item {number} must be text"))),
        };
        if id.as_ref().is_some_and(|id| id.len() > LONGEST_ID) {
            return Err(invalid(format!("the id of item {number} is too long: at most {LONGEST_ID} bytes")));
        }
        let said = item.remove("status").or_else(|| item.remove("state"));
        Ok(Self { id, content, status: status(said, number)? })
    }
}

fn status(said: Option<Value>, number: usize) -> Result<TodoStatus, ToolError> {
    let said = match said {
        None | Some(Value::Null) => return Ok(TodoStatus::Pending),
        Some(Value::String(said)) => said,
        Some(other) => other.to_string(),
    };
    let plain = said.trim().to_lowercase().replace([' ', '-'], "_");
    match plain.as_str() {
        "pending" | "todo" | "open" | "not_started" | "planned" | "" | "[_]" => Ok(TodoStatus::Pending),
        "in_progress" | "inprogress" | "doing" | "active" | "started" | "current" | "[~]" => {
            Ok(TodoStatus::InProgress)
        }
        "completed" | "complete" | "done" | "finished" | "[x]" => Ok(TodoStatus::Completed),
        _ => {
            let said: String = said.chars().take(40).collect();
            Err(invalid(format!(
                "item {number} has the status {said:?}; it must be pending, in_progress or completed (leave out what \
                 is no longer to be done)"
            )))
        }
    }
}

/// Missing ids become numbers nobody else has.
fn finish(drafts: Vec<TodoDraft>) -> Result<Vec<Todo>, ToolError> {
    let mut taken: HashSet<String> = HashSet::new();
    if let Some(twice) =
        drafts.iter().filter_map(|draft| draft.id.clone()).find(|id| !taken.insert(id.clone()))
    {
        return Err(invalid(format!("the id {twice:?} stands twice in the list: each item needs its own")));
    }
    let active = drafts.iter().filter(|draft| draft.status == TodoStatus::InProgress).count();
    if active > 1 {
        return Err(invalid(format!(
            "{active} items are in_progress; at most one may be, the others are pending or completed"
        )));
    }
    let mut next = 1;
    let mut todos = Vec::with_capacity(drafts.len());
    for TodoDraft { id, content, status } in drafts {
        let id = id.unwrap_or_else(|| {
            loop {
                let id = next.to_string();
                next += 1;
                if taken.insert(id.clone()) {
                    break id;
                }
            }
        });
        todos.push(Todo { id, content, status });
    }
    Ok(todos)
}
