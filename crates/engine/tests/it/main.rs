//! Integration tests of the engine: one binary.

mod policy_cases;
mod policy_fuzz;
mod policy_properties;
mod policy_scripts;
