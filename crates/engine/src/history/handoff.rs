//! A draft to start the next session from: goal, starter prompt, files, tasks and commands.
//! The model is asked once; each section it does not give is made from the session itself.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use zdx_protocol::Redactor;
use zdx_protocol::display::plain;

use super::ask::{Asker, NoAnswer};
use super::summary::{excerpt, material, relative};
use crate::activity::SessionActivity;

mod sections;

use sections::Sections;

/// So many files, tasks and commands at most: the point is what matters.
const LISTED: usize = 15;

const SYSTEM: &str = "You prepare the handoff of a coding session to a fresh one that knows nothing of it. Answer in \
markdown with exactly these four sections, in this order, and nothing else:
## Starter prompt
One prompt to paste into the new session: the goal, the state of the work, decisions already made, and where to begin.
## Relevant files
A short bullet list of paths, as the material names them.
## Open tasks
A checklist of concrete next actions: `- [ ] …`.
## Repro commands
One fenced block of shell commands that show the current state or continue the work.
Use only what the material shows. Do not call tools.";

/// Everything a handoff needs to know.
pub struct Handoff<'a> {
    pub goal: &'a str,
    /// What paths are told relative to.
    pub root: &'a Path,
    pub activity: &'a SessionActivity,
    /// A draft is pasted and passed on: what must not be written stays behind.
    pub redactor: &'a Redactor,
}

pub struct Bundle {
    pub markdown: String,
    /// What is not the model's, and why; nothing when all of it is.
    pub notice: Option<String>,
}

impl Handoff<'_> {
    pub async fn prepare(&self, asker: &Asker) -> Bundle {
        let text = format!(
            "GOAL OF THE NEXT SESSION:\n{}\n\n{}",
            self.goal(),
            material(self.activity, Some(self.root))
        );
        let answer = asker.ask(self.activity.model.as_deref(), SYSTEM, &text).await;
        self.bundle(answer)
    }

    /// Masked whole: half of a secret, cut off by an excerpt, would not be known for one.
    fn goal(&self) -> Cow<'_, str> {
        self.redactor.redact(self.goal)
    }

    fn bundle(&self, answer: Result<String, NoAnswer>) -> Bundle {
        let (said, why) = match answer {
            Ok(answer) => (Sections::parse(&answer), None),
            Err(why) => (Sections::default(), Some(why)),
        };
        let mut missing = Vec::new();
        let mut or_own = |name: &'static str, found: Vec<String>, own: &dyn Fn() -> Vec<String>| {
            if found.is_empty() {
                missing.push(name);
                return own();
            }
            found
        };
        let known: HashSet<PathBuf> = self.activity.files().into_iter().collect();
        let files = self.existing(said.files(), &known);
        let files = or_own("relevant files", files, &|| self.own_files());
        let tasks = or_own("open tasks", said.tasks(), &|| self.own_tasks());
        let commands = or_own("repro commands", said.commands(), &|| self.own_commands());
        let starter = or_own("starter prompt", said.starter().into_iter().collect(), &|| {
            vec![self.own_starter(&files, &tasks)]
        });
        let notice = match why {
            Some(why) => Some(format!("{why}; this handoff is made from the session itself")),
            None if missing.is_empty() => None,
            None => {
                Some(format!("the model's answer lacks {}; made from the session itself", missing.join(", ")))
            }
        };
        Bundle { markdown: self.render(&starter.concat(), &files, &tasks, &commands), notice }
    }

    /// Paths a model named, if there is anything to them.
    fn existing(&self, named: Vec<String>, known: &HashSet<PathBuf>) -> Vec<String> {
        let mut seen = HashSet::new();
        let real = named.into_iter().filter_map(|name| {
            let path = normal(&self.root.join(name));
            (known.contains(&path) || path.exists()).then(|| relative(&path, Some(self.root)))
        });
        real.filter(|path| !path.is_empty() && seen.insert(path.clone())).take(LISTED).collect()
    }

    /// Those that are still there, or were until the session removed them.
    fn own_files(&self) -> Vec<String> {
        self.activity.files().iter().map(|path| relative(path, Some(self.root))).take(LISTED).collect()
    }

    fn own_tasks(&self) -> Vec<String> {
        let mut tasks: Vec<String> =
            self.activity.open_todos().map(|todo| excerpt(&todo.content)).take(LISTED).collect();
        if tasks.is_empty() {
            tasks.push(excerpt(&self.goal()));
            tasks.extend(
                self.activity.commands().first().map(|command| format!("check with `{}`", excerpt(command))),
            );
        }
        tasks
    }

    fn own_commands(&self) -> Vec<String> {
        let mut commands: Vec<String> = self.activity.commands().into_iter().take(LISTED).collect();
        // As they were run, the first one first.
        commands.reverse();
        if commands.is_empty() {
            commands.extend(self.activity.id.as_ref().map(|id| format!("zdx sessions show {id}")));
        }
        commands
    }

    fn own_starter(&self, files: &[String], tasks: &[String]) -> String {
        let mut text = format!("{}\n\nThis continues earlier work.", self.goal().trim());
        if let Some(first) = self.activity.first_prompt() {
            let _ = write!(text, "\nIt began with: {}", excerpt(first));
        }
        if let Some(last) = self.activity.last_prompt() {
            let _ = write!(text, "\nThe last request was: {}", excerpt(last));
        }
        if let Some(answer) = self.activity.last_answer() {
            let _ = write!(text, "\nThe last answer was: {}", excerpt(answer));
        }
        if !files.is_empty() {
            let _ = write!(text, "\nRead first: {}", files.join(", "));
        }
        let _ = write!(text, "\nOpen: {}", tasks.join("; "));
        text
    }

    fn render(&self, starter: &str, files: &[String], tasks: &[String], commands: &[String]) -> String {
        // Nothing in it may move a cursor either.
        let safe = |text: &str| self.redactor.redact(&plain(text)).into_owned();
        let list = |mark: &str, items: &[String]| -> String {
            items.iter().map(|item| format!("{mark} {}\n", safe(item))).collect()
        };
        let files = match files {
            [] => "(the session touched no file)\n".to_owned(),
            files => list("-", files),
        };
        format!(
            "# Handoff\n\n## Goal\n\n{}\n\n## Starter prompt\n\n{}\n## Relevant files\n\n{files}\n## Open tasks\n\n{}\n\
             ## Repro commands\n\n{}",
            self.goal(),
            fenced("text", &safe(starter)),
            list("- [ ]", tasks),
            fenced("sh", &safe(&commands.join("\n"))),
        )
    }
}

/// A fence that nothing inside can close.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end())
}

/// Without `.` and `..`, by the text alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests;
