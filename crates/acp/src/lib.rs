//! How to speak the Agent Client Protocol, version 1, as either side of it: lines of JSON-RPC over any two byte streams.
//! Starts no process, touches no file and decides nothing; unknown methods, fields and values pass through untouched, as
//! real agents send them.

mod error;
mod frame;
mod host;
mod lines;
mod params;
mod peer;
pub mod shapes;

pub use error::{CallError, RpcError, code};
pub use frame::{Frame, Id, Unreadable};
pub use host::{Host, HostEvent};
pub use params::Params;
pub use peer::{Asked, Direction, Heard, Inbox, Peer, Tap, connect};
