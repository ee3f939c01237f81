//! The renderer against a terminal in memory, and the whole against a real one.
