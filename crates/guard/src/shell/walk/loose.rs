//! Words that may or may not be paths.

use std::path::{Path, PathBuf};

use crate::shell::programs::generic::is_remote;
use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::{FileEffect, Place};
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
        if !absolute && !climbs && (text.starts_with('/') || !self.leads_out(arg)) {
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
            self.note_credentials(&path, part);
            if !system || climbs {
                part.add(Concern::Outside { path, write });
            }
        }
    }

    /// A word that leads out through a link, by itself or further up.
    fn leads_out(&self, arg: &Arg) -> bool {
        let Place::At(all) = self.place(arg) else { return false };
        arg.known().is_some() && all.iter().any(|located| located.exists() && self.is_outside(&located.path))
    }

    /// `/api/v1` is a route, `/etc/x` is a file.
    fn first_folder_exists(&self, text: &str) -> bool {
        let first = text.trim_start_matches('/').split('/').next().unwrap_or("");
        first.is_empty()
            || self.around.files.entry(&PathBuf::from("/").join(first)).is_some()
            || Path::new(text).starts_with(self.around.root)
    }
}
