//! A question to a person as data: what would happen, why it is asked, what can be answered.
//! Never cuts a command, and never offers to remember what must be asked every time.

mod choice;
mod files;
mod granted;
mod page;

use std::path::Path;
use std::time::Duration;

use crate::change::Operation;
use crate::code::ReasonCode;
use crate::policy::{
    Action, Approval, ApprovalRequest, CHECK, Danger, GrantScope, Granting, Origin, Preview, Target,
};
use crate::typeset::diff::LineKind;
use crate::typeset::{format, visible_line};

pub use choice::choice;
pub use granted::{allowed_rows, folder_added, grant_words, meant_grants, names_grant};
use page::{INDENT, Page};

/// What a line of a question is about; a front end colours by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Title,
    /// The command, exactly; controls spelled out.
    Command,
    Diff(LineKind),
    Text,
    /// What it may do.
    Effect,
    Why,
    Rule,
    /// What "always", or something wider, would allow.
    Grant,
    Note,
}

/// Safe to print as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionLine {
    pub part: Part,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    AllowOnce,
    /// Asks for how long: see [`scope_question`].
    Always,
    /// The same, about the wider grant that is offered.
    Wider,
    /// The wider grant that holds for the session and never longer: nothing is left to ask.
    AllEdits,
    /// Yes to this, and the folder outside the workspace that it is about is added for the session.
    AddFolder,
    /// Asks which: see [`preset_question`].
    Preset,
    /// This preset from now on, by which the question is judged anew.
    Switch(Approval),
    Session,
    Project,
    /// Not always, then: the first question again.
    Back,
    Deny,
    /// Deny, and tell the model why.
    DenyWithWord,
    /// The same question with nothing left out.
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub key: char,
    pub label: &'static str,
    pub answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub lines: Vec<QuestionLine>,
    pub keys: Vec<Key>,
    /// The answer that Enter gives: yes to an ordinary request, otherwise the one that allows least.
    pub default: Answer,
}

/// Where a question is shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub columns: usize,
    /// Lines of a diff or a preview; a command is not bounded.
    pub lines: usize,
    pub home: Option<&'a Path>,
    /// The workspace: what lies in it is named from there, so that anything else stands out.
    pub root: Option<&'a Path>,
    /// What does not fit is scrolled where it is shown; else a note says that the terminal must be scrolled back.
    pub scrolls: bool,
}

impl View<'_> {
    fn path(&self, path: &Path) -> String {
        match self.root.and_then(|root| path.strip_prefix(root).ok()) {
            Some(below) if !below.as_os_str().is_empty() => format::path(below, None),
            Some(_) | None => format::path(path, self.home),
        }
    }
}

/// Time without a typed key, and with the request in view, before a key or a line can answer it.
pub const ANSWER_PAUSE: Duration = Duration::from_millis(600);

const ONCE: Key = Key { key: 'y', label: "yes, once", answer: Answer::AllowOnce };
const ALWAYS: Key = Key { key: 'a', label: "always", answer: Answer::Always };
const EVERY: Key = Key { key: 'w', label: "every such", answer: Answer::Wider };
const EDITS: Key = Key { key: 'e', label: "every edit", answer: Answer::AllEdits };
const FOLDER: Key = Key { key: 'd', label: "add this folder", answer: Answer::AddFolder };
const PRESET: Key = Key { key: 'p', label: "approval mode", answer: Answer::Preset };
// Digits: a `y` that was meant for the question must not choose one.
const PRESETS: [Key; 3] = [
    Key { key: '1', label: "yolo", answer: Answer::Switch(Approval::Yolo) },
    Key { key: '2', label: "balanced", answer: Answer::Switch(Approval::Balanced) },
    Key { key: '3', label: "paranoid", answer: Answer::Switch(Approval::Paranoid) },
];
const DENY: Key = Key { key: 'n', label: "no", answer: Answer::Deny };
const WORD: Key = Key { key: 'm', label: "no, and why", answer: Answer::DenyWithWord };
const SESSION: Key = Key { key: 's', label: "this session", answer: Answer::Session };
const PROJECT: Key = Key { key: 'p', label: "this project", answer: Answer::Project };
const WHOLE: Key = Key { key: 'v', label: "view all", answer: Answer::Whole };
const BACK: Key = Key { key: 'b', label: "back", answer: Answer::Back };

