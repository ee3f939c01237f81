//! The Anthropic Messages dialect.

mod decode;
mod encode;

pub(super) use decode::Decoder;
pub(super) use encode::encode;

use super::Target;

const MESSAGES: Target = Target::fixed("/v1/messages");
pub(super) const MODELS: Target = Target::fixed("/v1/models");

/// The path of a base URL that somebody wrote out to the end.
pub(super) fn without_target(path: &str) -> Option<&str> {
    path.strip_suffix("/messages")
}

/// This dialect's paths bring their `/v1` along.
pub(super) fn root(path: &str) -> &str {
    path.strip_suffix("/v1").unwrap_or(path)
}
