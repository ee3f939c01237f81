//! A project and a home to put files into, for the tests of all kinds of documents.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::LibraryFolders;
use crate::paths::{AppPaths, Environment};

pub(super) struct LibraryFixture {
    dir: tempfile::TempDir,
}

impl LibraryFixture {
    /// With these files, below `root/` (the project) or `home/`.
    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let desk = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(desk.path("root")).unwrap();
        fs::create_dir_all(desk.path("home")).unwrap();
        for (name, text) in files {
            desk.write(name, text);
        }
        desk
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn places(&self) -> LibraryFolders {
        let env = Environment::from_pairs([("HOME", self.path("home"))]);
        // A busy machine takes longer than a user waits.
        let limit = Duration::from_secs(120);
        LibraryFolders::new(&self.path("root"), &AppPaths::from_env(&env).unwrap()).waiting_for(limit)
    }
}
