//! Names in folders. Each folder is read once while a command line is inspected, however often its names are wanted.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::limits::{LISTED_NAME, MAX_FOLDER_NAMES};
use crate::shell::walk::Walker;

/// The folders that were read, with their names; none for a folder whose names cannot be told.
#[derive(Debug, Default)]
pub(crate) struct Listings(RefCell<HashMap<PathBuf, Option<Rc<[String]>>>>);

impl Walker<'_> {
    /// The names in a folder without links; none when they cannot be told, or looking for them takes too long.
    pub(super) fn names_in(&self, folder: &Path) -> Option<Rc<[String]>> {
        let Listings(known) = self.listings;
        if let Some(names) = known.borrow().get(folder) {
            return names.clone();
        }
        if self.budget.is_exceeded() {
            return None;
        }
        let names: Option<Rc<[String]>> = self.around.files.names(folder).map(Into::into);
        // A folder that is too full was read as far as any.
        let read = names.as_ref().map_or(MAX_FOLDER_NAMES, |names| names.len());
        known.borrow_mut().insert(folder.to_path_buf(), names.clone());
        let affordable = self.budget.spend(LISTED_NAME * read);
        names.filter(|_| affordable)
    }
}
