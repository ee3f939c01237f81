//! A question to a person as data: what would happen, why it is asked, what can be answered.
//! Never cuts a command, and never offers to remember what must be asked every time.

use std::path::Path;

use crate::change::Operation;
use crate::policy::{Action, ApprovalRequest, Danger, Origin, Preview, Target};
use crate::typeset::diff::{self, Bounds, LineKind};
use crate::typeset::format;
use crate::typeset::text::{wrap, wrap_exact};
use crate::typeset::{visible, visible_line};

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
    /// What "always" would allow.
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
}

impl View<'_> {
    fn path(&self, path: &Path) -> String {
        match self.root.and_then(|root| path.strip_prefix(root).ok()) {
            Some(below) if !below.as_os_str().is_empty() => format::path(below, None),
            Some(_) | None => format::path(path, self.home),
        }
    }
}

const ONCE: Key = Key { key: 'y', label: "once", answer: Answer::AllowOnce };
const ALWAYS: Key = Key { key: 'a', label: "always", answer: Answer::Always };
const DENY: Key = Key { key: 'n', label: "deny", answer: Answer::Deny };
const WORD: Key = Key { key: 'e', label: "deny and say why", answer: Answer::DenyWithWord };
const SESSION: Key = Key { key: 's', label: "this session", answer: Answer::Session };
const PROJECT: Key = Key { key: 'p', label: "this project", answer: Answer::Project };
const WHOLE: Key = Key { key: 'v', label: "view all", answer: Answer::Whole };
const BACK: Key = Key { key: 'b', label: "back", answer: Answer::Back };

const INDENT: &str = "  ";
/// Narrower than this nothing can be laid out.
const NARROWEST: usize = 20;
/// More empty rows in a row push the beginning of a command off the screen.
const BLANK_ROWS: usize = 3;
const TALL: usize = 20;

