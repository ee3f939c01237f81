//! The fold over tool calls: files touched, commands, open failures, skills and one line for each call.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::PathBuf;

use serde_json::Value;
use zdx_protocol::compaction::{Compaction, DroppedCall, FileTouched, LoadedSkill, Touch};
use zdx_protocol::conversation::calls;
use zdx_protocol::display::labels;
use zdx_protocol::display::text::one_line;
use zdx_protocol::facts::{self, Touches};
use zdx_protocol::transcript::pruned_output;
use zdx_protocol::{Content, Message, Part, Role, ToolOutput, path_text};
use zdx_tools::patch_format::paths;

/// Width of the line that stands for a call or its outcome.
pub(crate) const CALL_COLUMNS: usize = 160;

/// Names the touched files: the arguments as the model wrote them, or the result with resolved paths. Results do not
/// name the files of a patch; the session's change records do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PathSource {
    Arguments,
    Result,
}

/// The files, commands and failures of tool calls. Readers choose order and limits.
#[derive(Default)]
pub(crate) struct CallActivity {
    /// Every touch, in order; paths as records write them.
    pub(super) touches: Vec<FileTouched>,
    /// Commands that succeeded, in order.
    pub(super) commands: Vec<String>,
    /// Calls that failed and did not succeed later. These and what follows are filled from messages only.
    pub risks: Vec<String>,
    pub skills: Vec<LoadedSkill>,
    /// Calls with their ids, oldest first.
    pub calls: Vec<(String, DroppedCall)>,
}

impl CallActivity {
    /// Folds the messages since the last compaction, on top of what that one recorded.
    pub(crate) fn of_messages(messages: &[Message], carried: Option<&Compaction>) -> Self {
        let mut activity = Self::default();
        if let Some(carried) = carried {
            activity.touches.clone_from(&carried.files);
            activity.risks.clone_from(&carried.risks);
            activity.skills.clone_from(&carried.skills);
        }
        for call in calls(messages) {
            if let Some(output) = call.output {
                let (input, output) = (call.arguments.unpack().input(), output.unpack());
                activity.note_effects(call.name, &input, &output, PathSource::Arguments);
                activity.note_outcome(call.id, call.name, &input, &output);
            }
        }
        attached(messages).for_each(|path| activity.touch(path, Touch::Read));
        activity
    }

    /// Notes the files and commands of a call that succeeded.
    pub(super) fn note_effects(&mut self, name: &str, input: &Value, output: &ToolOutput, from: PathSource) {
        let (Some(facts), ToolOutput::Ok(data)) = (facts::facts(name), output) else { return };
        let given = |field: &str| facts.given(input).text(field).map(Cow::into_owned);
        let path = |field: &str| match from {
            PathSource::Arguments => given(field),
            PathSource::Result => data["path"].as_str().map(str::to_owned),
        };
        let (paths, change) = match facts.touches {
            Touches::Runs(command) if data["exit_code"] == 0 => return self.commands.extend(given(command)),
            Touches::Reads(field) => (path(field).into_iter().collect(), Touch::Read),
            Touches::Changes(field) => (path(field).into_iter().collect(), Touch::Changed),
            Touches::Patches(patch) if from == PathSource::Arguments => {
                (given(patch).map_or_else(Vec::new, |text| paths(&text)), Touch::Changed)
            }
            Touches::Patches(_) | Touches::Runs(_) | Touches::Nothing => return,
        };
        paths.into_iter().for_each(|path| self.touch(path, change));
    }

    /// Notes how a call ended: its line, its failure and the skill it loaded.
    fn note_outcome(&mut self, id: &str, name: &str, input: &Value, output: &ToolOutput) {
        let call = one_line(&labels::call(name, input), CALL_COLUMNS);
        self.risks.retain(|risk| !risk.starts_with(&format!("{call}: ")));
        if failed(output) {
            let outcome = one_line(&labels::outcome(name, output), CALL_COLUMNS);
            self.risks.push(format!("{call}: {outcome}"));
        }
        if let (true, ToolOutput::Ok(data)) = (facts::SKILL.is(name), output)
            && let (Some(skill), Some(content)) = (data["name"].as_str(), data["content"].as_str())
        {
            self.skills.retain(|known| known.name != skill);
            self.skills.push(LoadedSkill { name: skill.to_owned(), content: content.to_owned() });
        }
        let outcome = one_line(&labels::outcome_detail(name, output), CALL_COLUMNS);
        let silent = outcome.is_empty() || *output == pruned_output();
        let outcome = if silent { "done".to_owned() } else { outcome };
        self.calls.push((id.to_owned(), DroppedCall { call, outcome }));
    }

    pub(super) fn touch(&mut self, path: String, change: Touch) {
        self.touches.push(FileTouched { path, change });
    }

    /// Files touched in this way, each once, in the order of their first touch.
    pub(super) fn paths(&self, change: Touch) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for touch in self.touches.iter().filter(|touch| touch.change == change) {
            let path = path_text::decode(&touch.path);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// The newest files up to these limits, each once, in the order of their last touch. A changed file that was read
    /// again counts as changed.
    pub(crate) fn newest_files(&self, mut most_changed: usize, mut most_read: usize) -> Vec<FileTouched> {
        let changes = self.touches.iter().filter(|touch| touch.change == Touch::Changed);
        let changed: HashSet<&str> = changes.map(|touch| touch.path.as_str()).collect();
        let (mut seen, mut files) = (HashSet::new(), Vec::new());
        for FileTouched { path, .. } in self.touches.iter().rev().filter(|touch| seen.insert(&touch.path)) {
            let (change, left) = match changed.contains(path.as_str()) {
                true => (Touch::Changed, &mut most_changed),
                false => (Touch::Read, &mut most_read),
            };
            if *left > 0 {
                *left -= 1;
                files.push(FileTouched { path: path.clone(), change });
            }
        }
        files.reverse();
        files
    }
}

/// Files that the user attached, as the user named them.
fn attached(messages: &[Message]) -> impl Iterator<Item = String> {
    let told = messages.iter().filter(|message| message.role == Role::System);
    told.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Content(Content::File(file)) => Some(file.name.clone()),
        Part::Content(Content::Image(image)) => Some(image.name.clone()),
        Part::Content(_) | Part::Reasoning(_) | Part::ToolUse { .. } | Part::ToolResult { .. } => None,
    })
}

fn failed(output: &ToolOutput) -> bool {
    match output {
        ToolOutput::Err(_) => true,
        ToolOutput::Ok(data) => {
            data["timed_out"] == true || data["exit_code"].as_i64().is_some_and(|code| code != 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_by_first_touch_for_a_turn_and_by_last_touch_for_a_compaction() {
        let mut activity = CallActivity::default();
        let touches = [("a", Touch::Read), ("b", Touch::Changed), ("c", Touch::Changed), ("b", Touch::Read)];
        touches.into_iter().for_each(|(path, change)| activity.touch(path.to_owned(), change));
        assert_eq!(activity.paths(Touch::Changed), [PathBuf::from("b"), PathBuf::from("c")]);
        assert_eq!(activity.paths(Touch::Read), [PathBuf::from("a"), PathBuf::from("b")]);
        let newest = |changed, read| -> String {
            activity.newest_files(changed, read).into_iter().map(|file| file.path).collect()
        };
        assert_eq!([newest(9, 9), newest(1, 9), newest(9, 0)], ["acb", "ab", "cb"]);
    }
}
