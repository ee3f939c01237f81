//! Tools through their public interface, against hostile file systems.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod path_races;
