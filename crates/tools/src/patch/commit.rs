//! Writing a plan: all of it, or nothing. New content is laid beside every file before the first is replaced, and what
//! was replaced is put back when a later step fails.

use std::path::{Path, PathBuf};

use zdx_protocol::{ToolCode, ToolError};

use super::super::change::MOST;
use super::plan::{PatchPlan, PlannedFile};
use zdx_workspace::ContentVersion;
use zdx_workspace::workspace::{FileError, FilePermissions, SetAsideFile, StagedFile, Workspace};

pub(super) fn commit(workspace: &Workspace, plan: &PatchPlan) -> Result<(), ToolError> {
    let mut work =
        PatchCommit { workspace, new_folders: new_folders(plan), done: Vec::new(), aside: Vec::new() };
    match work.stage(plan).and_then(|staged| work.carry_out(plan, staged)) {
        Ok(()) => {
            work.aside.into_iter().for_each(SetAsideFile::discard);
            for file in plan.files.iter().filter(|file| file.before != file.after) {
                let [before, after] =
                    [&file.before, &file.after].map(|content| ContentVersion::of(content.as_deref()));
                workspace.ledger().note_change(&file.target.path, before, after);
            }
            verify(workspace, plan)
        }
        Err(error) => Err(work.undo(error.not_written())),
    }
}

struct PatchCommit<'a> {
    workspace: &'a Workspace,
    new_folders: Vec<PathBuf>,
    /// Replaced or created so far.
    done: Vec<&'a PlannedFile>,
    /// To be deleted in the end; back in its place when dropped.
    aside: Vec<SetAsideFile>,
}

fn writes(file: &PlannedFile) -> Option<&[u8]> {
    let after = file.after.as_deref()?;
    (file.before.as_deref() != Some(after) || file.executable.is_some()).then_some(after)
}

impl<'a> PatchCommit<'a> {
    fn stage(&self, plan: &'a PatchPlan) -> Result<Vec<(&'a PlannedFile, StagedFile)>, FileError> {
        let stage = |file: &'a PlannedFile| {
            let content = writes(file)?;
            let permissions = match (file.executable, file.moved_from, file.mode) {
                (Some(executable), ..) => FilePermissions::Executable(executable),
                (None, Some(_), Some(mode)) => FilePermissions::Like(mode),
                (None, _, _) => FilePermissions::Keep,
            };
            let like = file.moved_from.map_or(&file.target, |at| &plan.files[at].target);
            let staged = self.workspace.stage_text(&file.target, like, content, permissions);
            Some(staged.map(|staged| (file, staged)))
        };
        plan.files.iter().filter_map(stage).collect()
    }

    fn carry_out(
        &mut self,
        plan: &'a PatchPlan,
        staged: Vec<(&'a PlannedFile, StagedFile)>,
    ) -> Result<(), FileError> {
        for (file, staged) in staged {
            staged.commit_if(|| holds(self.workspace, file, file.before.as_deref()))?;
            self.done.push(file);
        }
        for file in plan.files.iter().filter(|file| file.before.is_some() && file.after.is_none()) {
            let holds = || holds(self.workspace, file, file.before.as_deref());
            self.aside.push(self.workspace.set_aside_if(&file.target, holds)?);
        }
        Ok(())
    }

    /// Puts everything back, and says so if something could not be.
    fn undo(self, error: ToolError) -> ToolError {
        let Self { workspace, new_folders, done, aside } = self;
        drop(aside);
        let mut left: Vec<String> = Vec::new();
        for file in done.into_iter().rev() {
            let is_ours = || holds(workspace, file, file.after.as_deref());
            let undone = match (&file.before, file.mode) {
                (Some(before), mode) => {
                    let permissions = mode.map_or(FilePermissions::Keep, FilePermissions::Like);
                    let staged = workspace.stage(&file.target, before, permissions);
                    staged.and_then(|staged| staged.commit_if(is_ours)).map(drop)
                }
                (None, _) => workspace.set_aside_if(&file.target, is_ours).map(SetAsideFile::discard),
            };
            if undone.is_err() {
                left.push(file.target.path.display().to_string());
            }
        }
        for folder in new_folders.iter().rev() {
            // One that is not empty is somebody's.
            let _ = std::fs::remove_dir(folder);
        }
        if left.is_empty() {
            return ToolError { message: format!("{}; nothing was changed", error.message), ..error };
        }
        // Whatever failed first: this code says that files were changed.
        let message = format!("{}; these could not be put back: {}", error.message, left.join(", "));
        ToolError::new(ToolCode::WriteError, message)
    }
}

/// Whether the file has this content. Others than zdx know no lock: looked at again right before the file is replaced.
fn holds(workspace: &Workspace, file: &PlannedFile, content: Option<&[u8]>) -> Result<bool, FileError> {
    match workspace.read_file(&file.target, MOST) {
        Ok(now) => Ok(Some(&now[..]) == content),
        Err(FileError::Missing(_)) => Ok(content.is_none()),
        Err(error) => Err(error),
    }
}

