//! An answer as it comes.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use crate::error::{NetError, root_cause};

/// A server's answer, its body still on the way. Dropping it ends the request.
#[derive(Debug)]
pub struct Response(pub(crate) reqwest::Response);

impl Response {
    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    pub fn is_success(&self) -> bool {
        self.0.status().is_success()
    }

    /// A header's value, when it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    /// The next piece of the body, however long it takes; `None` at its end. Safe to cancel: nothing is lost.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        self.0.chunk().await.map_err(|error| NetError::Broken(root_cause(&error)))
    }

    /// Reads until the end or `limit`, whichever comes first, waiting `idle` for each piece. What came before a failure
    /// is in `body` all the same.
    pub async fn read_into(
        &mut self,
        body: &mut Vec<u8>,
        limit: usize,
        idle: Duration,
    ) -> Result<(), NetError> {
        while body.len() < limit {
            match timeout(idle, self.chunk()).await {
                Ok(chunk) => match chunk? {
                    Some(chunk) => body.extend_from_slice(&chunk),
                    None => break,
                },
                Err(_) => return Err(NetError::Silent { after: idle }),
            }
        }
        Ok(())
    }
}
