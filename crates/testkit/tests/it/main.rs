//! The testkit tests others; these test the testkit, with raw sockets and with `sh` in place of the binary.

// Clippy spares test functions only, not the helpers beside them.
#![allow(clippy::unwrap_used)]

mod client;
mod replies;
mod run;
mod scenarios;
mod server;
