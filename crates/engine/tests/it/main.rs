//! Integration tests of the engine: one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod seam;
