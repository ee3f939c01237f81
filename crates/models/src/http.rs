//! The one driver: carries a wire's bytes to a server. What comes back is read by `stream`.
//! Decides nothing about retries, and sends a key nowhere but to the address it belongs to.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, Url};
use tokio::time::{Instant, timeout_at};

use crate::catalogue::Timeouts;
use crate::endpoint::Endpoint;
use crate::stream::{self, ModelStream};
use crate::wire::{Decode, HttpRequest, problem};
use crate::{ModelError, ModelEvent, ModelRequest, TimeoutPhase, demo, dns, tls};

const USER_AGENT: &str = concat!("zdx/", env!("CARGO_PKG_VERSION"));
/// An error's words; the rest of a longer page is not read.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// A whole answer begins only when it is complete, so its first byte takes as much longer.
const WHOLE_ANSWER: u32 = 5;

/// Speaks to servers. Cheap to clone; connections are shared and made when first needed.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    timeouts: Timeouts,
    clients: Mutex<HashMap<Kind, reqwest::Client>>,
}

/// What one reqwest client is fixed to when it is built.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Kind {
    /// Never proxied: a proxy cannot reach our own loopback.
    Loopback(Security),
    Network(Security),
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Security {
    Plain,
    Tls { ca_file: Option<PathBuf> },
}

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
        Self { inner: Arc::new(Inner { timeouts, clients: Mutex::default() }) }
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
        let Timeouts { first_byte, idle, .. } = self.inner.timeouts;
        let first_byte = if streamed { first_byte } else { first_byte * WHOLE_ANSWER };
        let deadline = Instant::now() + first_byte;
        let url = endpoint.url(encoded.path)?;
        let response =
            self.send(endpoint, Method::POST, url, encoded.headers, Some(encoded.body), first_byte).await?;
        let waits = stream::Waits { deadline, first_byte, idle };
        stream::begin(response, decoder, waits).await
    }

    /// Asks for a small JSON document, as lists of models are.
    pub(crate) async fn get(
        &self,
        endpoint: &Endpoint,
        path: &str,
        limit: usize,
    ) -> Result<Vec<u8>, ModelError> {
        let Timeouts { first_byte, idle, .. } = self.inner.timeouts;
        let url = endpoint.url(path)?;
        let headers = endpoint.wire.headers();
        let mut response = self.send(endpoint, Method::GET, url, headers, None, first_byte).await?;
        read_body(&mut response, limit, idle).await
    }

    async fn send(
        &self,
        endpoint: &Endpoint,
        method: Method,
        url: Url,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
        first_byte: Duration,
    ) -> Result<Response, ModelError> {
        let client = self.client(&url, endpoint)?;
        let mut request = client.request(method, url.clone()).headers(all_headers(endpoint, headers)?);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        // Connecting has its own, inner limit; whatever else happens ends with the outer one.
        let limit = first_byte.max(self.inner.timeouts.connect);
        let mut response = match timeout_at(Instant::now() + limit, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.not_sent(&url, &error)),
            Err(_) => {
                return Err(ModelError::Timeout { phase: TimeoutPhase::FirstByte, after: first_byte });
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        Err(refusal(endpoint, &mut response, self.inner.timeouts.idle).await)
    }

    fn client(&self, url: &Url, endpoint: &Endpoint) -> Result<reqwest::Client, ModelError> {
        let security = match url.scheme() {
            "https" => Security::Tls { ca_file: endpoint.ca_file.clone() },
            _ => Security::Plain,
        };
        let here = url.host_str().is_some_and(dns::is_loopback);
        let kind = if here { Kind::Loopback(security) } else { Kind::Network(security) };
        let mut clients = self.inner.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&kind) {
            return Ok(client.clone());
        }
        let client = build(&kind, self.inner.timeouts.connect)?;
        clients.insert(kind, client.clone());
        Ok(client)
    }

    fn not_sent(&self, url: &Url, error: &reqwest::Error) -> ModelError {
        if error.is_timeout() && error.is_connect() {
            return ModelError::Timeout { phase: TimeoutPhase::Connect, after: self.inner.timeouts.connect };
        }
        let message = match stream::root_cause(error) {
            cause if cause.contains("refused") => "connection refused; is the server running?".to_owned(),
            cause if cause.contains("certificate") => {
                format!("{cause}; for a certificate of your own set ca_file for this provider")
            }
            cause => cause,
        };
        ModelError::Connect { url: url.origin().ascii_serialization(), message }
    }
}

