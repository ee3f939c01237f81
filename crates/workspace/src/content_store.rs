//! Bytes of the images of a session: on the disk beside its file, or in memory where nothing of it is saved.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use zdx_protocol::display::format::size;
use zdx_protocol::image::MAX_IMAGE_BYTES;
use zdx_protocol::{ContentOrigin, ImageFormat, ImageInfo, ImageRef};

use crate::{BlobStore, ContentHash};

#[derive(Debug)]
pub struct ContentStore {
    bytes: StoredBytes,
    max_image_bytes: u64,
}

#[derive(Debug)]
enum StoredBytes {
    Disk(BlobStore),
    Memory(Mutex<HashMap<String, Vec<u8>>>),
}

/// Reason why an image was not taken in.
#[derive(Debug, thiserror::Error)]
pub enum ImageRefused {
    #[error("it is not a PNG, JPEG, GIF or WebP image")]
    NotAnImage,
    #[error("it has {}, more than the limit of {} (max_image_bytes)", size(*.bytes), size(*.limit))]
    TooLarge { bytes: u64, limit: u64 },
    #[error("it could not be kept: {0}")]
    NotKept(#[from] io::Error),
}

impl Default for ContentStore {
    fn default() -> Self {
        Self { bytes: StoredBytes::Memory(Mutex::default()), max_image_bytes: MAX_IMAGE_BYTES }
    }
}

impl ContentStore {
    /// Over a session's blobs; none: in memory, for a session that is not saved.
    pub fn new(blobs: Option<BlobStore>, max_image_bytes: u64) -> Self {
        let bytes = blobs.map_or_else(|| StoredBytes::Memory(Mutex::default()), StoredBytes::Disk);
        Self { bytes, max_image_bytes }
    }

    /// The same limits over the blobs of another session.
    pub fn for_child(&self, blobs: Option<BlobStore>) -> Self {
        Self::new(blobs, self.max_image_bytes)
    }

    /// Keeps an image; its format and size are read from its content. May wait for the disk.
    pub fn add_image(
        &self,
        bytes: &[u8],
        name: &str,
        origin: ContentOrigin,
    ) -> Result<ImageRef, ImageRefused> {
        let info = ImageInfo::of(bytes).ok_or(ImageRefused::NotAnImage)?;
        let length = bytes.len() as u64;
        self.check_size(length)?;
        let hash = match &self.bytes {
            StoredBytes::Disk(blobs) => blobs.put(bytes)?,
            StoredBytes::Memory(kept) => {
                let hash = ContentHash::of(bytes).to_hex();
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.entry(hash.clone()).or_insert_with(|| bytes.to_vec());
                hash
            }
        };
        Ok(ImageRef::new(hash, length, info, name, origin))
    }

    /// [`add_image`](Self::add_image) for a file that is open, read no further than an image may go. None where the file
    /// does not begin like an image.
    pub fn add_image_file(
        &self,
        file: &File,
        size: u64,
        name: &str,
        origin: ContentOrigin,
    ) -> Option<Result<ImageRef, ImageRefused>> {
        let mut start = [0; 16];
        let length = file.read_at(&mut start, 0).unwrap_or(0);
        ImageFormat::of_magic(&start[..length])?;
        Some(self.check_size(size).and_then(|()| {
            let mut bytes = Vec::new();
            (&mut &*file).take(self.max_image_bytes + 1).read_to_end(&mut bytes)?;
            self.add_image(&bytes, name, origin)
        }))
    }

    fn check_size(&self, bytes: u64) -> Result<(), ImageRefused> {
        let limit = self.max_image_bytes;
        if bytes <= limit { Ok(()) } else { Err(ImageRefused::TooLarge { bytes, limit }) }
    }

    /// Exactly the bytes that were kept under this hash.
    pub fn get(&self, hash: &str) -> io::Result<Vec<u8>> {
        match &self.bytes {
            StoredBytes::Disk(blobs) => blobs.get(hash),
            StoredBytes::Memory(kept) => {
                let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.get(hash).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIF: &[u8] = b"GIF89a\x02\0\x01\0 and pixels";

    #[test]
    fn an_image_is_kept_on_the_disk_or_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        for blobs in [Some(BlobStore::new(dir.path())), None] {
            let store = ContentStore::new(blobs, 100);
            let image = store.add_image(GIF, "a.gif", ContentOrigin::Tool).unwrap();
            assert_eq!((image.width, image.height, image.blob.bytes), (2, 1, GIF.len() as u64));
            assert_eq!(store.get(&image.blob.sha256).unwrap(), GIF);
            assert!(store.get(&"0".repeat(64)).is_err());
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "memory leaves no file");
    }

    #[test]
    fn what_is_too_large_or_no_image_is_refused() {
        let store = ContentStore::new(None, 10);
        let too_large = store.add_image(GIF, "a.gif", ContentOrigin::Tool).unwrap_err();
        assert_eq!(too_large.to_string(), "it has 21 B, more than the limit of 10 B (max_image_bytes)");
        let no_image = store.add_image(b"text", "a.gif", ContentOrigin::Tool).unwrap_err();
        assert!(matches!(no_image, ImageRefused::NotAnImage));
    }
}
