//! Which file is meant, and is it inside? The only place that resolves a path a model named.

/// The folder a session works in, held by descriptor.
pub struct Workspace {}
