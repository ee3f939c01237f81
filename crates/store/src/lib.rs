//! Files that zdx keeps: sessions, a cache of what servers answered, and logs that rotate.

mod cache;
mod rotating_file;
mod session;

pub use cache::DiskCache;
pub use rotating_file::RotatingFile;
pub use session::*;
