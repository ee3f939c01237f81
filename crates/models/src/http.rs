//! The one driver: carries a wire's bytes to a server. What comes back is read by `stream`.
//! Decides nothing about retries, and sends a key nowhere but to the address it belongs to.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use zdx_net::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, Http, Method, Request, Response, Url};

use crate::catalogue::Timeouts;
use crate::endpoint::Endpoint;
use crate::stream::{self, ModelStream};
use crate::wire::{Decode, HttpRequest, Target, problem};
use crate::{ModelError, ModelEvent, ModelRequest, demo};

/// An error's words; the rest of a longer page is not read.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// Time for an answer to begin, where nobody set one and the server is not of a private network.
const FIRST_BYTE: Duration = Duration::from_secs(120);
/// A whole answer begins only when it is complete, so its first byte takes as much longer.
const WHOLE_ANSWER: u32 = 5;

/// Speaks to servers. Cheap to clone; connections are shared and made when first needed.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    timeouts: Timeouts,
    /// How long the last bytes of a complete answer are waited for, so that its connection can be used again.
    drain: Duration,
    http: Http,
}

/// A finished answer's connection is worth this much patience to be used again.
const DRAIN: Duration = Duration::from_secs(1);

/// A request made ready: nothing of the conversation is borrowed any more while it is carried.
pub struct Outgoing(Ready);

enum Ready {
    Demo(Vec<ModelEvent>),
    Encoded { request: HttpRequest, streamed: bool, decoder: Box<dyn Decode> },
}

impl Outgoing {
    pub fn new(endpoint: &Endpoint, request: &ModelRequest<'_>) -> Result<Self, ModelError> {
        if endpoint.is_demo() {
            return Ok(Self(Ready::Demo(demo::answer(request))));
        }
        Ok(Self(Ready::Encoded {
            request: endpoint.wire.encode(request)?,
            streamed: request.stream,
            decoder: endpoint.wire.decoder(request.model),
        }))
    }
}

impl Client {
    pub fn new(timeouts: Timeouts) -> Self {
        Self::draining_for(DRAIN, timeouts)
    }

    /// [`new`](Self::new) with another patience for the last bytes of an answer: tests must not depend on a busy machine.
    pub fn draining_for(drain: Duration, timeouts: Timeouts) -> Self {
        Self { inner: Arc::new(Inner { timeouts, drain, http: Http::new(timeouts.connect) }) }
    }

    /// Sends the request and returns once the server has begun to answer.
    pub async fn start(
        &self,
        endpoint: &Endpoint,
        request: &ModelRequest<'_>,
    ) -> Result<ModelStream, ModelError> {
        self.carry(endpoint, Outgoing::new(endpoint, request)?).await
    }

    /// [`start`](Self::start) for a request that was made ready before.
    pub async fn carry(&self, endpoint: &Endpoint, outgoing: Outgoing) -> Result<ModelStream, ModelError> {
        let (encoded, streamed, decoder) = match outgoing.0 {
            Ready::Demo(events) => return Ok(ModelStream::ready(events)),
            Ready::Encoded { request, streamed, decoder } => (request, streamed, decoder),
        };
        let idle = self.inner.timeouts.idle;
        let url = endpoint.url(&encoded.target)?;
        let first_byte = self.first_byte(&url);
        let first_byte = first_byte.map(|limit| if streamed { limit } else { limit * WHOLE_ANSWER });
        let deadline = first_byte.map(|limit| Instant::now() + limit);
        let response =
            self.send(endpoint, Method::POST, url, encoded.headers, Some(encoded.body), first_byte).await?;
        let waits = stream::Waits { deadline, first_byte, idle, drain: self.inner.drain };
        stream::begin(response, decoder, waits).await
    }

    /// Asks for a small JSON document, as lists of models are.
    pub(crate) async fn get(
        &self,
        endpoint: &Endpoint,
        target: &Target,
        limit: usize,
    ) -> Result<Vec<u8>, ModelError> {
        let Timeouts { first_byte, idle, .. } = self.inner.timeouts;
        let url = endpoint.url(target)?;
        let headers = endpoint.wire.headers();
        let answer_within = Some(first_byte.unwrap_or(FIRST_BYTE));
        let mut response = self.send(endpoint, Method::GET, url, headers, None, answer_within).await?;
        let mut body = Vec::new();
        response.read_into(&mut body, limit, idle).await?;
        Ok(body)
    }

    /// The time that an answer may take to begin, if there is a limit.
    fn first_byte(&self, url: &Url) -> Option<Duration> {
        let nearby = url.host_str().is_some_and(zdx_net::is_private);
        self.inner.timeouts.first_byte.or((!nearby).then_some(FIRST_BYTE))
    }

    async fn send(
        &self,
        endpoint: &Endpoint,
        method: Method,
        url: Url,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
        first_byte: Option<Duration>,
    ) -> Result<Response, ModelError> {
        let mut headers = all_headers(endpoint, headers)?;
        if body.is_some() {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        }
        let ca_file = endpoint.ca_file.as_deref();
        let request = Request { method, url, headers, body, ca_file, answer_within: first_byte };
        let mut response = self.inner.http.send(request).await?;
        if response.is_success() {
            return Ok(response);
        }
        Err(refusal(endpoint, &mut response, self.inner.timeouts.idle).await)
    }
}

/// The wire's headers, the key, and what the provider entry adds; the entry has the last word.
fn all_headers(endpoint: &Endpoint, of_wire: &[(&str, &str)]) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    let mut set = |name: &str, value: &str, secret: bool| {
        let bad =
            || ModelError::Setup(format!("the header `{name}` of {} cannot be sent", endpoint.provider));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(secret);
        headers.insert(name, value);
        Ok::<_, ModelError>(())
    };
    for (name, value) in of_wire {
        set(name, value, false)?;
    }
    if let Some(key) = &endpoint.api_key {
        let (name, value) = endpoint.auth.header(key.expose());
        set(name, &value, true)?;
    }
    for (name, value) in &endpoint.headers {
        set(name, value, true)?;
    }
    Ok(headers)
}

async fn refusal(endpoint: &Endpoint, response: &mut Response, idle: Duration) -> ModelError {
    // What was read of a body that breaks off says more than that it broke off.
    let mut body = Vec::new();
    let _ = response.read_into(&mut body, MAX_ERROR_BODY, idle).await;
    let header = |name: &str| response.header(name).map(str::to_owned);
    let mut error = problem::classify(response.status(), &header, &body, SystemTime::now());
    if let ModelError::Status { status: 401 | 403, message, .. } = &mut error
        && endpoint.api_key.is_none()
    {
        message.push_str(&format!("; no key was sent, set api_key_env for {}", endpoint.provider));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_cannot_be_sent_is_named() {
        let mut endpoint = Endpoint::new("lab", crate::wire::Wire::Anthropic, "http://h", "m");
        endpoint.headers.insert("x y".to_owned(), "1".to_owned());
        assert!(all_headers(&endpoint, &[]).unwrap_err().to_string().contains("x y"));
    }
}
