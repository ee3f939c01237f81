//! What the calls of a conversation tell: files touched, what failed and was not put right, skills, what was done.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;
use zdx_protocol::compaction::{Compaction, DroppedCall, FileTouched, LoadedSkill, Touch};
use zdx_protocol::conversation::{Called, calls};
use zdx_protocol::display::labels;
use zdx_protocol::display::text::one_line;
use zdx_protocol::facts::{self, Touches};
use zdx_protocol::transcript::pruned_output;
use zdx_protocol::{Message, Part, Role, Todo, TodoStatus, ToolOutput};

use zdx_tools::patch_format::paths;

const MOST_CHANGED: usize = 60;
/// What was only read can be found again.
const MOST_READ: usize = 12;
const MOST_RISKS: usize = 6;
const MOST_CALLS: usize = 200;
const CALL_COLUMNS: usize = 160;
/// A person's list may be longer; the list itself is kept whole beside this.
const MOST_STEPS: usize = 8;

#[derive(Default)]
pub(crate) struct Gathered {
    pub files: Vec<FileTouched>,
    pub risks: Vec<String>,
    pub skills: Vec<LoadedSkill>,
    pub calls: Calls,
}

/// Calls with their ids, oldest first, the newest of them only.
#[derive(Clone, Default)]
pub(crate) struct Calls {
    pub newest: Vec<(String, DroppedCall)>,
    pub earlier: u64,
}

impl Calls {
    /// Forgets the calls that are not in these messages, then all but the newest.
    pub(crate) fn only_of(&mut self, messages: &[Message]) {
        let ids: HashSet<&str> = calls(messages).map(|call| call.id).collect();
        self.newest.retain(|(id, _)| ids.contains(id.as_str()));
        let earlier = self.newest.len().saturating_sub(MOST_CALLS);
        self.newest.drain(..earlier);
        self.earlier += earlier as u64;
    }
}

/// Goes through what came since the last compaction, and on from what that one knew.
pub(crate) fn gather(messages: &[Message], carried: Option<&Compaction>) -> Gathered {
    let mut gathered = Gathered::default();
    if let Some(carried) = carried {
        gathered.files.clone_from(&carried.files);
        gathered.risks.clone_from(&carried.risks);
        gathered.skills.clone_from(&carried.skills);
    }
    for Called { id, name, arguments, output } in calls(messages) {
        if let Some(output) = output {
            gathered.call(id, name, &arguments.unpack().input(), &output.unpack());
        }
    }
    for path in attached(messages) {
        gathered.touch(path, Touch::Read);
    }
    keep_newest(&mut gathered.files);
    let surplus = gathered.risks.len().saturating_sub(MOST_RISKS);
    gathered.risks.drain(..surplus);
    gathered
}

/// Files that the user attached, by the names he gave them.
fn attached(messages: &[Message]) -> impl Iterator<Item = String> {
    let told = messages.iter().filter(|message| message.role == Role::System);
    told.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Text(text) => Some(text.lines().next()?.strip_prefix("@file:")?.to_owned()),
        Part::Reasoning(_) | Part::ToolUse { .. } | Part::ToolResult { .. } => None,
    })
}

fn keep_newest(files: &mut Vec<FileTouched>) {
    let count = |change: Touch| files.iter().filter(|file| file.change == change).count();
    let mut changed = count(Touch::Changed).saturating_sub(MOST_CHANGED);
    let mut read = count(Touch::Read).saturating_sub(MOST_READ);
    files.retain(|file| {
        let surplus = match file.change {
            Touch::Changed => &mut changed,
            Touch::Read => &mut read,
        };
        let keep = *surplus == 0;
        *surplus = surplus.saturating_sub(1);
        keep
    });
}

impl Gathered {
    fn call(&mut self, id: &str, name: &str, input: &Value, output: &ToolOutput) {
        let call = one_line(&labels::call(name, input), CALL_COLUMNS);
        self.risks.retain(|risk| !risk.starts_with(&format!("{call}: ")));
        if failed(output) {
            let outcome = one_line(&labels::outcome(name, output), CALL_COLUMNS);
            self.risks.push(format!("{call}: {outcome}"));
        }
        if output.is_ok() {
            for (path, change) in touched(name, input) {
                self.touch(path, change);
            }
            self.skill(name, output);
        }
        let outcome = one_line(&labels::outcome_detail(name, output), CALL_COLUMNS);
        let silent = outcome.is_empty() || *output == pruned_output();
        let outcome = if silent { "done".to_owned() } else { outcome };
        self.calls.newest.push((id.to_owned(), DroppedCall { call, outcome }));
    }

    /// The newest last; what was changed stays changed when it is read again.
    fn touch(&mut self, path: String, change: Touch) {
        let before = self.files.iter().position(|file| file.path == path).map(|at| self.files.remove(at));
        let change = match before {
            Some(FileTouched { change: Touch::Changed, .. }) => Touch::Changed,
            Some(_) | None => change,
        };
        self.files.push(FileTouched { path, change });
    }

    fn skill(&mut self, name: &str, output: &ToolOutput) {
        let ToolOutput::Ok(data) = output else { return };
        let (Some(skill), Some(content)) = (data["name"].as_str(), data["content"].as_str()) else { return };
        if facts::SKILL.is(name) {
            self.skills.retain(|known| known.name != skill);
            self.skills.push(LoadedSkill { name: skill.to_owned(), content: content.to_owned() });
        }
    }
}

fn failed(output: &ToolOutput) -> bool {
    match output {
        ToolOutput::Err(_) => true,
        ToolOutput::Ok(data) => {
            data["timed_out"] == true || data["exit_code"].as_i64().is_some_and(|code| code != 0)
        }
    }
}

/// The files that a call names.
fn touched(name: &str, input: &Value) -> Vec<(String, Touch)> {
    let Some(facts) = facts::facts(name) else { return Vec::new() };
    let text = |field: &str| facts.given(input).text(field);
    let named = |field: &str| text(field).map(Cow::into_owned).into_iter().collect();
    let (paths, change): (Vec<String>, _) = match facts.touches {
        Touches::Reads(path) => (named(path), Touch::Read),
        Touches::Changes(path) => (named(path), Touch::Changed),
        Touches::Patches(patch) => (text(patch).map_or_else(Vec::new, |text| paths(&text)), Touch::Changed),
        Touches::Runs(_) | Touches::Nothing => return Vec::new(),
    };
    paths.into_iter().map(|path| (path, change)).collect()
}

/// Whether this call of a message loaded a skill.
pub(crate) fn is_skill(message: &Message, call: &str) -> bool {
    calls(std::slice::from_ref(message)).any(|called| called.id == call && facts::SKILL.is(called.name))
}

/// What the todo list says is to be done: what is in progress, then what waits.
pub(crate) fn next_steps(todos: &[Todo]) -> Vec<String> {
    let of = |status: TodoStatus| todos.iter().filter(move |todo| todo.status == status);
    let open = of(TodoStatus::InProgress).chain(of(TodoStatus::Pending));
    open.take(MOST_STEPS).map(|todo| one_line(&todo.content, CALL_COLUMNS)).collect()
}
