//! Ids that nobody else makes. They need no file system: in a root that holds nothing but the binary there is no
//! `/dev/random`, which a static program's `uuid` would read.

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// Returns a random UUID (version 4). It is unique, not secret.
pub fn random_id() -> uuid::Uuid {
    // The standard library asks the kernel itself for the keys of its hashers.
    let state = RandomState::new();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let half = |half: u8| state.hash_one((half, std::process::id(), now)).to_le_bytes();
    let [first, second] = [half(0), half(1)];
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first);
    bytes[8..].copy_from_slice(&second);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ() {
        let ids: HashSet<_> = (0..10_000).map(|_| random_id()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.get_version_num() == 4));
    }
}
