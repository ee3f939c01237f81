//! Integration tests of the guard: one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod bounds;
mod cases;
mod everyday;
mod fuzz;
mod odd;
mod padding;
mod properties;
mod reading;
mod reasons;
mod scripts;
