//! The driver against a scripted server on loopback: what is sent, what comes back, and what every fault becomes.

// A panic is how a test fails, in its helpers too.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod discovery;
mod driver;
mod faults;
mod splits;
mod talk;
mod transport;
