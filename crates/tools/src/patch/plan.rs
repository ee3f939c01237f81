//! All files of a patch as they are and as they will be, in memory: nothing is written before everything is known to fit.

use std::path::Path;

use zdx_protocol::{Operation, Target, ToolCode, ToolError};

use super::super::change::{LineChange, MOST, adds_mask, is_utf16, lost_bytes, unseen};
use super::super::edit::nearest;
use super::super::input::invalid;
use super::place::{self, HunkMismatch};
use crate::patch_format::{HunkLineSign, PatchHunk, PatchSection, PatchSectionKind};
use zdx_workspace::text;
use zdx_workspace::workspace::{FileError, Workspace, near_names};
use zdx_workspace::{ContentVersion, SeenVersions};

/// Of all files together.
const MOST_BYTES: usize = 128 * 1024 * 1024;

#[derive(Default)]
pub(super) struct PatchPlan {
    pub files: Vec<PlannedFile>,
}

pub(super) struct PlannedFile {
    pub target: Target,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
    /// What the model has seen of it.
    known: SeenVersions,
    /// Permission bits before.
    pub mode: Option<u32>,
    pub executable: Option<bool>,
    /// Whose content this file takes over, by its place in the plan.
    pub moved_from: Option<usize>,
    pub moved_away: bool,
}

impl PlannedFile {
    /// No line of a diff tells that a file may be run from now on.
    fn mode_note(&self) -> Option<&'static str> {
        let was = self.mode.is_some_and(|mode| mode & 0o111 != 0);
        match self.executable {
            Some(true) if !was => Some("(it becomes executable)\n"),
            Some(false) if was => Some("(it is executable no more)\n"),
            Some(_) | None => None,
        }
    }
}

/// Why there is no plan. What it says of a file's content must wait until somebody allowed a look.
pub(super) struct PlanError {
    pub plainly: ToolError,
    pub helpfully: Option<String>,
}

impl From<ToolError> for PlanError {
    fn from(plainly: ToolError) -> Self {
        Self { plainly, helpfully: None }
    }
}

impl PlanError {
    pub(super) fn helpfully(self) -> ToolError {
        match self.helpfully {
            Some(message) => ToolError { message, ..self.plainly },
            None => self.plainly,
        }
    }
}

fn rejected(message: String) -> ToolError {
    ToolError::new(ToolCode::PatchRejected, format!("{message}; nothing was changed"))
}

/// Every file that a patch names and what it really is, found out once: what is judged is what is written, wherever a
/// link leads by then.
pub(super) struct PatchTargets(Vec<(String, Target)>);

impl PatchTargets {
    pub(super) fn resolve(workspace: &Workspace, sections: &[PatchSection]) -> Result<Self, ToolError> {
        let mut names = Vec::new();
        for section in sections {
            let moved = match &section.change {
                PatchSectionKind::Update { move_to: Some(to) } => Some(to),
                PatchSectionKind::Add
                | PatchSectionKind::Delete
                | PatchSectionKind::Update { move_to: None } => None,
            };
            for name in [Some(&section.path), moved].into_iter().flatten() {
                let target = workspace.resolve(name).map_err(|error| error.or_code(ToolCode::PathError))?;
                names.push((name.clone(), target));
            }
        }
        Ok(Self(names))
    }

    pub(super) fn targets(&self) -> Vec<Target> {
        let mut targets: Vec<Target> = Vec::new();
        for (_, target) in &self.0 {
            if !targets.contains(target) {
                targets.push(target.clone());
            }
        }
        targets
    }

    fn get(&self, name: &str) -> Result<Target, ToolError> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, target)| target.clone()).ok_or_else(|| invalid(format!("{name} is not in the patch")))
    }
}

impl PatchPlan {
    pub(super) fn make(
        workspace: &Workspace,
        sections: &[PatchSection],
        names: &PatchTargets,
    ) -> Result<Self, PlanError> {
        let mut plan = Self::default();
        for section in sections {
            plan.add(workspace, section, names)?;
        }
        plan.keeps_bytes()?;
        Ok(plan)
    }

    fn keeps_bytes(&self) -> Result<(), ToolError> {
        let loses = |file: &&PlannedFile| {
            let [before, after] = [&self.source(file).before, &file.after];
            before
                .as_deref()
                .zip(after.as_deref())
                .is_some_and(|(before, after)| text::loses_bytes(before, after))
        };
        match self.files.iter().find(loses) {
            Some(file) => Err(ToolError::new(ToolCode::PatchRejected, lost_bytes(&file.target.path))),
            None => Ok(()),
        }
    }

