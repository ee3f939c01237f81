//! `task`: hands a piece of work to another agent and waits for its report.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use zdx_protocol::{Action, Preview, ToolError, ToolSpec};

use super::input::{Input, invalid};
use super::{Prepared, RunContext, Tool, ToolContext};
use crate::subagent::Subagents;

pub struct Task {
    spec: ToolSpec,
    subagents: Arc<Subagents>,
}

impl Task {
    /// None when there is nobody to launch.
    pub fn new(subagents: Arc<Subagents>, allowed: impl Fn(&str) -> bool) -> Option<Self> {
        let agents: Vec<(String, String)> = subagents
            .personas
            .launchable()
            .into_iter()
            .filter(|(name, _)| allowed(name))
            .map(|(name, about)| (name.to_owned(), about.to_owned()))
            .collect();
        if agents.is_empty() {
            return None;
        }
        let list: Vec<String> = agents.iter().map(|(name, about)| format!("{name}: {about}")).collect();
        let description = format!(
            "Give a task to another agent, who works on its own and reports back. It knows nothing of this \
             conversation: say all it needs. Several calls in one answer run side by side. Agents: {}",
            list.join(" ")
        );
        let names: Vec<&String> = agents.iter().map(|(name, _)| name).collect();
        let schema = json!({
            "type": "object",
            "properties": {
                "agent": {"type": "string", "enum": names},
                "prompt": {"type": "string"},
                "description": {"type": "string", "description": "a few words for the user"}
            },
            "required": ["agent", "prompt"],
            "additionalProperties": false
        });
        let spec = ToolSpec {
            name: Cow::Borrowed("task"),
            aliases: &["agent", "subagent", "delegate"],
            description: Cow::Owned(description),
            schema,
        };
        Some(Self { spec, subagents })
    }
}

/// What a call of this tool is, whoever can be launched.
pub fn action(input: Map<String, Value>) -> Result<Action, ToolError> {
    asked(input).map(|(agent, _)| Action::Task { agent })
}

/// Who is to work, and on what.
fn asked(input: Map<String, Value>) -> Result<(String, String), ToolError> {
    let mut input = Input::new(input);
    let (agent, prompt) = (input.text("agent")?, input.text("prompt")?);
    if prompt.trim().is_empty() {
        return Err(invalid("`prompt` is empty"));
    }
    Ok((agent, prompt))
}

impl Tool for Task {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, _: &ToolContext) -> Result<Prepared, ToolError> {
        let (agent, prompt) = asked(input)?;
        let action = Action::Task { agent: agent.clone() };
        let preview = Preview::Text { text: prompt.clone() };
        let subagents = Arc::clone(&self.subagents);
        let run = move |run: RunContext| async move { subagents.run(&agent, prompt, run).await }.boxed();
        Ok(Prepared { action, preview, doomed: None, line: None, adds_mask: false, run: Box::new(run) })
    }
}
