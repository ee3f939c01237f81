//! Tool calls as they come to be: the first word of one makes it, every later one adds to it or replaces what it names.

use serde_json::{Value, json};

use super::content::ToolContent;
use super::{list, text};

#[derive(Debug, Clone, PartialEq)]
pub struct Location {
    pub path: String,
    pub line: Option<u64>,
}

/// All that is known of a call so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    pub id: String,
    pub title: Option<String>,
    /// `read`, `edit`, `execute` …; whatever the agent says.
    pub kind: Option<String>,
    pub status: Option<String>,
    pub content: Vec<ToolContent>,
    pub locations: Vec<Location>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
}

impl Call {
    pub fn read(call: &Value) -> Self {
        let raw = |key: &str| call.get(key).filter(|value| !value.is_null()).cloned();
        Self {
            id: text(call, "toolCallId").unwrap_or_default(),
            title: text(call, "title"),
            kind: text(call, "kind"),
            status: text(call, "status"),
            content: list(call, "content").iter().map(ToolContent::read).collect(),
            locations: list(call, "locations").iter().filter_map(Location::read).collect(),
            raw_input: raw("rawInput"),
            raw_output: raw("rawOutput"),
        }
    }

    pub fn is_over(&self) -> bool {
        self.status.as_deref().is_some_and(ends)
    }
}

fn is_over(call: &Value) -> bool {
    call["status"].as_str().is_some_and(ends)
}

fn ends(status: &str) -> bool {
    matches!(status, "completed" | "failed" | "cancelled")
}

impl Location {
    fn read(location: &Value) -> Option<Self> {
        Some(Self { path: text(location, "path")?, line: location["line"].as_u64() })
    }
}

/// What an update is about, and what it is; not what it says.
const IDENTITY: [&str; 2] = ["toolCallId", "sessionUpdate"];

/// What may be long.
const BULKY: [&str; 3] = ["content", "rawInput", "rawOutput"];

/// A turn has seldom more; the oldest that are over are forgotten first.
const MOST: usize = 1000;

/// The calls of a session as they were sent, put together, in the order in which they were first heard of.
#[derive(Debug, Default)]
pub struct Calls(Vec<Value>);

impl Calls {
    /// All that was said of the call so far. Only what stands there counts: null and absent leave a field as it is. An
    /// update of a call that nobody announced makes it, and a second announcement only changes it.
    pub fn fold(&mut self, update: &Value) -> Value {
        let id = text(update, "toolCallId").unwrap_or_default();
        let at = match self.0.iter().rposition(|call| call["toolCallId"] == id.as_str()) {
            Some(at) => at,
            None => {
                self.make_room();
                self.0.push(json!({"toolCallId": id}));
                self.0.len() - 1
            }
        };
        let said = update.as_object().into_iter().flatten();
        for (key, value) in said.filter(|(key, value)| !value.is_null() && !IDENTITY.contains(&key.as_str()))
        {
            self.0[at][key] = value.clone();
        }
        let call = self.0[at].clone();
        if is_over(&call) {
            // Nothing of it is needed any more but what it was.
            if let Some(kept) = self.0[at].as_object_mut() {
                BULKY.iter().for_each(|key| drop(kept.remove(*key)));
            }
        }
        call
    }

    fn make_room(&mut self) {
        if self.0.len() >= MOST {
            let at = self.0.iter().position(is_over).unwrap_or(0);
            self.0.remove(at);
        }
    }

    /// Those that have not come to an end.
    pub fn open(&self) -> impl Iterator<Item = Call> {
        self.0.iter().filter(|call| !is_over(call)).map(Call::read)
    }
}
