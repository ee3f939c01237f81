//! `skill`: lists the skills there are, or gives one of them in full.
//! Gives text and nothing else; which skills a model may know of was decided before this tool was made.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};
use zdx_protocol::facts::{LIST, SKILL};
use zdx_protocol::{Action, Preview, ToolCode, ToolError, ToolSpec, path_text};

use crate::session_policy::LentFolders;
use zdx_config::library::SkillLibrary;
use zdx_tools::input::{ToolInput, invalid};
use zdx_tools::{PreparedCall, Tool, ToolContext, ToolRunContext, off_thread};
use zdx_workspace::text::LIMIT;

/// Of the catalogue in the tool's description, which every request carries.
const CATALOGUE: usize = 6 * 1024;
/// With more, the list of names would cost as much as the catalogue.
const MOST_NAMES: usize = 64;

pub(crate) struct SkillTool {
    spec: ToolSpec,
    skills: Arc<SkillLibrary>,
    lent: LentFolders,
}

impl SkillTool {
    /// None when there is no skill that a model may load: then there is no such tool. `allowed` is what
    /// `permission.skill` does not deny.
    pub(crate) fn new(
        skills: &SkillLibrary,
        allowed: impl Fn(&str) -> bool,
        lent: LentFolders,
    ) -> Option<Self> {
        let skills = skills.for_model(allowed);
        if skills.is_empty() {
            return None;
        }
        let description = format!(
            "Load a skill: instructions for a kind of task, with files of their own. When a task fits one of these, \
             load it before you begin, once. Without a name, all skills are listed.\n\nSkills:\n{}",
            skills.catalogue(CATALOGUE)
        );
        let mut name = json!({"type": "string", "description": "The skill to load."});
        let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        if names.len() <= MOST_NAMES {
            name["enum"] = json!(names);
        }
        let spec = ToolSpec {
            name: Cow::Borrowed(SKILL.name),
            description: Cow::Owned(description),
            schema: json!({"type": "object", "properties": {"name": name}, "additionalProperties": false}),
        };
        Some(Self { spec, skills: Arc::new(skills), lent })
    }

    fn list(&self) -> PreparedCall {
        let skills = Arc::clone(&self.skills);
        let run = move |_: ToolRunContext| {
            let data = json!({"count": skills.iter().count(), "skills": skills.catalogue(LIMIT)});
            async move { Ok(data).into() }.boxed()
        };
        PreparedCall {
            action: look(),
            preview: Preview::None,
            doomed: None,
            line: None,
            adds_mask: false,
            run: Box::new(run),
        }
    }

    fn unknown(&self, name: &str) -> ToolError {
        let near = self.skills.near(name);
        let hint = match near.as_slice() {
            [] => "call this tool without a name to see all".to_owned(),
            near => format!("near names: {}", near.join(", ")),
        };
        ToolError::new(ToolCode::UnknownSkill, format!("there is no skill `{name}`; {hint}"))
    }
}

/// What a call of this tool is, whichever skills there are.
pub(crate) fn action(input: Map<String, Value>) -> Result<Action, ToolError> {
    Ok(named(input)?.map_or_else(look, |name| Action::Skill { name }))
}

/// Names and descriptions only, which the model was told already: a look, not a load.
fn look() -> Action {
    Action::Read { tool: LIST.permission.key.to_owned(), targets: Vec::new() }
}

/// The skill that is wanted; none when all are to be listed.
fn named(input: Map<String, Value>) -> Result<Option<String>, ToolError> {
    let name = ToolInput::new(&SKILL, input).optional_text("name")?.unwrap_or_default();
    let name = name.trim().trim_start_matches('/');
    if name.len() > 256 {
        return Err(invalid("`name` is no skill's name"));
    }
    Ok(Some(name.to_owned()).filter(|name| !name.is_empty()))
}

impl Tool for SkillTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: Map<String, Value>, _: &ToolContext) -> Result<PreparedCall, ToolError> {
        let Some(name) = named(input)? else { return Ok(self.list()) };
        let skill = self.skills.get(&name).ok_or_else(|| self.unknown(&name))?.clone();
        let action = Action::Skill { name: skill.name.clone() };
        let preview = Preview::Text { text: format!("{}\n{}", skill.description, skill.file.display()) };
        let lent = self.lent.clone();
        let run = move |run: ToolRunContext| {
            off_thread(run, move || {
                let content = skill
                    .content()
                    .map_err(|error| ToolError::new(ToolCode::SkillError, error.to_string()))?;
                // From here on its files may be read without further leave.
                lent.extend(skill.own_folder());
                Ok(json!({"name": skill.name, "directory": path_text::encode(&skill.dir), "content": content}))
            })
            .boxed()
        };
        Ok(PreparedCall { action, preview, doomed: None, line: None, adds_mask: false, run: Box::new(run) })
    }
}

#[cfg(test)]
mod tests;
