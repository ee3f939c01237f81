//! Where files and an editor meet: a file of the folder is what the editor has of it. Everything else holds as on the disk:
//! paths are resolved, opened and checked there first, and the journal keeps what was there before.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{Mode, fchmod};
use zdx_protocol::{EditorFiles, Target};

use super::replace::FilePermissions;
use super::{OpenedFile, Workspace};

/// Larger files are nobody's open document.
const MOST: u64 = 8 << 20;

impl Workspace {
    /// What was opened, or what the editor has instead. What is no text on the disk is not asked for: it would come back
    /// mended.
    pub(super) fn as_edited(&self, target: &Target, opened: OpenedFile) -> OpenedFile {
        let Some(editor) = self.editor.as_ref().filter(|_| target.inside && opened.size <= MOST) else {
            return opened;
        };
        let OpenedFile { mut file, size } = opened;
        let saved = text(&mut file);
        let edited = saved.as_ref().and_then(|_| editor.read(&target.path));
        let (Some(saved), Some(edited)) = (saved, edited) else { return OpenedFile { file, size } };
        // Editors keep their line ends for themselves.
        if edited == saved || edited == saved.replace("\r\n", "\n") {
            return OpenedFile { file, size };
        }
        match copy(&edited, &file) {
            Some(copy) => OpenedFile { file: copy, size: edited.len() as u64 },
            None => OpenedFile { file, size },
        }
    }

    /// The editor that is to write this. Who may use a file is beyond it, and so is what is no text.
    pub(super) fn written_by(
        &self,
        target: &Target,
        content: &[u8],
        permissions: FilePermissions,
    ) -> Option<(Arc<dyn EditorFiles>, String)> {
        let editor =
            self.editor.as_ref().filter(|_| target.inside && permissions == FilePermissions::Keep)?;
        let text = String::from_utf8(content.to_vec()).ok()?;
        Some((Arc::clone(editor), text))
    }
}

/// All of it, and the file is at its beginning again.
fn text(file: &mut File) -> Option<String> {
    let mut content = Vec::new();
    let read = Read::by_ref(file).take(MOST).read_to_end(&mut content);
    file.seek(SeekFrom::Start(0)).ok()?;
    read.ok()?;
    String::from_utf8(content).ok()
}

/// A file of no name, with this text and the other one's mode.
fn copy(text: &str, like: &File) -> Option<File> {
    let mut copy = tempfile::tempfile().ok()?;
    copy.write_all(text.as_bytes()).ok()?;
    copy.seek(SeekFrom::Start(0)).ok()?;
    let mode = rustix::fs::fstat(like.as_fd()).ok()?.st_mode;
    fchmod(&copy, Mode::from_raw_mode(mode)).ok()?;
    Some(copy)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Mutex;

    use super::*;

    /// An editor with one open file.
    struct Editor {
        open: Mutex<Option<String>>,
        refuses: bool,
    }

    impl EditorFiles for Editor {
        fn read(&self, _: &Path) -> Option<String> {
            self.open.lock().unwrap().clone()
        }

        fn writes(&self) -> bool {
            true
        }

        fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>> {
            if self.refuses {
                return Some(Err("no".to_owned()));
            }
            *self.open.lock().unwrap() = Some(text.to_owned());
            std::fs::write(path, format!("saved: {text}")).unwrap();
            Some(Ok(()))
        }
    }

    fn workspace(open: Option<&str>, refuses: bool) -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        let editor = Arc::new(Editor { open: Mutex::new(open.map(str::to_owned)), refuses });
        let workspace = Workspace::open(folder.path()).unwrap().with_editor(Some(editor));
        (folder, workspace)
    }

    #[test]
    fn what_is_unsaved_is_what_is_read_and_bytes_are_left_alone() {
        let (folder, workspace) = workspace(Some("unsaved"), false);
        std::fs::write(folder.path().join("a"), "saved").unwrap();
        std::fs::write(folder.path().join("b"), b"\xff\0").unwrap();
        let read = |name: &str| workspace.read_file(&workspace.resolve(name).unwrap(), 100).unwrap();
        assert_eq!(read("a"), b"unsaved");
        assert_eq!(read("b"), b"\xff\0");
        assert!(workspace.read_file(&workspace.resolve("missing").unwrap(), 100).is_err());
    }

    #[test]
    fn line_ends_of_the_disk_stay() {
        let (folder, workspace) = workspace(Some("a\nb\n"), false);
        std::fs::write(folder.path().join("a"), "a\r\nb\r\n").unwrap();
        assert_eq!(workspace.read_file(&workspace.resolve("a").unwrap(), 100).unwrap(), b"a\r\nb\r\n");
    }

    #[test]
    fn the_editor_writes_and_what_it_refuses_is_not_written() {
        let (folder, lent) = workspace(None, false);
        lent.replace(&lent.resolve("new").unwrap(), b"text").unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("new")).unwrap(), "saved: text");
        let (folder, refused) = workspace(None, true);
        let error = refused.replace(&refused.resolve("new").unwrap(), b"text").unwrap_err();
        assert!(error.to_string().ends_with("new: no"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
