//! Processes that tools start: groups, time limits, floods, and nothing left behind.

/// How this session's commands run.
pub struct Shell {}
