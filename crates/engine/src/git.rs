//! What can be told of a repository by reading its files: no program is started, least of all in a folder that nobody
//! trusts yet.

use std::path::{Path, PathBuf};

use zdx_workspace::own_files::read_regular;

const LARGEST: usize = 4 << 10;
/// Of a commit that no branch names.
const SHORT_HASH: usize = 8;

/// The branch that is checked out in the repository a folder lies in, or the commit when it is on none.
pub(crate) fn branch(folder: &Path) -> Option<String> {
    let head = text(&git_folder(folder)?.join("HEAD"))?;
    match head.strip_prefix("ref:") {
        Some(name) => {
            let name = name.trim();
            Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned())
        }
        None => head.get(..SHORT_HASH).map(str::to_owned),
    }
}

fn git_folder(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find_map(|place| {
        let found = place.join(".git");
        if found.is_dir() {
            return Some(found);
        }
        // A worktree or a submodule: a file says where the folder is.
        let named = text(&found)?;
        Some(place.join(named.strip_prefix("gitdir:")?.trim()))
    })
}

fn text(path: &Path) -> Option<String> {
    let read = read_regular(path, LARGEST).ok()?;
    String::from_utf8(read.bytes).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_read_from_the_repository_around_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        let deep = dir.path().join("src/deep");
        std::fs::create_dir_all(&deep).unwrap();
        write(".git/HEAD", "ref: refs/heads/feature/x\n");
        assert_eq!(branch(&deep).as_deref(), Some("feature/x"));
        write(".git/HEAD", "0123456789abcdef0123456789abcdef01234567\n");
        assert_eq!(branch(&deep).as_deref(), Some("01234567"));
        write("tree/.git", "gitdir: ../elsewhere\n");
        write("elsewhere/HEAD", "ref: refs/heads/main\n");
        assert_eq!(branch(&dir.path().join("tree")).as_deref(), Some("main"));
    }
}
