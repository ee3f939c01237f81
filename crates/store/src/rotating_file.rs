//! A file that lines are added to and that never grows beyond its bound: full, it is put aside, and the oldest goes.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use zdx_workspace::own_files::ensure_dir;

pub struct RotatingFile {
    path: PathBuf,
    max_bytes: u64,
    files: u32,
    /// Opened with the first line.
    file: Option<File>,
    written: u64,
}

impl RotatingFile {
    pub fn new(path: PathBuf, max_bytes: u64, files: u32) -> Self {
        Self { path, max_bytes, files, file: None, written: 0 }
    }

    pub fn append(&mut self, line: &[u8]) -> std::io::Result<()> {
        if self.written + line.len() as u64 > self.max_bytes {
            self.rotate()?;
        }
        if self.file.is_none() {
            ensure_dir(self.path.parent().unwrap_or(Path::new(".")))?;
            let file = File::options().append(true).create(true).mode(0o600).open(&self.path)?;
            self.written = file.metadata()?.len();
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            file.write_all(line)?;
            self.written += line.len() as u64;
        }
        Ok(())
    }

    /// `log` becomes `log.1`, that `log.2`; the oldest goes.
    fn rotate(&mut self) -> std::io::Result<()> {
        self.file = None;
        self.written = 0;
        let name = |n: u32| self.path.with_extension(n.to_string());
        if self.files <= 1 {
            return fs::remove_file(&self.path);
        }
        for n in (1..self.files - 1).rev() {
            // One that is not there yet is no fault.
            let _ = fs::rename(name(n), name(n + 1));
        }
        fs::rename(&self.path, name(1))
    }
}
