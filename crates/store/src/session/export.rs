//! A session written down as text, for somebody to keep or pass on.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use zdx_protocol::display::history;
use zdx_protocol::transcript::{Entries, Entry};

use super::{SessionId, SessionOpenError, SessionStore, reason};

#[derive(Debug, thiserror::Error)]
pub enum SessionExportError {
    #[error(transparent)]
    Source(#[from] SessionOpenError),
    #[error("cannot write {}: {why}", path.display())]
    Unwritable { path: PathBuf, why: String },
}

impl SessionStore {
    /// Writes a session down, into a file that must not be there yet: as `sessions show` prints it, or as a document where
    /// the file's name says that it is markdown.
    pub fn export(&self, id: SessionId, path: &Path) -> Result<(), SessionExportError> {
        let cannot =
            |error: io::Error| SessionExportError::Unwritable { path: path.to_owned(), why: reason(&error) };
        let file = File::options().write(true).create_new(true).mode(0o600).open(path).map_err(cannot)?;
        let (mut out, mut entries, mut failed) = (io::BufWriter::new(file), Entries::default(), None);
        let is_document = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"));
        let (words, zone): (EntryWriter, _) =
            (if is_document { history::markdown } else { history::text }, TimeZone::system());
        self.scan(id, |record| {
            if failed.is_none() {
                entries.read(record);
                failed = write(&mut entries, &mut out, words, &zone).err();
            }
        })?;
        entries.end();
        failed = failed.or(write(&mut entries, &mut out, words, &zone).err());
        match failed {
            Some(error) => Err(cannot(error)),
            None => out.flush().map_err(cannot),
        }
    }

    /// The same under a name of its own in this folder of ours: a project is not littered with what nobody named.
    pub fn export_into(&self, id: SessionId, folder: &Path) -> Result<PathBuf, SessionExportError> {
        const MOST: usize = 1_000;
        let cannot = |error: io::Error| SessionExportError::Unwritable {
            path: folder.to_owned(),
            why: reason(&error),
        };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot)?;
        let id_text = id.to_string();
        let short = id_text.get(..8).unwrap_or(&id_text);
        let named = |number: usize| match number {
            1 => folder.join(format!("zdx-{short}.txt")),
            number => folder.join(format!("zdx-{short}-{number}.txt")),
        };
        // Two at once: the second finds the first's file in its way and says so.
        let path = (1..MOST).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(MOST));
        self.export(id, &path).map(|()| path)
    }
}

/// How an entry is written.
type EntryWriter = fn(&Entry, &TimeZone) -> String;

fn write(entries: &mut Entries, out: &mut impl Write, words: EntryWriter, zone: &TimeZone) -> io::Result<()> {
    while let Some(entry) = entries.next() {
        out.write_all(words(&entry, zone).as_bytes())?;
    }
    Ok(())
}