/// The question as it is first put.
pub fn question(request: &ApprovalRequest, view: View<'_>) -> Question {
    let mut page = Page::new(view);
    page.wrapped(Part::Title, "", &title(request, view));
    page.preview(request);
    if let Some(agent) = &request.agent {
        let task = request.task.as_ref().map_or_else(|| "a task".to_owned(), |task| visible_line(task));
        page.labelled(Part::Why, "for", &format!("the agent {agent}, which works on {task}"));
    }
    for effect in effects(request, view) {
        page.labelled(Part::Effect, "may", &effect);
    }
    page.labelled(Part::Why, "why", &request.reason.message);
    match (&request.reason.rule, request.danger) {
        (Some(rule), _) => page.labelled(Part::Rule, "rule", rule),
        (None, Danger::Confirm) => {
            page.labelled(Part::Rule, "rule", &format!("always asked about: {}", floor(request.reason.code)));
        }
        (None, Danger::Ask) => {}
    }
    let mut keys = vec![ONCE];
    match (request.danger, &request.grant) {
        (Danger::Ask, Some(grant)) => {
            page.grant(request, grant);
            keys.push(ALWAYS);
        }
        (Danger::Ask, None) => {}
        (Danger::Confirm, _) => page.wrapped(Part::Note, INDENT, "asked every time, never remembered"),
    }
    if let Some(wider) = wider(request) {
        page.labelled(Part::Grant, label(wider), &format!("allows {}", granted::covered(wider)));
        // Where nothing more is asked, the small print has no other place.
        if let Some(limits) = granted::limits(wider).filter(|_| wider.longest() == GrantScope::Session) {
            page.labelled(Part::Grant, "", limits);
        }
        keys.push(key(wider));
    }
    if request.danger == Danger::Ask && request.approval.is_some() {
        keys.push(PRESET);
    }
    if page.cut {
        keys.push(WHOLE);
    }
    keys.push(DENY);
    // No model waits to hear about what a person typed.
    if !matches!(request.action, Action::Command { origin: Origin::User, .. }) {
        keys.push(WORD);
    }
    let default = match request.danger {
        Danger::Ask => Answer::AllowOnce,
        Danger::Confirm => Answer::Deny,
    };
    Question { lines: page.lines, keys, default }
}

/// What no rule and no preset lifts, in words.
fn floor(code: ReasonCode) -> &'static str {
    match code {
        ReasonCode::ListedCommand => "commands that can do lasting harm",
        ReasonCode::Destructive => "what destroys more than can be brought back",
        ReasonCode::Overwrite => "writing over what is there",
        ReasonCode::ProtectedPath => "protected files",
        ReasonCode::Instructions => "files that tell agents what to do",
        ReasonCode::Helper => "making a program run another one",
        ReasonCode::Opaque => "what is known only when it runs",
        ReasonCode::Unreadable => "what cannot be read before it runs",
        ReasonCode::HiddenCharacters => "hidden characters",
        ReasonCode::TooLarge | ReasonCode::TooDeep => "what is too long or too deep to be read",
        ReasonCode::PathEscape | ReasonCode::SymlinkEscape => "what lies outside the workspace",
        ReasonCode::Allowed
        | ReasonCode::ApprovalRequired
        | ReasonCode::Denied
        | ReasonCode::Internal
        | ReasonCode::Forbidden => "this, whatever the rules say",
    }
}

/// After "always": for how long. Nothing when the request cannot be remembered.
pub fn scope_question(request: &ApprovalRequest, view: View<'_>) -> Option<Question> {
    let grant = request.grant.as_ref().filter(|_| request.danger == Danger::Ask)?;
    let mut page = Page::new(view);
    page.wrapped(Part::Title, "", "always allow this, for how long?");
    page.granted(request, grant);
    Some(for_how_long(page))
}

/// The same for the wider grant, where one is offered that may hold for longer than the session.
pub fn wider_question(request: &ApprovalRequest, view: View<'_>) -> Option<Question> {
    let wider = wider(request).filter(|wider| wider.longest() == GrantScope::Project)?;
    let mut page = Page::new(view);
    page.wrapped(Part::Title, "", "always allow more than this, for how long?");
    page.wrapped(Part::Grant, INDENT, &granted::covered(wider));
    if let Some(limits) = granted::limits(wider) {
        page.wrapped(Part::Note, INDENT, limits);
    }
    Some(for_how_long(page))
}