    /// The file, or the one whose content it takes over.
    fn source<'a>(&'a self, file: &'a PlannedFile) -> &'a PlannedFile {
        file.moved_from.map_or(file, |at| &self.files[at])
    }

    fn add(
        &mut self,
        workspace: &Workspace,
        section: &PatchSection,
        names: &PatchTargets,
    ) -> Result<(), PlanError> {
        let at = self.load(workspace, names.get(&section.path)?)?;
        let path = self.files[at].target.path.display().to_string();
        if let Some(executable) = section.executable {
            self.files[at].executable = Some(executable);
        }
        match &section.change {
            PatchSectionKind::Add => {
                if self.files[at].after.is_some() {
                    return Err(rejected(format!("{path} is to be added, but exists already")).into());
                }
                self.files[at].after = Some(added(&section.hunks)?);
            }
            PatchSectionKind::Delete => {
                if section.hunks.is_empty() && self.is_overtaken(&self.files[at]) {
                    return Err(unseen(&self.files[at].target.path).into());
                }
                let content = self.take(at)?;
                not_a_link(workspace, &section.path)?;
                let rest = match section.hunks.is_empty() {
                    true => Vec::new(),
                    false => applied(&content, section, &path)?,
                };
                if !rest.is_empty() {
                    let message = format!("{path} is to be deleted, but holds more than the patch removes");
                    return Err(rejected(message).into());
                }
            }
            PatchSectionKind::Update { move_to } => {
                let content = applied(&self.take(at)?, section, &path)?;
                match move_to {
                    None => self.files[at].after = Some(content),
                    Some(to) => {
                        not_a_link(workspace, &section.path)?;
                        let to = self.load(workspace, names.get(to)?)?;
                        self.rename(at, to, content)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn rename(&mut self, from: usize, to: usize, content: Vec<u8>) -> Result<(), PlanError> {
        if to == from {
            self.files[from].after = Some(content);
            return Ok(());
        }
        if self.files[to].after.is_some() {
            let path = self.files[to].target.path.display();
            return Err(rejected(format!("a file is to be moved to {path}, which exists already")).into());
        }
        let (mode, executable) = (self.files[from].mode, self.files[from].executable.take());
        let file = &mut self.files[to];
        (file.after, file.mode, file.executable) = (Some(content), mode, executable);
        file.moved_from = Some(from);
        self.files[from].moved_away = true;
        Ok(())
    }

    /// The file's place in the plan; read when it is named for the first time.
    fn load(&mut self, workspace: &Workspace, target: Target) -> Result<usize, ToolError> {
        if let Some(at) = self.files.iter().position(|file| file.target.path == target.path) {
            return Ok(at);
        }
        let (before, mode) = match read(workspace, &target) {
            Ok((content, mode)) => (Some(content), Some(mode)),
            Err(FileError::Missing(_)) => (None, None),
            Err(error) => return Err(error.or_code(ToolCode::PathError)),
        };
        let held: usize = self.files.iter().filter_map(|file| file.before.as_ref()).map(Vec::len).sum();
        if held + before.as_ref().map_or(0, Vec::len) > MOST_BYTES {
            return Err(ToolError::new(
                ToolCode::TooLarge,
                "the files of this patch are too large together: split it",
            ));
        }
        let after = before.clone();
        self.files.push(PlannedFile {
            known: workspace.ledger().seen(&target.path),
            target,
            before,
            after,
            mode,
            executable: None,
            moved_from: None,
            moved_away: false,
        });
        Ok(self.files.len() - 1)
    }

    fn take(&mut self, at: usize) -> Result<Vec<u8>, ToolError> {
        let file = &mut self.files[at];
        let content = file.after.take().ok_or_else(|| missing(&file.target))?;
        match content.contains(&0) {
            _ if text::is_utf16(&content) => Err(rejected(is_utf16(&file.target.path))),
            true => Err(rejected(format!("{} is a binary file", file.target.path.display()))),
            false => Ok(content),
        }
    }

    /// Whether a file, or the one whose content it takes over, held what the model has not seen.
    pub(super) fn is_overtaken(&self, file: &PlannedFile) -> bool {
        let source = self.source(file);
        source.known.is_overtaken_by(ContentVersion::of(source.before.as_deref()))
    }

    /// All files together: one may take over what another held.
    pub(super) fn adds_mask(&self) -> bool {
        let joined = |content: fn(&PlannedFile) -> &Option<Vec<u8>>| -> Vec<u8> {
            self.files.iter().filter_map(|file| content(file).as_deref()).collect::<Vec<_>>().join(&b'\n')
        };
        adds_mask(&joined(|file| &file.before), &joined(|file| &file.after))
    }

    /// What happens to a file, and the lines that come and go; nothing for one that only lent its content.
    pub(super) fn change(&self, file: &PlannedFile) -> Option<(Operation, LineChange)> {
        let source = file.moved_from.map(|at| &self.files[at]);
        let before = match source {
            Some(source) => source.before.as_deref(),
            None => file.before.as_deref(),
        };
        let operation = match (&file.before, &file.after) {
            (None, None) => return None,
            (Some(_), None) if file.moved_away => return None,
            (Some(_), None) => Operation::Deleted,
            (_, Some(_)) if source.is_some() => Operation::Renamed,
            (None, Some(_)) => Operation::Created,
            (Some(before), Some(after)) if before == after && file.executable.is_none() => {
                Operation::Unchanged
            }
            (Some(_), Some(_)) => Operation::Updated,
        };
        let mut lines =
            LineChange::between(before.unwrap_or_default(), file.after.as_deref().unwrap_or_default());
        if let Some(note) = file.mode_note() {
            lines.diff.insert_str(0, note);
        }
        Some((operation, lines))
    }
}

fn read(workspace: &Workspace, target: &Target) -> Result<(Vec<u8>, u32), FileError> {
    use std::os::unix::fs::MetadataExt;
    let opened = workspace.open_file(target)?;
    let mode = opened.file.metadata().map_or(0o644, |found| found.mode() & 0o7777);
    Ok((workspace.read_file(target, MOST)?, mode))
}

/// Names beside it are told for the workspace alone: elsewhere nobody has allowed a look yet.
fn missing(target: &Target) -> ToolError {
    let near = if target.inside { near_names(&target.path) } else { Vec::new() };
    let hint = match near.is_empty() {
        true => String::new(),
        false => format!("; near names here: {}", near.join(", ")),
    };
    ToolError::new(ToolCode::PathError, format!("{} does not exist{hint}", target.path.display()))
}

/// The name is what would go, and what it leads to is what was meant, or the other way round: nobody knows.
fn not_a_link(workspace: &Workspace, name: &str) -> Result<(), ToolError> {
    let named = workspace.root().join(Path::new(name));
    match named.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        true => Err(rejected(format!("{name} is a symbolic link: delete or move it with bash"))),
        false => Ok(()),
    }
}

fn added(hunks: &[PatchHunk]) -> Result<Vec<u8>, ToolError> {
    let mut content = Vec::new();
    let mut open = false;
    for hunk in hunks {
        for (sign, line) in &hunk.lines {
            if *sign != HunkLineSign::Add {
                let line = hunk.line;
                return Err(invalid(format!(
                    "the hunk at line {line} of the patch adds a file and must hold `+` lines alone"
                )));
            }
            content.extend_from_slice(line.as_bytes());
            content.push(b'\n');
        }
        open = hunk.open_new;
    }
    if open {
        content.pop();
    }
    Ok(content)
}

fn applied(content: &[u8], section: &PatchSection, path: &str) -> Result<Vec<u8>, PlanError> {
    place::apply(content, &section.hunks).map_err(|misplaced| {
        let hunk = &section.hunks[misplaced.hunk];
        let (number, of, line) = (misplaced.hunk + 1, section.hunks.len(), hunk.line);
        let what = format!("hunk {number} of {of} for {path} (line {line} of the patch)");
        let (plain, help) = match &misplaced.misfit {
            HunkMismatch::NotFound => {
                ("does not match the file: read it again".to_owned(), not_found(content, &old_text(hunk)))
            }
            HunkMismatch::Ambiguous(starts) => {
                let starts: Vec<String> = starts.iter().map(usize::to_string).collect();
                (
                    "matches at several places: add context lines, or an @@ line that tells them apart"
                        .to_owned(),
                    Some(format!("It matches at lines {}.", starts.join(", "))),
                )
            }
            HunkMismatch::NoContext => {
                ("only adds, and nothing says where: give it a context line".to_owned(), None)
            }
            HunkMismatch::Overlap => ("changes lines that another hunk changes too".to_owned(), None),
        };
        let plainly = rejected(format!("{what} {plain}"));
        let helpfully = help.map(|help| format!("{}. {help}", plainly.message));
        PlanError { plainly, helpfully }
    })
}

fn not_found(content: &[u8], old: &str) -> Option<String> {
    let shown_bytes = old.contains('\u{fffd}') && std::str::from_utf8(content).is_err();
    let hint = "U+FFFD stands for bytes there that are not UTF-8: leave such lines out of the patch.";
    let near = nearest::region(&String::from_utf8_lossy(content), old);
    let parts = [shown_bytes.then(|| hint.to_owned()), near];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn old_text(hunk: &PatchHunk) -> String {
    hunk.old_lines().collect::<Vec<_>>().join("\n")
}
