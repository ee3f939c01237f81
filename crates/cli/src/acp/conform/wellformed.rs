//! Is it as the protocol has it? What is unknown altogether passes: later versions have more.

use std::collections::HashSet;

use serde_json::Value;

const KINDS: &[&str] =
    &["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"];
const STATUSES: &[&str] = &["pending", "in_progress", "completed", "failed"];
const PRIORITIES: &[&str] = &["high", "medium", "low"];
const ANSWERS: &[&str] = &["allow_once", "allow_always", "reject_once", "reject_always"];

type Checked = Result<(), String>;

fn require(holds: bool, why: &str) -> Checked {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

fn text(value: &Value, field: &str) -> Checked {
    require(value[field].is_string(), &format!("`{field}` is missing or no text"))
}

/// One of these, or not said.
fn among(value: &Value, field: &str, words: &[&str]) -> Checked {
    match &value[field] {
        Value::Null => Ok(()),
        Value::String(word) if words.contains(&word.as_str()) => Ok(()),
        other => Err(format!("`{field}` is {other}")),
    }
}

fn each(value: &Value, field: &str, check: impl Fn(&Value) -> Checked) -> Checked {
    match &value[field] {
        Value::Array(all) => all.iter().try_for_each(check),
        _ => Err(format!("`{field}` is missing or no array")),
    }
}

/// The same, but it may be left out.
fn any(value: &Value, field: &str, check: impl Fn(&Value) -> Checked) -> Checked {
    if value[field].is_null() { Ok(()) } else { each(value, field, check) }
}

pub(super) fn update(update: &Value) -> Checked {
    match update["sessionUpdate"].as_str() {
        Some("user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk") => {
            block(&update["content"])
        }
        Some("tool_call") => {
            text(update, "title")?;
            call(update)
        }
        Some("tool_call_update") => call(update),
        Some("plan") => each(update, "entries", |entry| {
            text(entry, "content")?;
            text(entry, "priority")?;
            text(entry, "status")?;
            among(entry, "priority", PRIORITIES)?;
            among(entry, "status", &STATUSES[..3])
        }),
        Some("available_commands_update") => each(update, "availableCommands", |command| {
            text(command, "name")?;
            text(command, "description")
        }),
        Some("current_mode_update") => text(update, "currentModeId"),
        Some("config_option_update") => each(update, "configOptions", |option| {
            text(option, "id")?;
            text(option, "name")
        }),
        Some("usage_update") => {
            require(update["used"].is_number() && update["size"].is_number(), "`used` or `size` is no number")
        }
        Some(_) => Ok(()),
        None => Err("`sessionUpdate` is missing".to_owned()),
    }
}

fn block(block: &Value) -> Checked {
    match block["type"].as_str() {
        Some("text") => text(block, "text"),
        Some("image" | "audio") => {
            text(block, "data")?;
            text(block, "mimeType")
        }
        Some("resource_link") => {
            text(block, "uri")?;
            text(block, "name")
        }
        Some("resource") => text(&block["resource"], "uri"),
        Some(_) => Ok(()),
        None => Err("the content has no `type`".to_owned()),
    }
}

fn call(call: &Value) -> Checked {
    text(call, "toolCallId")?;
    among(call, "kind", KINDS)?;
    among(call, "status", STATUSES)?;
    any(call, "locations", |location| {
        text(location, "path")?;
        let absolute = location["path"].as_str().is_some_and(|path| path.starts_with('/'));
        require(absolute, "the path of a location is not absolute")
    })?;
    any(call, "content", |content| match content["type"].as_str() {
        Some("content") => block(&content["content"]),
        Some("diff") => {
            text(content, "path")?;
            text(content, "newText")?;
            let absolute = content["path"].as_str().is_some_and(|path| path.starts_with('/'));
            require(absolute, "the path of a diff is not absolute")
        }
        Some("terminal") => text(content, "terminalId"),
        Some(_) => Ok(()),
        None => Err("the content of a call has no `type`".to_owned()),
    })
}

/// The first update of a call that was not told of.
pub(super) fn unannounced(told: &[(Value, String)]) -> Option<String> {
    let mut known = HashSet::new();
    for (update, line) in told {
        let id = update["toolCallId"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => {
                known.insert(id);
            }
            Some("tool_call_update") if !known.contains(id) => return Some(line.clone()),
            Some(_) | None => {}
        }
    }
    None
}

/// What the agent asks of its client.
pub(super) fn request(method: &str, params: &Value) -> Checked {
    let absolute = |field: &str| {
        require(
            params[field].as_str().is_some_and(|path| path.starts_with('/')),
            &format!("`{field}` is not absolute"),
        )
    };
    match method {
        "fs/read_text_file" => {
            text(params, "sessionId")?;
            absolute("path")
        }
        "fs/write_text_file" => {
            text(params, "sessionId")?;
            text(params, "content")?;
            absolute("path")
        }
        "session/request_permission" => {
            text(params, "sessionId")?;
            call(&params["toolCall"])?;
            each(params, "options", |option| {
                text(option, "optionId")?;
                text(option, "name")?;
                text(option, "kind")?;
                among(option, "kind", ANSWERS)
            })
        }
        "terminal/create" => {
            text(params, "sessionId")?;
            text(params, "command")
        }
        "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release" => {
            text(params, "sessionId")?;
            text(params, "terminalId")
        }
        custom if custom.starts_with('_') => Ok(()),
        other => Err(format!("{other} was not offered to it")),
    }
}
