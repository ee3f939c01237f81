//! Content of a file at one moment, identified by its hash. Everything that compares contents does it with these values;
//! only records keep the hash as text.

use std::fmt;
use std::io::{self, Read};

use sha2::{Digest, Sha256};
use zdx_protocol::FileState;

/// Longer content is not hashed: that would take too long.
const LONGEST: u64 = 1 << 30;
/// Content that was read in part is hashed to its end up to this size: nobody writes larger files whole.
const LONGEST_SHOWN: u64 = 4 << 20;

/// SHA-256 of some content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Hashes content without holding it; None for more than 1 GiB.
    pub fn read(from: impl Read) -> io::Result<Option<Self>> {
        let mut hasher = Sha256::new();
        let read = io::copy(&mut from.take(LONGEST + 1), &mut hasher)?;
        Ok((read <= LONGEST).then(|| Self(hasher.finalize().into())))
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hash as records and names of kept contents have it.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn from_hex(hex: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let is_hex = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        for (at, byte) in bytes.iter_mut().enumerate().take_while(|_| is_hex) {
            *byte = u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).ok()?;
        }
        is_hex.then_some(Self(bytes))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.to_hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Content of a file, or that there was no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentVersion(Option<ContentHash>);

impl ContentVersion {
    /// No file.
    pub const ABSENT: Self = Self(None);

    pub fn of(content: Option<&[u8]>) -> Self {
        Self(content.map(ContentHash::of))
    }

    /// Returns the version that a record names; None where the content could not be read.
    pub fn of_state(state: Option<&FileState>) -> Option<Self> {
        match state {
            None => Some(Self::ABSENT),
            Some(state) => ContentHash::from_hex(state.sha256.as_deref()?).map(Self::from),
        }
    }
}

impl From<ContentHash> for ContentVersion {
    fn from(hash: ContentHash) -> Self {
        Self(Some(hash))
    }
}

/// Hashes a file as it is read to be shown, so that the version is the one of the very bytes that were shown.
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

    /// Reads the rest of the file. None for a file that is too large, or that the kernel makes up as it is read.
    pub fn version(mut self) -> Option<ContentVersion> {
        if self.size > LONGEST_SHOWN || self.read > self.size {
            return None;
        }
        let mut buffer = vec![0; 64 * 1024];
        while self.read <= LONGEST_SHOWN {
            match self.read(&mut buffer) {
                Ok(0) => return Some(ContentHash(self.hash.finalize().into()).into()),
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
    fn a_part_that_was_read_gives_the_version_of_the_whole() {
        let content = vec![b'x'; 200_000];
        let mut file = HashingReader::new(&content[..], content.len() as u64);
        file.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(file.version(), Some(ContentVersion::of(Some(&content))));
        assert_eq!(HashingReader::new(&content[..], LONGEST_SHOWN + 1).version(), None);
        let mut made_up = HashingReader::new(&content[..], 0);
        made_up.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(made_up.version(), None);
    }

    #[test]
    fn a_recorded_hash_is_the_version_it_was_made_of() {
        let state = |sha256: Option<String>| FileState { sha256, mode: 0o644, access: None };
        let version = |sha256| ContentVersion::of_state(Some(&state(sha256)));
        let hash = ContentHash::of(b"content");
        assert_eq!(version(Some(hash.to_hex())), Some(hash.into()));
        assert_eq!(version(Some("no hash".to_owned())), None);
        assert_eq!(version(None), None);
        assert_eq!(ContentVersion::of_state(None), Some(ContentVersion::ABSENT));
    }
}
