//! Contents of files, kept under their hash beside a session: private, written whole, each one once.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::ContentHash;

/// No content that zdx wrote or took aside is longer.
const LONGEST: u64 = 64 << 20;

#[derive(Clone, Debug)]
pub struct BlobStore {
    dir: PathBuf,
}

impl BlobStore {
    /// Over a folder that need not exist yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// On the disk when this returns, so that what it came from may be given up.
    pub fn put(&self, content: &[u8]) -> io::Result<String> {
        let hash = ContentHash::of(content).to_hex();
        let path = self.dir.join(&hash);
        if std::fs::metadata(&path).is_ok_and(|found| found.len() == content.len() as u64) {
            return Ok(hash);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(&path)?;
        sync_folder(&self.dir)?;
        Ok(hash)
    }

    /// Exactly what was put; anything else under that name is as good as nothing.
    pub fn get(&self, hash: &str) -> io::Result<Vec<u8>> {
        // The name comes from a session file, which anybody may have written.
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ErrorKind::InvalidInput.into());
        }
        read_as(&self.dir.join(hash), hash)
    }
}

/// The content of a file that is no pipe and no device, if it is the one that has this hash.
pub fn read_as(path: &Path, hash: &str) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    if !std::fs::metadata(path)?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    File::open(path)?.take(LONGEST).read_to_end(&mut content)?;
    match ContentHash::of(&content).to_hex() == hash {
        true => Ok(content),
        false => Err(ErrorKind::InvalidData.into()),
    }
}

fn sync_folder(dir: &Path) -> io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some file systems cannot: there is nothing to wait for then.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced,
    }
}
