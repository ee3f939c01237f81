//! `task`: hands a piece of work to another agent and waits for its report.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value, json};
use zdx_protocol::display::text::one_line;
use zdx_protocol::facts::TASK;
use zdx_protocol::{Action, Preview, ToolError, ToolOutput, ToolSpec};

use super::input::{ToolInput, invalid};
use super::{PreparedCall, Tool, ToolContext, ToolRunContext};

/// Of what a piece of work is about.
const ABOUT_COLUMNS: usize = 60;

/// Who launches agents: the tool knows neither what they are made of nor where they work.
pub trait SubagentLauncher: Send + Sync {
    /// Name and purpose of everyone that may be launched.
    fn launchable(&self) -> Vec<(String, String)>;

    /// Has an agent do a piece of work for this call; what comes of it is the call's result.
    fn launch(&self, work: SubagentTask, call: ToolRunContext) -> BoxFuture<'_, ToolOutput>;
}

/// Who is to work, and on what.
pub struct SubagentTask {
    pub agent: String,
    pub prompt: String,
    /// The same in a few words, for people.
    pub about: String,
}

pub struct TaskTool {
    spec: ToolSpec,
    launcher: Arc<dyn SubagentLauncher>,
}

impl TaskTool {
    /// None when there is nobody to launch.
    pub fn new(launcher: Arc<dyn SubagentLauncher>, allowed: impl Fn(&str) -> bool) -> Option<Self> {
        let mut agents = launcher.launchable();
        agents.retain(|(name, _)| allowed(name));
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
        let spec = ToolSpec { name: Cow::Borrowed(TASK.name), description: Cow::Owned(description), schema };
        Some(Self { spec, launcher })
    }
}

/// What a call of this tool is, whoever can be launched.
pub fn action(input: Map<String, Value>) -> Result<Action, ToolError> {
    asked(input).map(|work| Action::Task { agent: work.agent })
}

fn asked(input: Map<String, Value>) -> Result<SubagentTask, ToolError> {
    let mut input = ToolInput::new(&TASK, input);
    let (agent, prompt) = (input.text("agent")?, input.text("prompt")?);
    if prompt.trim().is_empty() {
        return Err(invalid("`prompt` is empty"));
    }
    let described = input.any("description");
    let described = described.as_ref().and_then(Value::as_str).filter(|about| !about.trim().is_empty());
    let about = one_line(described.unwrap_or(&prompt), ABOUT_COLUMNS);
    Ok(SubagentTask { agent, prompt, about })
}

impl Tool for TaskTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, _: &ToolContext) -> Result<PreparedCall, ToolError> {
        let work = asked(input)?;
        let action = Action::Task { agent: work.agent.clone() };
        let preview = Preview::Text { text: work.prompt.clone() };
        let launcher = Arc::clone(&self.launcher);
        let run = move |run: ToolRunContext| async move { launcher.launch(work, run).await }.boxed();
        Ok(PreparedCall { action, preview, doomed: None, line: None, adds_mask: false, run: Box::new(run) })
    }
}
