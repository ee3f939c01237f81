//! Folders outside the workspace that the user adds to a session: named with `--add-dir` or `/add-dir`. What they then allow
//! is the guard's business; here a name becomes the grant that is remembered.

use std::path::{Path, PathBuf};

use zdx_guard::{PolicyContext, folder_grant};
use zdx_protocol::{GrantScope, Granting, Target};

use crate::grants::Granted;
use zdx_workspace::Workspace;

/// Why a folder was not added.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddFolderError {
    #[error("cannot add {named}: {why}")]
    Refused { named: String, why: String },
    #[error("{} belongs to the workspace already", .0.display())]
    Inside(PathBuf),
    #[error("{} was added already", .0.display())]
    Known(PathBuf),
}

/// Adds the folders of the command line and returns those that are new. One that is part of the workspace is passed over.
pub(crate) fn add_all(
    named: &[PathBuf],
    workspace: &Workspace,
    policy: &PolicyContext,
    granted: &Granted,
) -> Result<Vec<PathBuf>, AddFolderError> {
    let mut added = Vec::new();
    for path in named {
        let target = workspace.locate(path).map_err(|error| refused(&path.display().to_string(), error));
        match target.and_then(|target| add(&path.display().to_string(), target, policy, granted)) {
            Ok(path) => added.push(path),
            Err(AddFolderError::Inside(_) | AddFolderError::Known(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(added)
}

/// Adds the folder that a person named in the session.
pub(crate) fn add_named(
    named: &str,
    workspace: &Workspace,
    policy: &PolicyContext,
    granted: &Granted,
) -> Result<PathBuf, AddFolderError> {
    let target = workspace.resolve(named).map_err(|error| refused(named, error))?;
    add(named, target, policy, granted)
}

fn add(
    named: &str,
    target: Target,
    policy: &PolicyContext,
    granted: &Granted,
) -> Result<PathBuf, AddFolderError> {
    if !target.exists {
        return Err(refused(named, "there is no such folder"));
    }
    if !target.path.is_dir() {
        return Err(refused(named, "it is no folder; name the one that it lies in"));
    }
    if target.inside {
        return Err(AddFolderError::Inside(target.path));
    }
    let grant = folder_grant(&target.path, policy).map_err(|why| refused(named, why))?;
    let (session, _) = granted.by_scope(&policy.root);
    if session.contains(&grant) {
        return Err(AddFolderError::Known(target.path));
    }
    // Held in memory: the record of it is what a resumed session reads.
    let _ = granted.remember(&policy.root, &grant, GrantScope::Session);
    Ok(target.path)
}

fn refused(named: &str, why: impl ToString) -> AddFolderError {
    AddFolderError::Refused { named: named.to_owned(), why: why.to_string() }
}

/// The folders that these grants add, sorted.
pub(crate) fn listed(granted: &Granted, root: &Path) -> Vec<String> {
    let (session, _) = granted.by_scope(root);
    let folder = |grant: &String| match Granting::of(grant) {
        Granting::Folder(path) => Some(path.to_owned()),
        Granting::Exactly(_) | Granting::Commands(_) | Granting::Edits => None,
    };
    session.iter().filter_map(folder).collect()
}

#[cfg(test)]
mod tests {
    use zdx_protocol::Approval;

    use super::*;
    use crate::grants::GrantStore;

    #[test]
    fn a_folder_is_added_once_and_only_if_it_may_be() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for folder in ["work/sub", "data/set", "home/.ssh", "home/notes"] {
            std::fs::create_dir_all(base.join(folder)).unwrap();
        }
        std::fs::write(base.join("data/file"), "x").unwrap();
        std::os::unix::fs::symlink(base.join("data/set"), base.join("work/link")).unwrap();
        let (root, home) = (base.join("work"), base.join("home"));
        let workspace = Workspace::open(&root).unwrap().with_home(Some(home.clone()));
        let policy = PolicyContext { home: Some(home), ..PolicyContext::new(&root, Approval::Balanced) };
        let granted = Granted::new(&[], GrantStore::new(base.join("grants.json")));
        let add = |named: &str| {
            let added = add_named(named, &workspace, &policy, &granted);
            added.map_err(|error| error.to_string().replace(base.to_str().unwrap(), "BASE"))
        };
        assert_eq!(add("link"), Ok(base.join("data/set")), "where a link leads is what is added");
        assert_eq!(add("../data/set"), Err("BASE/data/set was added already".into()));
        assert_eq!(add("sub"), Err("BASE/work/sub belongs to the workspace already".into()));
        assert_eq!(add("~/notes"), Ok(base.join("home/notes")));
        assert!(add("/").unwrap_err().contains("the whole disk"));
        assert!(add("~").unwrap_err().contains("your home folder"));
        assert!(add("..").unwrap_err().contains("your home folder lies in it"));
        assert!(add("~/.ssh").unwrap_err().contains("keys or passwords"));
        assert!(add("../data/file").unwrap_err().contains("it is no folder"));
        assert!(add("../data/none").unwrap_err().contains("there is no such folder"));
        let all =
            [base.join("data/set"), base.join("home/notes")].map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(listed(&granted, &root), all);
    }
}
