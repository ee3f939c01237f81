//! What a server says that it has: tools, prompts, resources. Plain data, as it is kept from one run to the next.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// What is told of a tool in a request; the rest of an endless description is of no use there.
const LONGEST_DESCRIPTION: usize = 2_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerListing {
    /// What it calls itself, with its version.
    pub version: Option<String>,
    pub tools: Vec<ListedTool>,
    #[serde(default)]
    pub prompts: Vec<ListedPrompt>,
    #[serde(default)]
    pub resources: Vec<ListedResource>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedTool {
    pub name: String,
    pub description: String,
    /// An object, whatever the server gave.
    pub schema: Value,
    /// The server says that it changes nothing: a hint, which nobody checks.
    #[serde(default)]
    pub reads_only: bool,
    /// It can only be run as a task, which zdx does not do.
    #[serde(default)]
    pub needs_task: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedPrompt {
    pub name: String,
    pub description: String,
    /// In the order in which they are given, each with whether it must be.
    pub arguments: Vec<(String, bool)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedResource {
    pub uri: String,
    pub name: String,
}

impl ServerListing {
    /// A server that lists the same in another order has not changed.
    pub fn sorted(mut self) -> Self {
        self.tools.sort_by(|a, b| a.name.cmp(&b.name));
        self.prompts.sort_by(|a, b| a.name.cmp(&b.name));
        self.resources.sort_by(|a, b| a.uri.cmp(&b.uri));
        self
    }
}

impl ListedTool {
    /// As models take it: an object with properties, without what says nothing to them.
    pub fn schema_of(mut given: Map<String, Value>) -> Value {
        given.shift_remove("$schema");
        if given.get("type") != Some(&json!("object")) {
            given.insert("type".to_owned(), json!("object"));
        }
        if !given.get("properties").is_some_and(Value::is_object) {
            given.insert("properties".to_owned(), json!({}));
        }
        Value::Object(given)
    }

    pub fn short_description(&self) -> String {
        let text = self.description.trim();
        match text.len() > LONGEST_DESCRIPTION {
            true => format!("{}…", &text[..text.floor_char_boundary(LONGEST_DESCRIPTION)]),
            false => text.to_owned(),
        }
    }

    /// The whole hash of everything that a model and a person go by. A grant is tied to it, so a shortened one would let a
    /// server exchange the tool for one made to collide.
    pub fn digest(&self) -> String {
        // The order of an object's keys says nothing, and some servers have another one in every run.
        let mut schema = self.schema.clone();
        schema.sort_all_objects();
        let shown = json!([self.name, self.description, schema, self.reads_only]).to_string();
        Sha256::digest(shown.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: Value) -> ListedTool {
        let (name, description) = (name.to_owned(), String::new());
        ListedTool { name, description, schema, reads_only: false, needs_task: false }
    }

    #[test]
    fn another_order_is_the_same() {
        let list = |names: [&str; 3]| {
            let tools = names.map(|name| tool(name, json!({}))).into();
            let resource = |name: &str| ListedResource { uri: name.to_owned(), name: String::new() };
            ServerListing { tools, resources: names.map(resource).into(), ..ServerListing::default() }
                .sorted()
        };
        assert_eq!(list(["b", "a", "c"]), list(["c", "b", "a"]));
        let one = tool("x", json!({"type": "object", "properties": {"a": {"b": 1, "c": [2, 3]}}}));
        let other = tool("x", json!({"properties": {"a": {"c": [2, 3], "b": 1}}, "type": "object"}));
        assert_eq!(one.digest(), other.digest());
        let changed = tool("x", json!({"properties": {"a": {"c": [3, 2], "b": 1}}, "type": "object"}));
        assert_ne!(one.digest(), changed.digest());
        assert_eq!(one.digest().len(), 64, "a grant is tied to the whole hash");
    }
}
