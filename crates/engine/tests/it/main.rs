//! Integration tests of the engine: one binary.

mod policy_cases;