fn for_how_long(mut page: Page<'_>) -> Question {
    page.wrapped(Part::Note, INDENT, "`zdx policy grants` lists and revokes what a project was granted");
    Question { lines: page.lines, keys: vec![SESSION, PROJECT, BACK], default: Answer::Session }
}

/// Which preset shall hold from now on, of those that do not already. A digit means the same one wherever one stands.
pub fn preset_question(request: &ApprovalRequest, view: View<'_>) -> Question {
    let mut page = Page::new(view);
    let now = request.approval.map(|now| format!(" now it is {};", now.name())).unwrap_or_default();
    let title = format!("which approval mode from now on?{now} this request is then re-checked");
    page.wrapped(Part::Title, "", &title);
    for preset in [Approval::Yolo, Approval::Balanced, Approval::Paranoid] {
        let now = if request.approval == Some(preset) { " (now)" } else { "" };
        let text = format!("{}{now}: {}", preset.name(), preset.meaning());
        page.wrapped(Part::Text, INDENT, &text);
    }
    let other = |key: &Key| request.approval.is_none_or(|now| key.answer != Answer::Switch(now));
    let keys = PRESETS.into_iter().filter(other).chain([BACK]).collect();
    Question { lines: page.lines, keys, default: Answer::Back }
}

/// Before nearly everything runs unasked: whether that is meant.
pub fn yolo_question(now: Option<Approval>, view: View<'_>) -> Question {
    let mut page = Page::new(view);
    page.wrapped(Part::Title, "", "switch to yolo?");
    page.wrapped(Part::Text, INDENT, Approval::Yolo.meaning());
    let effect = "commands run and files change without a question, until you switch back";
    page.wrapped(Part::Effect, INDENT, effect);
    let stay = match now {
        Some(Approval::Balanced) => "stay balanced",
        Some(Approval::Paranoid) => "stay paranoid",
        Some(Approval::Yolo) | None => "leave it as it is",
    };
    let yes = Key { key: 'y', label: "yolo", answer: Answer::Switch(Approval::Yolo) };
    let no = Key { key: 'n', label: stay, answer: Answer::Back };
    Question { lines: page.lines, keys: vec![yes, no], default: Answer::Back }
}

fn wider(request: &ApprovalRequest) -> Option<Granting<'_>> {
    request.wider.as_deref().filter(|_| request.danger == Danger::Ask).map(Granting::of)
}

