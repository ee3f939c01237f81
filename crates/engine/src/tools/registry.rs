//! The tools of a session, in the order a model is told them.
//! Knows no tool's business: it finds them by name.

use zdx_protocol::ToolSpec;

use super::Tool;

/// An ordered set of tools; names are unique.
#[derive(Default)]
pub struct Registry {
    tools: Vec<Box<dyn Tool>>,
}

impl Registry {
    /// `read`, `write`, `edit`, `bash`.
    pub fn standard() -> Self {
        Self::default()
    }

    /// A tool of the same name is replaced in its place, so that the order a model has seen stays.
    pub fn add(&mut self, tool: Box<dyn Tool>) {
        let name = &tool.spec().name;
        match self.tools.iter().position(|known| known.spec().name == *name) {
            Some(at) => self.tools[at] = tool,
            None => self.tools.push(tool),
        }
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// By name, then by alias, then either without regard to case.
    pub fn find(&self, name: &str) -> Option<&dyn Tool> {
        let name = name.trim();
        let by = |fits: &dyn Fn(&ToolSpec) -> bool| self.tools.iter().find(|tool| fits(tool.spec()));
        by(&|spec| spec.name == name)
            .or_else(|| by(&|spec| spec.aliases.contains(&name)))
            .or_else(|| by(&|spec| spec.name.eq_ignore_ascii_case(name)))
            .or_else(|| by(&|spec| spec.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))))
            .map(|tool| &**tool)
    }
}
