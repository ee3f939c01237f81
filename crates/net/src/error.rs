//! What can go wrong on the way to a server, in kinds a caller can act on and word in its own terms.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// No connection, or it was lost before an answer began.
    #[error("cannot reach {origin}: {why}")]
    Unreachable { origin: String, why: String },
    /// Somebody is there, but with a certificate that nothing we trust vouches for.
    #[error("cannot reach {origin}: {why}")]
    Untrusted { origin: String, why: String },
    #[error("no connection after {:.0} s", .after.as_secs_f32())]
    NoConnection { after: Duration },
    #[error("the server accepted the request but sent nothing for {:.0} s", .after.as_secs_f32())]
    NoAnswer { after: Duration },
    /// An answer began and nothing more of it came.
    #[error("the server fell silent for {:.0} s", .after.as_secs_f32())]
    Silent { after: Duration },
    /// The connection was lost while an answer came.
    #[error("{0}")]
    Broken(String),
    #[error("no certificate authorities found, so no https server can be trusted")]
    NoAuthorities,
    /// A file of certificate authorities that cannot be used.
    #[error("ca_file {}: {why}", .path.display())]
    CaFile { path: PathBuf, why: String },
    /// This machine cannot make a client at all.
    #[error("{0}")]
    Setup(String),
}

/// The innermost cause: the layers above it only repeat that something failed.
pub(crate) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
