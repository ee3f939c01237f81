//! Words that may or may not be paths, and git repositories whose settings may run something.

use std::path::{Path, PathBuf};

use crate::files::FileEntry;
use crate::shell::programs::generic::is_remote;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::FileEffect;
use crate::shell::{Concern, Part};

impl Walker<'_> {
    /// An argument of a command we do not know: a path only when it looks like one that is there.
    pub(crate) fn loose_path(&mut self, arg: &Arg, write: bool, part: &mut Part) {
        // `/here:/there` of a container: only the first is a path of this machine.
        let here = arg.text.split_once(':').filter(|(here, _)| here.starts_with('/'));
        let here = here.map(|(here, _)| Arg { text: here.to_owned(), ..arg.clone() });
        let arg = here.as_ref().unwrap_or(arg);
        let text = arg.text.as_str();
        let climbs =
            text == ".." || text.starts_with("../") || text.contains("/../") || text.ends_with("/..");
        if is_remote(text) || text.contains(' ') || text.contains('\n') {
            return;
        }
        let absolute = text.starts_with('/') && self.first_folder_exists(text);
        if !absolute && !climbs && !self.is_link(arg) {
            if write {
                self.changes(arg, FileEffect::Alter, part);
            }
            return;
        }
        if write {
            self.changes(arg, FileEffect::Alter, part);
            return;
        }
        for path in self.place(arg).paths().into_iter().filter(|path| self.is_outside(path)) {
            let system = ["/usr", "/bin", "/sbin", "/lib", "/opt", "/nix"]
                .iter()
                .any(|folder| path.starts_with(folder));
            if !system || climbs {
                part.add(Concern::Outside { path, write });
            }
        }
    }

    fn is_link(&self, arg: &Arg) -> bool {
        arg.known().is_some()
            && self.folders.0.iter().any(|folder| {
                matches!(self.around.files.entry(&folder.join(&arg.text)), Some(FileEntry::Link(_)))
            })
    }

    /// `/api/v1` is a route, `/etc/x` is a file.
    fn first_folder_exists(&self, text: &str) -> bool {
        let first = text.trim_start_matches('/').split('/').next().unwrap_or("");
        first.is_empty()
            || self.around.files.entry(&PathBuf::from("/").join(first)).is_some()
            || Path::new(text).starts_with(self.around.root)
    }
}