/// Folders that come with new files, outermost first.
fn new_folders(plan: &PatchPlan) -> Vec<PathBuf> {
    let created = plan.files.iter().filter(|file| file.before.is_none() && file.after.is_some());
    let parents = created.flat_map(|file| file.target.path.ancestors().skip(1));
    let mut folders: Vec<PathBuf> =
        parents.filter(|folder| folder.symlink_metadata().is_err()).map(Path::to_owned).collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

fn verify(workspace: &Workspace, plan: &PatchPlan) -> Result<(), ToolError> {
    for file in &plan.files {
        if workspace.read_file(&file.target, MOST).ok() != file.after {
            let path = file.target.path.display();
            return Err(ToolError::new(
                ToolCode::WriteError,
                format!(
                    "{path} does not hold what was written, the other files of the patch do: read it again"
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use zdx_protocol::FileChange;

    use super::super::plan::PatchTargets;
    use super::*;
    use crate::patch_format::parse;
    use zdx_workspace::{BlobStore, Checkpoints, OnIntent};

    /// Fails when it comes to the file that became a folder after everything was staged.
    #[test]
    fn what_was_written_before_a_failure_is_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["a", "b", "gone"] {
            fs::write(path(name), "old\n").unwrap();
        }
        fs::set_permissions(path("a"), fs::Permissions::from_mode(0o751)).unwrap();
        let text = "*** Begin Patch\n*** Update File: a\n-old\n+new\n*** Add File: deep/er/new\n+x\n*** Delete File: gone\n\
                    *** Update File: b\n-old\n+new\n*** End Patch\n";
        let sections = parse(text).unwrap();
        let names = PatchTargets::resolve(&workspace, &sections).unwrap();
        let plan = PatchPlan::make(&workspace, &sections, &names).ok().unwrap();
        let mut work = PatchCommit {
            workspace: &workspace,
            new_folders: new_folders(&plan),
            done: Vec::new(),
            aside: Vec::new(),
        };
        let staged = work.stage(&plan).ok().unwrap();
        assert_eq!(fs::read(path("a")).unwrap(), b"old\n", "staging replaces nothing");
        fs::remove_file(path("b")).unwrap();
        fs::create_dir(path("b")).unwrap();
        let error = work.carry_out(&plan, staged).unwrap_err();
        assert_eq!(fs::read(path("a")).unwrap(), b"new\n", "it did not come so far");
        let error = work.undo(error.not_written());
        assert_eq!(error.code, ToolCode::NotRegular);
        assert!(error.message.ends_with("; nothing was changed"), "{error}");
        assert_eq!(fs::read(path("a")).unwrap(), b"old\n");
        assert_eq!(fs::metadata(path("a")).unwrap().permissions().mode() & 0o7777, 0o751);
        assert_eq!(fs::read(path("gone")).unwrap(), b"old\n");
        let mut names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a", "b", "gone"]);
    }

    /// The code tells the turn that files were changed, whatever failed first.
    #[test]
    fn what_cannot_be_put_back_is_a_write_error() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["a", "b"] {
            fs::write(path(name), "old\n").unwrap();
        }
        let text = "*** Begin Patch\n*** Update File: a\n-old\n+new\n*** Update File: b\n-old\n+new\n*** End Patch\n";
        let sections = parse(text).unwrap();
        let names = PatchTargets::resolve(&workspace, &sections).unwrap();
        let plan = PatchPlan::make(&workspace, &sections, &names).ok().unwrap();
        let mut work = PatchCommit {
            workspace: &workspace,
            new_folders: Vec::new(),
            done: Vec::new(),
            aside: Vec::new(),
        };
        let staged = work.stage(&plan).ok().unwrap();
        fs::write(path("b"), "somebody else's\n").unwrap();
        let error = work.carry_out(&plan, staged).unwrap_err();
        fs::remove_file(path("a")).unwrap();
        fs::create_dir(path("a")).unwrap();
        let error = work.undo(error.not_written());
        assert_eq!(error.code, ToolCode::WriteError);
        assert!(error.message.contains("these could not be put back: "), "{error}");
    }

    /// The second file is written to by somebody else while its change is announced; the first one after it was replaced.
    #[test]
    fn a_file_that_others_change_meanwhile_is_neither_replaced_nor_deleted_nor_put_back() {
        for (change, kept) in [
            ("*** Update File: b\n-old\n+new\n", "old\ntheirs\n"),
            ("*** Delete File: b\n", "old\ntheirs\n"),
            ("*** Add File: c\n+new\n", "theirs\n"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = |name: &str| dir.path().join(name);
            for name in ["a", "b"] {
                fs::write(path(name), "old\n").unwrap();
            }
            let journal = Arc::new(Checkpoints::new(BlobStore::new(path("blobs"))));
            let first = path("a");
            journal.record_to(Box::new(OnIntent(move |intent: &FileChange| {
                let append = |path: &Path| {
                    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
                    file.write_all(b"theirs\n").unwrap();
                };
                if !intent.path.ends_with("a") {
                    append(&intent.path);
                    append(&first);
                }
            })));
            let workspace = Workspace::open(dir.path()).unwrap().with_journal(journal);
            let text = format!("*** Begin Patch\n*** Update File: a\n-old\n+new\n{change}*** End Patch\n");
            let sections = parse(&text).unwrap();
            let names = PatchTargets::resolve(&workspace, &sections).unwrap();
            let plan = PatchPlan::make(&workspace, &sections, &names).ok().unwrap();
            let error = commit(&workspace, &plan).unwrap_err();
            assert_eq!(error.code, ToolCode::WriteError, "{change}: {error}");
            assert!(error.message.ends_with("/a"), "the first is named: {error}");
            let second = if change.contains("Add File") { "c" } else { "b" };
            assert_eq!(fs::read_to_string(path(second)).unwrap(), kept, "{change}");
            assert_eq!(fs::read_to_string(path("a")).unwrap(), "new\ntheirs\n", "{change}");
        }
    }

    #[test]
    fn a_deletion_that_fails_brings_back_those_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        for name in ["a", "b"] {
            fs::write(dir.path().join(name), "old\n").unwrap();
        }
        let text = "*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch\n";
        let sections = parse(text).unwrap();
        let names = PatchTargets::resolve(&workspace, &sections).unwrap();
        let plan = PatchPlan::make(&workspace, &sections, &names).ok().unwrap();
        fs::remove_file(dir.path().join("b")).unwrap();
        assert!(commit(&workspace, &plan).is_err());
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"old\n");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
