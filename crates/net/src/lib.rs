//! The way to an HTTP server: which client fits an address, what TLS trusts, how names are found, when waiting ends,
//! and what went wrong in words. Knows nothing of what is said to the server, and never tries again.
//!
//! Nothing is made before it is needed: an [`Http`] that only speaks plain http never reads a certificate.

mod client;
mod dns;
mod error;
mod response;
mod tls;

pub use bytes::Bytes;
pub use client::{Http, Request};
pub use dns::is_private;
pub use error::NetError;
pub use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
pub use reqwest::{Method, Url};
pub use response::Response;
