//! What a model last saw of each file: what it was shown of it, or left there itself. Whoever replaces a file that is
//! something else by now would lose what somebody put there meanwhile. (The field says stale read, read-before-write.)
//! Remembers, and decides nothing.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// Of larger files it is not remembered what they held: nobody writes them whole.
const LARGEST: u64 = 4 << 20;
/// So many files are remembered.
const MOST: usize = 10_000;

/// The hash of a file's content; none when there was no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenContent(pub Option<String>);

impl SeenContent {
    pub fn of(content: Option<&[u8]>) -> Self {
        Self(content.map(super::BlobStore::hash))
    }
}

#[derive(Debug, Default)]
pub struct ReadTracker {
    /// More than one where it is not known which of them was the last.
    files: Mutex<HashMap<PathBuf, Vec<SeenContent>>>,
}

impl ReadTracker {
    /// This is what it is known as from now on; none: it is not known at all.
    pub fn saw(&self, path: &Path, sight: Option<SeenContent>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match sight {
            Some(sight) if files.len() < MOST || files.contains_key(path) => {
                files.insert(path.to_owned(), vec![sight]);
            }
            Some(_) | None => drop(files.remove(path)),
        }
    }

    /// It may also have been this that was seen last.
    pub fn or_saw(&self, path: PathBuf, sight: SeenContent) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() < MOST || files.contains_key(&path) {
            files.entry(path).or_default().push(sight);
        }
    }

    pub fn of(&self, path: &Path) -> SeenContents {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        SeenContents(files.get(path).cloned().unwrap_or_default())
    }
}

/// What a file may hold for a model to know it; nothing, if it never looked.
#[derive(Clone, Debug)]
pub struct SeenContents(Vec<SeenContent>);

impl SeenContents {
    /// Whether the file holds something that the model has not seen. Of one that it never looked at nobody says so, and
    /// what is gone cannot be lost.
    pub fn is_overtaken_by(&self, now: Option<&[u8]>) -> bool {
        now.is_some() && !self.0.is_empty() && !self.0.contains(&SeenContent::of(now))
    }

    /// The same for a file that is too large to look into.
    pub fn is_any(&self) -> bool {
        !self.0.is_empty()
    }
}

/// A file that is read to be shown. What is told of it then is of the very bytes that were read.
pub struct HashingReader<R> {
    file: R,
    size: u64,
    read: u64,
    hash: Sha256,
}

impl<R: Read> HashingReader<R> {
    pub fn new(file: R, size: u64) -> Self {
        Self { file, size, read: 0, hash: Sha256::new() }
    }

    /// Reads what is left of it. Nothing of a file that is too large, or that the kernel makes up as it is read.
    pub fn sight(mut self) -> Option<SeenContent> {
        if self.size > LARGEST || self.read > self.size {
            return None;
        }
        let mut buffer = vec![0; 64 * 1024];
        while self.read <= LARGEST {
            match self.read(&mut buffer) {
                Ok(0) => return Some(SeenContent(Some(format!("{:x}", self.hash.finalize())))),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        None
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.update(&buffer[..count]);
        self.read += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_known_and_all_else_has_overtaken_it() {
        let (sights, path) = (ReadTracker::default(), Path::new("/a"));
        assert!(!sights.of(path).is_overtaken_by(Some(b"never looked at")));
        sights.saw(path, Some(SeenContent::of(Some(b"seen"))));
        assert!(!sights.of(path).is_overtaken_by(Some(b"seen")));
        assert!(sights.of(path).is_overtaken_by(Some(b"theirs")));
        assert!(!sights.of(path).is_overtaken_by(None), "what is gone");
        sights.or_saw(path.to_owned(), SeenContent::of(Some(b"theirs")));
        assert!(!sights.of(path).is_overtaken_by(Some(b"theirs")));
        sights.saw(path, Some(SeenContent(None)));
        assert!(sights.of(path).is_overtaken_by(Some(b"made again")));
        sights.saw(path, None);
        assert!(!sights.of(path).is_any());
    }

    #[test]
    fn a_part_that_was_read_is_a_sight_of_the_whole() {
        let content = vec![b'x'; 200_000];
        let mut file = HashingReader::new(&content[..], content.len() as u64);
        file.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(file.sight(), Some(SeenContent::of(Some(&content))));
        assert_eq!(HashingReader::new(&content[..], LARGEST + 1).sight(), None);
        let mut made_up = HashingReader::new(&content[..], 0);
        made_up.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(made_up.sight(), None);
    }
}
