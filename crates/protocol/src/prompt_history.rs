//! Limits of the prompt history, in its file and in the memory of a front end.

/// Lines that are kept.
pub const MOST: usize = 1_000;
/// A line of more bytes holds a paste. Only [`MOST_LONG`] bytes of such lines are kept, and they push out no other line.
pub const LONG: usize = 16 << 10;
pub const MOST_LONG: usize = 2 << 20;
/// A line of more bytes is not kept.
pub const LONGEST: usize = 1 << 20;
