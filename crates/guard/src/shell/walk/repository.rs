//! The settings of the git repository that a command runs in: some make git itself run a program.
//! What cannot be read plainly counts as one that does.

use std::path::{Path, PathBuf};

use crate::files::{FileEntry, locate};
use crate::shell::Part;
use crate::shell::programs::special::git::{harmless_value, is_command_key};
use crate::shell::walk::Walker;

impl Walker<'_> {
    /// git only reads the repository, unless the repository tells it to run something.
    pub(crate) fn repository(&mut self, part: &mut Part) {
        if self.scope.folders.is_unknown()
            || !self.touched.written.is_empty()
            || !self.touched.linked.is_empty()
        {
            part.doubt();
        } else if !self.scope.folders.0.iter().all(|folder| self.is_quiet(folder)) {
            part.doubt();
            part.ask("git may run what the repository's settings name");
        }
    }

    fn is_quiet(&self, folder: &Path) -> bool {
        if self.is_outside(folder) {
            return false;
        }
        for above in folder.ancestors() {
            let git = above.join(".git");
            match self.around.files.entry(&git) {
                Some(FileEntry::Dir) => return self.keeps_quiet(&git, &git, above),
                Some(FileEntry::File) => {
                    let Some(own) = self.pointed_to(&git, "gitdir:", above) else { return false };
                    let common = match self.around.files.entry(&own.join("commondir")) {
                        Some(_) => self.pointed_to(&own.join("commondir"), "", &own),
                        None => Some(own.clone()),
                    };
                    return common.is_some_and(|common| self.keeps_quiet(&own, &common, above));
                }
                Some(FileEntry::Link(_) | FileEntry::Other) => return false,
                None => {}
            }
            // A folder that looks like a repository is one, settings and all.
            if ["HEAD", "objects", "refs"]
                .iter()
                .all(|name| self.around.files.entry(&above.join(name)).is_some())
            {
                return false;
            }
        }
        // Without a repository git does nothing.
        true
    }

    /// `gitdir: path`: the folder that a file names.
    fn pointed_to(&self, file: &Path, key: &str, from: &Path) -> Option<PathBuf> {
        let text = self.around.files.text(file)?;
        let path = text.strip_prefix(key)?.trim();
        let located = locate(self.around.files, self.around.root, from, Path::new(path));
        located.is_dir().then_some(located.path)
    }

    /// Neither settings nor hooks make git run something while it only looks.
    fn keeps_quiet(&self, own: &Path, common: &Path, top: &Path) -> bool {
        let files = self.around.files;
        let quiet = |file: PathBuf| match files.entry(&file) {
            None => true,
            Some(FileEntry::File) => files.text(&file).is_some_and(|text| runs_nothing(&text)),
            Some(FileEntry::Dir | FileEntry::Link(_) | FileEntry::Other) => false,
        };
        // This hook runs whenever the index is refreshed, which looking at the status does.
        let hook = ["hooks/post-index-change"].iter().any(|hook| files.entry(&common.join(hook)).is_some());
        // In modules, git looks into other repositories.
        let modules = files.entry(&top.join(".gitmodules")).is_some();
        quiet(common.join("config")) && quiet(own.join("config.worktree")) && !hook && !modules
    }
}

/// Does no setting in here name a program, or another file of settings? What is not plain might.
fn runs_nothing(text: &str) -> bool {
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let Some((name, after)) = rest.split_once(']') else { return false };
            if !after.trim().is_empty() && !after.trim().starts_with(['#', ';']) {
                return false;
            }
            section = match name.split_once(' ') {
                Some((name, sub)) => {
                    format!("{}.{}", name.to_lowercase(), sub.trim().trim_matches('"').to_lowercase())
                }
                None => name.to_lowercase(),
            };
            continue;
        }
        // A line that goes on below could be anything.
        if line.ends_with('\\') || section.is_empty() {
            return false;
        }
        let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
        let key = format!("{section}.{}", key.to_lowercase());
        let harmless =
            key != "core.worktree" && harmless_value(value) && key != "core.fsmonitor" || value == "false";
        // Where something is fetched from, or whom a branch follows, is everyday and runs nothing by itself.
        if is_command_key(&key) && !harmless {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_something_are_found() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = git@h:x/y\n\
                     \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n[user]\n name = A\n";
        assert!(runs_nothing(plain));
        for setting in [
            "[core]\n\tfsmonitor = ./x",
            "[core]\n\tfsmonitor = true",
            "[core]\n fsMonitor=./x",
            "[diff]\n external = x",
            "[diff \"a\"]\n textconv = x",
            "[DIFF \"A b\"]\n command = x",
            "[filter \"lfs\"]\n clean = git-lfs clean",
            "[include]\n path = ../x",
            "[includeIf \"gitdir:x\"]\n path = ../x",
            "[core] pager = x",
            "[core\n]\npager = x",
            "[core]\n pager = \\\nx",
            "pager = x",
            "[alias]\n status = !x",
            "[core]\n hooksPath = .",
            "[core]\n sshCommand = x",
            "[log]\n showSignature = yes",
        ] {
            assert!(!runs_nothing(setting), "{setting}");
        }
    }
}
