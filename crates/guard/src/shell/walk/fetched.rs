//! What a script fetches from other machines: what is run of it afterwards is a stranger's.

use std::path::Path;

use zdx_protocol::ReasonCode;

use crate::shell::syntax::word::Arg;
use crate::shell::walk::Walker;
use crate::shell::walk::files::Place;
use crate::shell::{Concern, Part};

impl Walker<'_> {
    /// Did this script fetch the file from another machine?
    pub(crate) fn is_fetched(&self, arg: &Arg) -> bool {
        match self.place(arg) {
            Place::At(all) => all.iter().any(|located| self.was_fetched(&located.path)),
            Place::Below(_) | Place::Unknown => false,
        }
    }

    /// By itself, or with the folder it lies in.
    pub(crate) fn was_fetched(&self, path: &Path) -> bool {
        self.touched.fetched.iter().any(|fetched| path.starts_with(fetched))
    }

    /// Something is unpacked into the folder we are in.
    pub(crate) fn unpacks_here(&mut self, archives: &[Arg], part: &mut Part) {
        part.doubt();
        let fetched = archives.iter().any(|archive| self.is_fetched(archive));
        for folder in self.scope.folders.0.clone() {
            if fetched {
                self.touched.fetched.insert(folder.clone());
            }
            if self.is_protected(&folder.join("file")) {
                let shown = folder.display();
                part.confirm(
                    ReasonCode::ProtectedPath,
                    format!("it writes into {shown}, which is a protected path"),
                );
            }
            if self.is_outside(&folder) {
                part.add(Concern::Outside { path: folder, write: true });
            }
        }
    }

    pub(crate) fn fetches(&mut self, arg: &Arg) {
        if let Place::At(all) = self.place(arg) {
            for located in all {
                self.touched.authored.insert(located.path.clone());
                self.touched.written.insert(located.path.clone());
                self.touched.fetched.insert(located.path);
            }
        }
    }
}
