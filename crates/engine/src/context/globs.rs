//! Instruction files that configuration names with wildcards. Reads folders, never files.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use ignore::WalkBuilder;

/// More files than this are no instructions.
const MOST_FILES: usize = 100;
const MOST_ENTRIES: usize = 20_000;
const DEPTH: usize = 12;

/// The files a path means, by name, and what the user should know. A path that exists means itself, whatever characters
/// it holds.
pub(super) fn expand(path: &Path) -> (Vec<PathBuf>, Option<String>) {
    let text = path.to_string_lossy();
    if !text.contains(['*', '?', '[', '{']) || path.symlink_metadata().is_ok() {
        return (vec![path.to_owned()], None);
    }
    let matcher = match GlobBuilder::new(&text).literal_separator(true).build() {
        Ok(glob) => glob.compile_matcher(),
        Err(error) => return (Vec::new(), Some(format!("{text} is left out: {}", error.kind()))),
    };
    let fixed =
        |part: &std::path::Component| !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    let folder: PathBuf = path.components().take_while(fixed).collect();
    // Hidden folders hold instructions too; what is ignored was made, not written.
    let walk = WalkBuilder::new(&folder)
        .hidden(false)
        .require_git(false)
        .max_depth(Some(DEPTH))
        .sort_by_file_name(std::cmp::Ord::cmp)
        .build();
    let entries =
        walk.take(MOST_ENTRIES).flatten().filter(|entry| entry.file_type().is_none_or(|kind| !kind.is_dir()));
    let mut files: Vec<PathBuf> =
        entries.map(ignore::DirEntry::into_path).filter(|path| matcher.is_match(path)).collect();
    let found = files.len();
    files.truncate(MOST_FILES);
    let notice = match found {
        0 => Some(format!("{text} names no file: instructions has nothing to load from it")),
        _ if found > MOST_FILES => {
            Some(format!("{text} names {found} files; only the first {MOST_FILES} are loaded"))
        }
        _ => None,
    };
    (files, notice)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn wildcards_name_files_in_order_and_a_plain_path_means_itself() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("docs/deep")).unwrap();
        for name in ["docs/b.md", "docs/a.md", "docs/c.txt", "docs/deep/d.md", "odd[1].md"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let names = |pattern: &str| {
            let (files, notice) = expand(&dir.path().join(pattern));
            let short = |path: PathBuf| path.strip_prefix(dir.path()).unwrap().display().to_string();
            (files.into_iter().map(short).collect::<Vec<_>>(), notice.is_some())
        };
        assert_eq!(names("docs/*.md"), (vec!["docs/a.md".to_owned(), "docs/b.md".to_owned()], false));
        assert_eq!(names("docs/**/*.md").0.len(), 3);
        assert_eq!(names("odd[1].md"), (vec!["odd[1].md".to_owned()], false));
        assert_eq!(names("missing.md"), (vec!["missing.md".to_owned()], false));
        assert_eq!(names("docs/*.rs"), (vec![], true));
        assert_eq!(names("docs/[.md"), (vec![], true));
    }
}
