//! Tool calls as they come to be: the first word of one makes it, every later one adds to it or replaces what it names.

use serde_json::Value;

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
    /// What one update says of it, and nothing else.
    pub fn read(update: &Value) -> Self {
        let mut call = Self { id: text(update, "toolCallId").unwrap_or_default(), ..Self::default() };
        call.merge(update);
        call
    }

    /// Only what stands there counts: null and absent leave a field as it is.
    fn merge(&mut self, update: &Value) {
        let replace = |old: &mut Option<String>, key: &str| {
            if let Some(new) = text(update, key) {
                *old = Some(new);
            }
        };
        replace(&mut self.title, "title");
        replace(&mut self.kind, "kind");
        replace(&mut self.status, "status");
        if update["content"].is_array() {
            self.content = list(update, "content").iter().map(ToolContent::read).collect();
        }
        if update["locations"].is_array() {
            self.locations = list(update, "locations").iter().filter_map(Location::read).collect();
        }
        for (old, key) in [(&mut self.raw_input, "rawInput"), (&mut self.raw_output, "rawOutput")] {
            if let Some(new) = update.get(key).filter(|new| !new.is_null()) {
                *old = Some(new.clone());
            }
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self.status.as_deref(), Some("completed" | "failed" | "cancelled"))
    }
}

impl Location {
    fn read(location: &Value) -> Option<Self> {
        Some(Self { path: text(location, "path")?, line: location["line"].as_u64() })
    }
}

/// A turn has seldom more; the oldest that are over are forgotten first.
const MOST: usize = 1000;

/// The calls of a session, in the order in which they were first heard of.
#[derive(Debug, Default)]
pub struct Calls(Vec<Call>);

impl Calls {
    /// What is known of the call now. An update of one that nobody announced makes it, and a second announcement only
    /// changes it.
    pub fn fold(&mut self, update: &Value) -> &Call {
        let id = text(update, "toolCallId").unwrap_or_default();
        let at = match self.0.iter().rposition(|call| call.id == id) {
            Some(at) => at,
            None => {
                self.make_room();
                self.0.push(Call { id, ..Call::default() });
                self.0.len() - 1
            }
        };
        self.0[at].merge(update);
        &self.0[at]
    }

    fn make_room(&mut self) {
        if self.0.len() >= MOST {
            let at = self.0.iter().position(Call::is_over).unwrap_or(0);
            self.0.remove(at);
        }
    }

    /// Those that have not come to an end.
    pub fn open(&self) -> impl Iterator<Item = &Call> {
        self.0.iter().filter(|call| !call.is_over())
    }
}
