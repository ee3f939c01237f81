//! Files and folders outside the workspace: zdx's own, and small ones that are read whole. Private, bounded, and never
//! waiting on a pipe or a device.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

/// Makes a folder and its missing parents readable by their owner alone. Existing folders stay as they are.
pub fn ensure_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Opens a regular file for reading, without waiting for whatever else has that name.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// At most `limit` bytes of a regular file. Never waits: a pipe or a device by that name is refused.
pub fn read_regular(path: &Path, limit: usize) -> io::Result<BoundedRead> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    let cut = bytes.len() > limit;
    bytes.truncate(limit);
    Ok(BoundedRead { bytes, cut })
}

/// Another zdx holds a file for no longer than a write takes.
const LOCK_TRIES: u32 = 200;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Keeps other writers of `file` away until it is dropped; `WouldBlock` when one stays too long. Locks a file of its own
/// beside it, for the other one is replaced.
pub fn lock_beside(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let lock = options.open(file.with_extension("lock"))?;
    for _ in 0..LOCK_TRIES {
        match lock.try_lock() {
            // A file system without locks: the rename alone has to do.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(lock),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// The beginning of a file.
pub struct BoundedRead {
    pub bytes: Vec<u8>,
    /// The file is longer than what was read.
    pub cut: bool,
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn made_folders_are_private_and_existing_ones_untouched() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        let deep = open.join("a/b");
        ensure_dir(&deep).unwrap();
        ensure_dir(&deep).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&open), mode(&open.join("a")), mode(&deep)), (0o755, 0o700, 0o700));
    }

    #[test]
    fn only_regular_files_are_read_and_only_so_far() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, "12345").unwrap();
        let whole = read_regular(&file, 5).unwrap();
        assert_eq!((whole.bytes.as_slice(), whole.cut), (b"12345".as_slice(), false));
        let part = read_regular(&file, 4).unwrap();
        assert_eq!((part.bytes.as_slice(), part.cut), (b"1234".as_slice(), true));
        assert!(read_regular(dir.path(), 5).is_err());
        assert!(read_regular(Path::new("/dev/zero"), 5).is_err());
        // A pipe nobody writes to would block an ordinary open for ever.
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(read_regular(&pipe, 5).is_err());
    }
}
