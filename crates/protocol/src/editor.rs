//! Files as an editor has them open, unsaved changes included: what a front end that sits in one lends to the engine.

use std::path::Path;

/// Both wait for the editor, so never on the thread that hears signals. Who may be read or written was decided before.
pub trait EditorFiles: Send + Sync {
    /// What it has of a file; nothing where it cannot say, and the disk is read.
    fn read(&self, path: &Path) -> Option<String>;

    /// Whether it writes files. It may be another zdx, which takes the lock of the file itself.
    fn writes(&self) -> bool;

    /// Puts this text there, and saves it; nothing where it writes no files, and the disk is written.
    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>>;
}
