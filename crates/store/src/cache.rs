//! What was learnt from outside and may be forgotten: small JSON files that are too old after a while.
//! Losing all of it costs a question asked again.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use zdx_workspace::own_files::{ensure_dir, read_regular};

/// The tools of a large MCP server take hundreds of kilobytes.
const LARGEST: usize = 2 << 20;
/// Beyond this many the oldest go.
const MOST_FILES: usize = 200;

#[derive(Clone, Debug)]
pub struct DiskCache {
    dir: PathBuf,
    ttl: Duration,
}

impl DiskCache {
    /// A time of zero keeps nothing.
    pub fn new(dir: PathBuf, ttl: Duration) -> Self {
        Self { dir, ttl }
    }

    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let path = self.path(key);
        let age = fs::metadata(&path).ok()?.modified().ok()?.elapsed().ok()?;
        if age > self.ttl {
            let _ = fs::remove_file(path);
            return None;
        }
        serde_json::from_slice(&read_regular(&path, LARGEST).ok()?.bytes).ok()
    }

    /// A cache that cannot be written is no fault worth telling.
    pub fn put<T: Serialize>(&self, key: &str, value: &T) {
        if self.ttl.is_zero() {
            return;
        }
        let Ok(bytes) = serde_json::to_vec(value) else { return };
        if bytes.len() <= LARGEST && ensure_dir(&self.dir).is_ok() {
            let _ = self.write(&self.path(key), &bytes);
            self.trim();
        }
    }

    pub fn forget(&self, key: &str) {
        let _ = fs::remove_file(self.path(key));
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }

    fn trim(&self) {
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        let mut files: Vec<_> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        for (_, path) in files.iter().take(files.len().saturating_sub(MOST_FILES)) {
            let _ = fs::remove_file(path);
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        let digest = Sha256::digest(key.as_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.dir.join(format!("{name}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_comes_back_until_it_is_too_old() {
        let dir = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(dir.path().join("c"), Duration::from_secs(60));
        assert_eq!(cache.get::<u64>("a"), None);
        cache.put("a", &7_u64);
        assert_eq!(cache.get::<u64>("a"), Some(7));
        assert_eq!(cache.get::<u64>("b"), None);
        let old = fs::File::open(cache.path("a")).unwrap();
        old.set_modified(std::time::SystemTime::now() - Duration::from_secs(61)).unwrap();
        assert_eq!(cache.get::<u64>("a"), None);
        assert!(!cache.path("a").exists());
    }

    #[test]
    fn a_time_of_zero_keeps_nothing_and_damage_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        DiskCache::new(dir.path().join("c"), Duration::ZERO).put("a", &1);
        assert!(!dir.path().join("c").exists());
        let cache = DiskCache::new(dir.path().to_owned(), Duration::from_secs(60));
        fs::write(cache.path("a"), "{ half").unwrap();
        assert_eq!(cache.get::<u64>("a"), None);
    }
}
