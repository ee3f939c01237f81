//! Integration tests of the engine: one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod path_races;
mod policy_cases;
mod policy_fuzz;
mod policy_odd;
mod policy_properties;
mod policy_scripts;
mod seam;
