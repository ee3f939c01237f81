//! The tools of a session, in the order a model is told them.
//! Knows no tool's business: it finds them by name.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use zdx_protocol::ToolSpec;
use zdx_protocol::facts::{self, ToolFacts};

use super::Tool;
use super::bash::BashTool;
use super::edit::EditTool;
use super::glob::GlobTool;
use super::grep::GrepTool;
use super::list::ListTool;
use super::patch::PatchTool;
use super::read::ReadTool;
use super::todo::{TodoReadTool, TodoWriteTool};
use super::write::WriteTool;

/// An ordered set of tools; names are unique.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: Vec<Arc<dyn Tool>>,
    /// Behind the others, so that what comes and goes here moves none of them.
    more: Option<Arc<dyn DynamicTools>>,
}

/// Tools that come and go while a session runs.
pub trait DynamicTools: Send + Sync {
    /// Those that a model is told of at this moment.
    fn told(&self) -> Vec<Arc<dyn Tool>>;

    /// By its name, whether a model is told of it or not.
    fn find(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// Before a request: waits for what is worth waiting for. What is to be said of it.
    fn settle<'a>(&'a self, cancel: &'a CancellationToken) -> BoxFuture<'a, Vec<String>>;
}

impl ToolRegistry {
    /// What every session has.
    pub fn standard() -> Self {
        let mut registry = Self::default();
        registry.add(Arc::new(ReadTool::default()));
        registry.add(Arc::new(WriteTool::default()));
        registry.add(Arc::new(EditTool::default()));
        registry.add(Arc::new(BashTool::default()));
        registry.add(Arc::new(PatchTool::default()));
        registry.add(Arc::new(ListTool::default()));
        registry.add(Arc::new(GlobTool::default()));
        registry.add(Arc::new(GrepTool::default()));
        registry.add(Arc::new(TodoReadTool::default()));
        registry.add(Arc::new(TodoWriteTool::default()));
        registry
    }

    /// A tool of the same name is replaced in its place, so that the order a model has seen stays.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        let name = &tool.spec().name;
        match self.tools.iter().position(|known| known.spec().name == *name) {
            Some(at) => self.tools[at] = tool,
            None => self.tools.push(tool),
        }
    }

    pub fn extend(&mut self, more: Arc<dyn DynamicTools>) {
        self.more = Some(more);
    }

    /// Before a request, see [`DynamicTools::settle`].
    pub async fn settle(&self, cancel: &CancellationToken) -> Vec<String> {
        match &self.more {
            Some(more) => more.settle(cancel).await,
            None => Vec::new(),
        }
    }

    pub fn has_more(&self) -> bool {
        self.more.is_some()
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        let more = self.more.as_ref().map(|more| more.told()).unwrap_or_default();
        self.tools.iter().chain(&more).map(|tool| tool.spec().clone()).collect()
    }

    pub fn names(&self) -> impl Iterator<Item = String> {
        self.specs().into_iter().map(|spec| spec.name.into_owned())
    }

    /// By its own name, then by one that is known for it, then without regard to case.
    pub fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.named(name, facts::facts(name))
    }

    /// The tool that a call means: of two that go by its name, the one whose arguments it brings.
    pub fn called(&self, name: &str, input: Option<&Map<String, Value>>) -> Option<Arc<dyn Tool>> {
        self.named(name, facts::called(name, input))
    }

    fn named(&self, name: &str, facts: Option<&ToolFacts>) -> Option<Arc<dyn Tool>> {
        let name = name.trim();
        let by = |fits: &dyn Fn(&str) -> bool| self.tools.iter().find(|tool| fits(&tool.spec().name));
        by(&|own| own == name)
            .or_else(|| by(&|own| facts.is_some_and(|facts| facts.name == own)))
            .cloned()
            .or_else(|| self.more.as_ref().and_then(|more| named_more(&**more, name, facts)))
            .or_else(|| by(&|own| own.eq_ignore_ascii_case(name)).cloned())
    }
}

fn named_more(more: &dyn DynamicTools, name: &str, facts: Option<&ToolFacts>) -> Option<Arc<dyn Tool>> {
    more.find(name).or_else(|| facts.and_then(|facts| more.find(facts.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_told_the_same_in_the_same_order() {
        let specs = ToolRegistry::standard().specs();
        let names: Vec<&str> = specs.iter().map(|spec| &*spec.name).collect();
        assert_eq!(
            names,
            ["read", "write", "edit", "bash", "patch", "list", "glob", "grep", "todoread", "todowrite"]
        );
        for spec in &specs {
            assert_eq!(spec.schema["type"], "object", "{}", spec.name);
            assert_eq!(spec.schema["additionalProperties"], false, "{}", spec.name);
        }
    }

    /// All of them travel with every request.
    #[test]
    fn what_a_model_is_told_is_short() {
        let size = |spec: &ToolSpec| spec.name.len() + spec.description.len() + spec.schema.to_string().len();
        let specs = ToolRegistry::standard().specs();
        for spec in &specs {
            assert!(size(spec) <= 900, "{}: {} bytes", spec.name, size(spec));
        }
        let all: usize = specs.iter().map(size).sum();
        assert!(all <= 5500, "{all} bytes");
    }

    #[test]
    fn other_spellings_find_the_tool() {
        let registry = ToolRegistry::standard();
        let found = |name: &str| registry.find(name).map(|tool| tool.spec().name.to_string());
        for (said, meant) in [
            ("read", "read"),
            ("Read", "read"),
            ("read_file", "read"),
            ("ReadFile", "read"),
            ("write_file", "write"),
            ("str_replace", "edit"),
            ("Edit", "edit"),
            ("shell", "bash"),
            (" run_shell_command ", "bash"),
            ("list_files", "list"),
            ("search_text", "grep"),
            ("apply_patch", "patch"),
            ("todo_write", "todowrite"),
            ("TodoWrite", "todowrite"),
            ("todo", "todowrite"),
        ] {
            assert_eq!(found(said).as_deref(), Some(meant), "{said}");
        }
        assert_eq!(found("rm"), None);
    }

    /// What a model is told of a tool's arguments, and what is known of their spellings, is about the same arguments.
    #[test]
    fn each_tool_has_its_facts() {
        for spec in ToolRegistry::standard().specs() {
            let facts = facts::facts(&spec.name).unwrap_or_else(|| panic!("{} has no facts", spec.name));
            assert_eq!(facts.name, spec.name);
            for name in spec.schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
                let known = facts.arguments.iter().any(|argument| argument.name == name);
                assert!(known, "{} {name}", spec.name);
            }
        }
    }

    #[test]
    fn a_tool_of_the_same_name_takes_the_place() {
        let mut registry = ToolRegistry::standard();
        registry.add(Arc::new(ReadTool::default()));
        assert_eq!(registry.specs().len(), 10);
        assert_eq!(registry.specs()[0].name, "read");
    }
}
