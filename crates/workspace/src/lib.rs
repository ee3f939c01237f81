//! Files inside the root of a session: which one a path means and whether it lies inside, reading and replacing it,
//! what a model has seen of it, and what it held before it was changed. Knows no tool, no session and no configuration.

mod blob_store;
mod checkpoints;
mod content_store;
mod content_version;
mod file_ledger;
pub mod ignore_files;
pub mod leftover_files;
pub mod own_files;
pub mod path_lock;
mod random_id;
pub mod spill;
pub mod text;
pub mod workspace;

pub use blob_store::{BlobStore, read_as};
#[cfg(any(test, feature = "testing"))]
pub use checkpoints::OnIntent;
pub use checkpoints::{
    ChangeIntent, ChangeRecorder, CheckpointDraft, Checkpoints, ContentBefore, FileBefore, KEPT, MadeChange,
};
pub use content_store::{ContentStore, ImageRefused};
pub use content_version::{ContentHash, ContentVersion, HashingReader};
pub use file_ledger::{FileLedger, SeenVersions};
pub use random_id::random_id;
pub use workspace::Workspace;
