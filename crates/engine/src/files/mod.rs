//! Files as everything above this sees them: which one is meant and whether it is inside (`workspace`), replaced whole or not
//! at all, by one at a time (`path_lock`), with temporary files that a killed process leaves cleared up later (`leftovers`), with what it held before kept aside (`journal`, `blobs`), text in it cut between characters (`text`), and what a
//! model is shown in part kept whole beside the session (`spill`), what it has seen of a file (`sights`), and what of a tree is
//! not worth seeing (`ignores`).
//! Below everything: knows no tool, no session and no configuration.

mod blobs;
pub(crate) mod ignores;
mod journal;
pub(crate) mod leftovers;
pub(crate) mod path_lock;
pub(crate) mod sights;
pub(crate) mod spill;
pub(crate) mod text;
pub(crate) mod workspace;

pub(crate) use blobs::{Blobs, read_as};
#[cfg(test)]
pub(crate) use journal::OnIntent;
pub(crate) use journal::{
    ChangeIntent, ChangeRecorder, ContentBefore, Draft, FileBefore, Journal, KEPT, MadeChange,
};
pub use workspace::Workspace;
