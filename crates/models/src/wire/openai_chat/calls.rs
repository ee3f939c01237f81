//! Puts tool calls together from deltas, whatever a server does with indexes, ids and names.

use serde::Deserialize;
use serde_json::Value;
use zdx_protocol::ToolCall;

use super::super::{Ids, lenient};
use crate::ModelEvent;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta {
    pub index: Option<u64>,
    pub id: Option<String>,
    pub function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta {
    pub name: Option<String>,
    /// A string as a rule; some servers send the object itself.
    pub arguments: Value,
}

#[derive(Default)]
pub(super) struct Calls {
    open: Vec<Open>,
}

struct Open {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    pub fn any(&self) -> bool {
        !self.open.is_empty()
    }

    /// Says when the name became known with this delta, and what came of the arguments.
    pub fn push(&mut self, delta: CallDelta) -> impl Iterator<Item = ModelEvent> + use<> {
        let CallDelta { index, id, function } = delta;
        let id = id.unwrap_or_default();
        let FunctionDelta { name, arguments } = function.unwrap_or_default();
        let name = name.unwrap_or_default();
        let arguments = match arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let at = self.belongs_to(index, &id, &name, &arguments).unwrap_or_else(|| {
            self.open.push(Open { index, id: String::new(), name: String::new(), arguments: String::new() });
            self.open.len() - 1
        });
        let call = &mut self.open[at];
        if call.id.is_empty() {
            call.id = id;
        }
        call.arguments.push_str(&arguments);
        let known = Some(call.id.clone()).filter(|id| !id.is_empty());
        let begins = call.name.is_empty() && !name.is_empty();
        let started = begins.then(|| ModelEvent::ToolCallStarted { id: known.clone(), name: name.clone() });
        if begins {
            call.name = name;
        }
        let named = known.filter(|_| !call.name.is_empty() && !arguments.is_empty());
        let more = named.map(|id| ModelEvent::ToolCallArguments { id, more: arguments });
        started.into_iter().chain(more)
    }

    /// Which open call a delta continues; `None` for a new one.
    fn belongs_to(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let at = match (index, id, name) {
            (Some(index), ..) => self.open.iter().rposition(|call| call.index == Some(index))?,
            // Without an index an id decides; without both a name begins a call and the rest continues the last.
            (None, "", "") => return self.open.len().checked_sub(1),
            (None, "", _) => return None,
            (None, id, _) => self.open.iter().rposition(|call| call.id == id)?,
        };
        let call = &self.open[at];
        // A new id at an open index is a new call: some servers number every call 0.
        let other_id = !id.is_empty() && !call.id.is_empty() && id != call.id;
        // The same without ids, or with one id for all calls (Xinference): the open call is whole, and a name comes again
        // with arguments of its own.
        let whole_again = !name.is_empty()
            && !arguments.is_empty()
            && call.arguments.ends_with('}')
            && serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok();
        let own_arguments = id.is_empty() || (arguments.starts_with('{') && call.arguments != "{}");
        let is_new = other_id || (whole_again && own_arguments);
        (!is_new).then_some(at)
    }

    pub fn finish(&mut self, ids: &mut Ids) -> Vec<ToolCall> {
        // A call that never got a name or an argument is a server's stray delta, not the model's wish.
        let real = |call: &Open| !call.name.is_empty() || !call.arguments.trim().is_empty();
        let whole = |call: Open| ToolCall {
            id: if call.id.is_empty() { ids.make() } else { call.id },
            name: call.name,
            arguments: lenient::arguments(&call.arguments),
            signature: None,
        };
        std::mem::take(&mut self.open).into_iter().filter(real).map(whole).collect()
    }
}