/// The question as it is first put.
pub fn question(request: &ApprovalRequest, view: View<'_>) -> Question {
    let mut page = Page::new(view);
    page.wrapped(Part::Title, "", &title(request, view));
    page.preview(request);
    if let Some(agent) = &request.agent {
        page.labelled(Part::Why, "for", &format!("the agent {agent}, which works on a task"));
    }
    for effect in effects(request, view) {
        page.labelled(Part::Effect, "may", &effect);
    }
    page.labelled(Part::Why, "why", &request.reason.message);
    match (&request.reason.rule, request.danger) {
        (Some(rule), _) => page.labelled(Part::Rule, "rule", rule),
        (None, Danger::Confirm) => {
            page.labelled(Part::Rule, "rule", &format!("always confirmed: {}", request.reason.code));
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
    if page.cut {
        keys.push(WHOLE);
    }
    keys.push(DENY);
    // No model waits to hear about what a person typed.
    if !matches!(request.action, Action::Command { origin: Origin::User, .. }) {
        keys.push(WORD);
    }
    Question { lines: page.lines, keys }
}

/// After "always": for how long. Nothing when the request cannot be remembered.
pub fn scope_question(request: &ApprovalRequest, view: View<'_>) -> Option<Question> {
    let grant = request.grant.as_ref().filter(|_| request.danger == Danger::Ask)?;
    let mut page = Page::new(view);
    page.wrapped(Part::Title, "", "always allow exactly this, for how long?");
    page.granted(request, grant);
    page.wrapped(Part::Note, INDENT, "`zdx policy grants` lists and revokes what a project was granted");
    Some(Question { lines: page.lines, keys: vec![SESSION, PROJECT, BACK] })
}

/// A command is remembered under the name of its tool.
fn granted_command(grant: &str) -> &str {
    grant.strip_prefix("bash ").unwrap_or(grant)
}

impl Question {
    /// What was answered: a key, or the word for it. Anything else, an empty line too, is no answer.
    pub fn answer(&self, typed: &str) -> Option<Answer> {
        let typed = typed.trim().to_lowercase();
        let said = |key: &&Key| {
            let word = match key.answer {
                Answer::AllowOnce => "yes",
                Answer::Deny => "no",
                Answer::Always => "always",
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

    /// `[y] once  [a] always  [n] deny`, on as many lines as it takes.
    pub fn key_lines(&self, columns: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for key in &self.keys {
            let item = format!("[{}] {}", key.key, key.label);
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
            format!("{verb} {}? (+{additions} -{deletions})", view.path(path))
        }
        (_, Action::Command { origin: Origin::User, .. }) => "run your command?".to_owned(),
        (_, Action::Command { origin: Origin::Model, .. }) => "run this command?".to_owned(),
        (_, Action::Read { targets, .. }) => format!("read {}?", paths(targets, view)),
        (_, Action::Write { targets, .. }) => format!("change {}?", paths(targets, view)),
        (_, Action::Mcp { server, tool }) => {
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
        // The title said so already.
        Action::Write { targets, .. } if is_whole_change(request, targets) => Vec::new(),
        Action::Command { cwd, .. } => {
            vec![format!("do anything you can do, starting in {}", view.path(cwd))]
        }
        Action::Read { targets, .. } => targets.iter().map(|target| reach("read", target)).collect(),
        Action::Write { targets, .. } => targets.iter().map(|target| reach("change", target)).collect(),
        Action::Mcp { server, .. } => {
            vec![format!("do whatever the program behind {} does; zdx cannot check it", visible_line(server))]
        }
        Action::Skill { .. } => vec!["give the model further instructions".to_owned()],
        Action::Task { .. } => vec!["use tools of its own, each judged like this one".to_owned()],
        Action::Todo => Vec::new(),
    }
}

/// The preview shows all there is: one file of the workspace, by the name that is written.
fn is_whole_change(request: &ApprovalRequest, targets: &[Target]) -> bool {
    match (&request.preview, targets) {
        (Preview::Change { path, .. }, [only]) => only.inside && *path == only.path,
        _ => false,
    }
}

struct Page<'a> {
    view: View<'a>,
    columns: usize,
    lines: Vec<QuestionLine>,
    /// Something of the preview is not shown.
    cut: bool,
}

impl<'a> Page<'a> {
    fn new(view: View<'a>) -> Self {
        Self { view, columns: view.columns.max(NARROWEST), lines: Vec::new(), cut: false }
    }

    fn push(&mut self, part: Part, text: String) {
        self.lines.push(QuestionLine { part, text });
    }

    fn wrapped(&mut self, part: Part, indent: &str, text: &str) {
        for line in wrap(&visible_line(text), self.columns - indent.len()) {
            self.push(part, format!("{indent}{line}"));
        }
    }

    /// `  why     the text, wrapped below itself`.
    fn labelled(&mut self, part: Part, label: &str, text: &str) {
        const LABEL: usize = 8;
        let lines = wrap(&visible_line(text), self.columns - INDENT.len() - LABEL);
        for (at, line) in lines.into_iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            self.push(part, format!("{INDENT}{label:LABEL$}{line}"));
        }
    }

    fn grant(&mut self, request: &ApprovalRequest, grant: &str) {
        match &request.action {
            Action::Command { command, .. } if command == granted_command(grant) => {
                self.labelled(Part::Grant, "always", "allows exactly this command, nothing wider");
            }
            Action::Write { targets, .. } if targets.len() == 1 => {
                self.labelled(Part::Grant, "always", "allows every change to this file, and to no other");
            }
            Action::Task { .. } => self.labelled(Part::Grant, "always", "allows every task for this agent"),
            Action::Skill { .. } => self.labelled(Part::Grant, "always", "allows this skill, and no other"),
            Action::Mcp { .. } => self.labelled(Part::Grant, "always", "allows every call of this tool"),
            Action::Command { .. } | Action::Read { .. } | Action::Write { .. } | Action::Todo => {
                self.labelled(Part::Grant, "always", "allows exactly, and nothing wider:");
                self.granted(request, grant);
            }
        }
    }

    /// What would be remembered, word for word.
    fn granted(&mut self, request: &ApprovalRequest, grant: &str) {
        match &request.action {
            Action::Command { .. } => self.exact(Part::Grant, granted_command(grant)),
            Action::Write { targets, .. } => {
                for target in targets {
                    let text = format!("every change to {}", self.view.path(&target.path));
                    self.wrapped(Part::Grant, INDENT, &text);
                }
            }
            Action::Task { agent } => {
                self.wrapped(Part::Grant, INDENT, &format!("every task for the agent {agent}"));
            }
            Action::Mcp { server, tool } => {
                self.wrapped(
                    Part::Grant,
                    INDENT,
                    &format!("every call of {tool} of the MCP server {server}"),
                );
            }
            Action::Read { .. } | Action::Skill { .. } | Action::Todo => {
                self.wrapped(Part::Grant, INDENT, grant);
            }
        }
    }

    fn preview(&mut self, request: &ApprovalRequest) {
        // The command that is judged and run is the action's; a preview may only add to it.
        if let Action::Command { command, .. } = &request.action {
            return self.exact(Part::Command, command);
        }
        let bounds = Bounds { columns: self.columns - INDENT.len(), lines: self.view.lines };
        match &request.preview {
            Preview::None => {}
            Preview::Command { command } => self.exact(Part::Command, command),
            Preview::Change { diff, .. } => self.diff(diff::judged(diff, bounds)),
            // Of several files.
            Preview::Text { text } if matches!(request.action, Action::Write { .. }) => {
                self.diff(diff::judged_files(text, bounds));
            }
            Preview::Text { text } => self.text(text, bounds),
        }
    }

    fn diff(&mut self, lines: Vec<diff::Line>) {
        for line in lines {
            self.cut |= line.kind == LineKind::LeftOut;
            self.push(Part::Diff(line.kind), format!("{INDENT}{}", line.text));
        }
    }

    fn text(&mut self, text: &str, bounds: Bounds) {
        let rows: Vec<String> =
            visible(text).lines().flat_map(|line| wrap_exact(line, bounds.columns)).collect();
        let shown = if rows.len() > bounds.lines { bounds.lines.saturating_sub(1) } else { rows.len() };
        for row in &rows[..shown] {
            self.push(Part::Text, format!("{INDENT}{row}"));
        }
        if shown < rows.len() {
            self.cut = true;
            self.push(Part::Note, format!("{INDENT}{}", diff::more(rows.len() - shown).text));
        }
    }

    /// The whole text: `$` before its first line, `>` before further ones, nothing before what was only wrapped.
    fn exact(&mut self, part: Part, text: &str) {
        let spelled = visible(text);
        let first_row = self.lines.len();
        let mut blank = 0;
        for (number, line) in spelled.split('\n').enumerate() {
            let mark = if number == 0 { "$ " } else { "> " };
            for (at, piece) in wrap_exact(line, self.columns - mark.len()).into_iter().enumerate() {
                if piece.trim().is_empty() {
                    blank += 1;
                    continue;
                }
                self.blank_rows(part, &mut blank);
                self.push(part, format!("{}{piece}", if at == 0 { mark } else { INDENT }));
            }
        }
        self.blank_rows(part, &mut blank);
        if self.lines.len() - first_row > TALL {
            let lines = format::count(spelled.split('\n').count(), "line");
            self.wrapped(
                Part::Note,
                INDENT,
                &format!("{lines}, all shown: scroll up to read from the start"),
            );
        }
        // A tab is spelled out too, but it is in every script that somebody indented.
        let odd = text.replace('\t', " ");
        if visible(&odd) != odd {
            self.wrapped(
                Part::Note,
                INDENT,
                "it holds characters that do not show; they are spelled out above",
            );
        }
    }

    fn blank_rows(&mut self, part: Part, blank: &mut usize) {
        if *blank > BLANK_ROWS {
            self.push(Part::Note, format!("{INDENT}({blank} empty rows)"));
        } else {
            (0..*blank).for_each(|_| self.push(part, ">".to_owned()));
        }
        *blank = 0;
    }
}

#[cfg(test)]
mod tests;
