//! The Agent Client Protocol, version 1: as either side, lines of JSON-RPC over any two byte streams; as a client,
//! the handshake, sessions and turns. Starts no process, touches no file and decides nothing; unknown methods, fields and
//! values pass through untouched, as real agents send them.

mod client;
mod error;
mod frame;
mod host;
mod lines;
mod output_tail;
mod params;
mod peer;
mod prompt_blocks;
pub mod shapes;
mod terminal_table;

pub use client::{
    AcpClient, AcpError, AcpObserver, AcpResult, AcpSession, AgentLiveness, PROTOCOL_VERSION, ReopenMethod,
};
pub use error::{CallError, HostAnswer, RpcError, code};
pub use frame::{Frame, Id, Unreadable};
pub use host::{Host, HostRequest, client_capabilities, serve_request, unless_cancelled};
pub use output_tail::OutputTail;
pub use params::Params;
pub use peer::{Asked, Direction, Heard, Inbox, Peer, Tap, connect};
pub use prompt_blocks::{PromptBlock, image_note};
pub use terminal_table::{TerminalExit, TerminalFeed, TerminalOutput, TerminalTable};