fn build(kind: &Kind, connect: Duration) -> Result<reqwest::Client, ModelError> {
    let (Kind::Loopback(security) | Kind::Network(security)) = kind;
    let tls = match security {
        Security::Plain => tls::unused()?,
        Security::Tls { ca_file } => tls::trusting(ca_file.as_deref())?,
    };
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .tls_backend_preconfigured(tls)
        .dns_resolver(dns::Resolver::default())
        .connect_timeout(connect)
        .tcp_nodelay(true)
        // A redirect could carry the key to another host.
        .redirect(reqwest::redirect::Policy::none())
        // There is one place that decides about retries, and it is not here.
        .retry(reqwest::retry::never());
    if matches!(kind, Kind::Loopback(_)) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|e| {
        ModelError::Setup(format!("the HTTP client cannot be built: {}", stream::root_cause(&e)))
    })
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
        let (name, value) = endpoint.wire.key_header(key.expose());
        set(name, &value, true)?;
    }
    for (name, value) in &endpoint.headers {
        set(name, value, true)?;
    }
    Ok(headers)
}

async fn refusal(endpoint: &Endpoint, response: &mut Response, idle: Duration) -> ModelError {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    // What was read of a body that breaks off says more than that it broke off.
    let mut body = Vec::new();
    let _ = read_into(&mut body, response, MAX_ERROR_BODY, idle).await;
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    let mut error = problem::classify(status, &header, &body, SystemTime::now());
    if let ModelError::Status { status: 401 | 403, message, .. } = &mut error
        && endpoint.api_key.is_none()
    {
        message.push_str(&format!("; no key was sent, set api_key_env for {}", endpoint.provider));
    }
    error
}

async fn read_body(response: &mut Response, limit: usize, idle: Duration) -> Result<Vec<u8>, ModelError> {
    let mut body = Vec::new();
    read_into(&mut body, response, limit, idle).await?;
    Ok(body)
}

/// Reads until the end or `limit`, whichever comes first.
pub(crate) async fn read_into(
    body: &mut Vec<u8>,
    response: &mut Response,
    limit: usize,
    idle: Duration,
) -> Result<(), ModelError> {
    while body.len() < limit {
        match timeout_at(Instant::now() + idle, response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None)) => break,
            Ok(Err(error)) => return Err(ModelError::Cut(stream::root_cause(&error))),
            Err(_) => return Err(ModelError::Timeout { phase: TimeoutPhase::Idle, after: idle }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Certificates are read for https alone. The fastest of five is a warm build, so this says nothing of start-up;
    /// it guards against reading them here, which takes milliseconds every time.
    #[test]
    fn a_plain_client_is_built_at_once() {
        let fastest = (0..5)
            .map(|_| {
                let started = std::time::Instant::now();
                build(&Kind::Loopback(Security::Plain), Duration::from_secs(1)).unwrap();
                started.elapsed()
            })
            .min()
            .unwrap();
        assert!(fastest < Duration::from_millis(5), "{fastest:?}");
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named() {
        let mut endpoint = Endpoint::new("lab", crate::wire::Wire::Anthropic, "http://h", "m");
        endpoint.headers.insert("x y".to_owned(), "1".to_owned());
        assert!(all_headers(&endpoint, &[]).unwrap_err().to_string().contains("x y"));
    }
}
