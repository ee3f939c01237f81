//! Layers of configuration become one immutable `Config`; each value knows where it came from.
