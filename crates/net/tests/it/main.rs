//! Real requests on loopback: who is reached how, what is trusted, and what every fault on the way becomes.

// A panic is how a test fails, in its helpers too.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod faults;
mod proxy;
mod talk;
mod tls;
