//! Integration tests of the engine: one binary.

mod path_races;
mod policy_cases;
mod policy_fuzz;
mod policy_properties;
mod policy_scripts;
