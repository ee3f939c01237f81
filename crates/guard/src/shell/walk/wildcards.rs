//! Finds the files that an unquoted pattern names, by what lies in the folders now.

use std::path::{Path, PathBuf};

use crate::files::locate;
use crate::limits::{MAX_GLOB, MAX_GLOB_NAMES};
use crate::pattern::shell_glob;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;

impl Walker<'_> {
    /// Everything that a pattern may become, links followed; none when that cannot be told.
    pub(crate) fn expanded(&self, arg: &Arg) -> Option<Vec<PathBuf>> {
        let all = self.matches(arg)?;
        let view = self.around.files;
        Some(all.iter().map(|path| locate(view, self.around.root, Path::new("/"), path).path).collect())
    }

    /// May one of the names that a pattern becomes begin with a dash?
    pub(crate) fn may_begin_with_dash(&self, arg: &Arg) -> bool {
        let begins =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('-'));
        self.matches(arg).is_none_or(|all| all.iter().any(begins)) || arg.text.starts_with('-')
    }

    /// The names as they stand, where no script before made new ones.
    fn matches(&self, arg: &Arg) -> Option<Vec<PathBuf>> {
        let long = arg.text.len() > MAX_GLOB;
        if long
            || arg.has_unknown()
            || self.scope.folders.is_unknown()
            || !self.touched.written.is_empty()
            || !self.touched.linked.is_empty()
        {
            return None;
        }
        let mut all = Vec::new();
        for folder in &self.scope.folders.0 {
            let start = if arg.text.starts_with('/') { PathBuf::from("/") } else { folder.clone() };
            let mut found = vec![start];
            for part in arg.text.split('/').filter(|part| !part.is_empty() && *part != ".") {
                let mut next = Vec::new();
                for at in &found {
                    if !self.budget.spend(at.as_os_str().len()) {
                        return None;
                    }
                    if part.contains(['*', '?', '[']) {
                        let folder = locate(self.around.files, self.around.root, at, Path::new("")).path;
                        let names = self.names_in(&folder)?;
                        if !self.budget.spend(names.len() * part.len().max(8)) {
                            return None;
                        }
                        next.extend(names.iter().filter(|name| fits(part, name)).map(|name| at.join(name)));
                    }
                    // A name that only looks like a pattern is itself.
                    if part == ".."
                        || self.around.files.entry(&at.join(part)).is_some()
                        || !part.contains(['*', '?', '['])
                    {
                        next.push(at.join(part));
                    }
                    if next.len() > MAX_GLOB_NAMES {
                        return None;
                    }
                }
                found = next;
            }
            all.extend(found);
        }
        Some(all)
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    (!name.starts_with('.') || pattern.starts_with(['.', '['])) && shell_glob(pattern, name)
}