fn label(wider: Granting<'_>) -> &'static str {
    match wider {
        Granting::Exactly(_) | Granting::Commands(_) => "every",
        Granting::Edits => "edits",
        Granting::Folder(_) => "folder",
    }
}

fn key(wider: Granting<'_>) -> Key {
    match wider {
        Granting::Exactly(_) | Granting::Commands(_) => EVERY,
        Granting::Edits => EDITS,
        Granting::Folder(_) => FOLDER,
    }
}

impl Question {
    /// The answer of a whole line: a key, the word for it, or nothing for the default. Anything else is no answer.
    pub fn answer(&self, typed: &str) -> Option<Answer> {
        let typed = typed.trim().to_lowercase();
        if typed.is_empty() {
            return Some(self.default);
        }
        let said = |key: &&Key| {
            let word = match key.answer {
                Answer::AllowOnce => "yes",
                Answer::Deny => "no",
                Answer::Always => "always",
                Answer::Wider => "wider",
                Answer::AllEdits => "edits",
                Answer::AddFolder => "folder",
                Answer::Preset => "mode",
                Answer::Switch(preset) => preset.name(),
                Answer::Session => "session",
                Answer::Project => "project",
                Answer::Back => "back",
                Answer::DenyWithWord => "explain",
                Answer::Whole => "view",
            };
            typed == word || typed.chars().eq([key.key])
        };
        self.keys.iter().find(said).map(|key| key.answer)
    }

    /// `[y] yes, once (Enter)  [a] always  [n] no`, on as many lines as it takes.
    pub fn key_lines(&self, columns: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for key in &self.keys {
            const DEFAULT: &str = " (Enter)";
            let mut item = format!("[{}] {}", key.key, key.label);
            if key.answer == self.default && item.len() + DEFAULT.len() <= columns {
                item.push_str(DEFAULT);
            }
            match lines.last_mut() {
                Some(line) if line.len() + 2 + item.len() <= columns => {
                    line.push_str("  ");
                    line.push_str(&item);
                }
                _ => lines.push(item),
            }
        }
        lines
    }
}

fn title(request: &ApprovalRequest, view: View<'_>) -> String {
    let asked = match (&request.preview, &request.action) {
        (Preview::Change { path, operation, additions, deletions, .. }, _) => {
            let verb = match operation {
                Operation::Created => "create",
                Operation::Updated => "change",
                Operation::Unchanged => "write, without a change,",
                Operation::Deleted => "delete",
                Operation::Renamed => "move to",
            };
            match files::moved_from(request) {
                Some(from) => {
                    let (from, path) = (view.path(from), view.path(path));
                    format!("move {from} to {path}? (+{additions} -{deletions})")
                }
                None => format!("{verb} {}? (+{additions} -{deletions})", view.path(path)),
            }
        }
        (_, Action::Command { .. }) if request.id.starts_with(CHECK) => {
            "zdx checks the work: run this command?".to_owned()
        }
        (_, Action::Command { origin: Origin::User, .. }) => "run your command?".to_owned(),
        (_, Action::Command { origin: Origin::Model, .. }) => "run this command?".to_owned(),
        (_, Action::Read { tool, targets }) => {
            format!("{} {}?", files::looks(tool), paths(targets, view))
        }
        (Preview::Text { text }, Action::Write { .. }) if files::total(text).is_some() => {
            format!("change {}", files::total(text).unwrap_or_default())
        }
        (_, Action::Write { targets, .. }) => format!("change {}?", paths(targets, view)),
        (_, Action::Fetch { title } | Action::Remote { title }) => {
            format!("let the agent do this: {}?", visible_line(title))
        }
        (_, Action::Mcp { server, tool, .. }) => {
            format!("call {} of the MCP server {}?", visible_line(tool), visible_line(server))
        }
        (_, Action::Skill { name }) => format!("load the skill {}?", visible_line(name)),
        (_, Action::Task { agent }) => format!("start the subagent {}?", visible_line(agent)),
        (_, Action::Todo) => "change the todo list?".to_owned(),
    };
    match request.danger {
        Danger::Ask => asked,
        Danger::Confirm => format!("dangerous: {asked}"),
    }
}

fn paths(targets: &[Target], view: View<'_>) -> String {
    match targets {
        [one] if view.root == Some(one.path.as_path()) => ".".to_owned(),
        [one] => view.path(&one.path),
        _ => format::count(targets.len(), "file"),
    }
}

/// What the action reaches, in words; the resolved targets, not what a model called them.
fn effects(request: &ApprovalRequest, view: View<'_>) -> Vec<String> {
    let reach = |verb: &str, target: &Target| {
        let state = if target.exists { "" } else { ", which does not exist yet" };
        let place = if target.inside { "" } else { ", OUTSIDE the workspace" };
        format!("{verb} {}{state}{place}", view.path(&target.path))
    };
    match &request.action {
        Action::Command { cwd, .. } if request.danger == Danger::Confirm => {
            vec![format!("do anything you can do, starting in {}", view.path(cwd))]
        }
        // Of any other it would say the same: only where it starts is worth a word, if that is not the workspace.
        Action::Command { cwd, .. } if view.root == Some(cwd.as_path()) => Vec::new(),
        Action::Command { cwd, .. } => vec![format!("start in {}", view.path(cwd))],
        Action::Read { tool, targets } => {
            let more = targets.iter().filter(|target| !files::is_said(request, targets, target, view));
            more.map(|target| reach(files::looks(tool), target)).collect()
        }
        Action::Write { targets, .. } => {
            let more = targets.iter().filter(|target| !files::is_said(request, targets, target, view));
            more.map(|target| reach("change", target)).collect()
        }
        Action::Mcp { server, .. } => {
            vec![format!("do whatever the program behind {} does; zdx cannot check it", visible_line(server))]
        }
        Action::Fetch { .. } | Action::Remote { .. } => {
            vec!["do whatever the program behind the agent does; zdx cannot check it".to_owned()]
        }
        Action::Skill { .. } => vec!["give the model further instructions".to_owned()],
        Action::Task { .. } => vec!["use tools of its own, each judged like this one".to_owned()],
        Action::Todo => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
