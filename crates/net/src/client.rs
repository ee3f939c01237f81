//! Which client fits an address: plain or TLS, through a proxy or never, with whose certificates. One of each is kept,
//! so that connections are used again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, Url};
use tokio::time::timeout;

use crate::error::{NetError, root_cause};
use crate::response::Response;
use crate::{dns, tls};

const USER_AGENT: &str = concat!("zdx/", env!("CARGO_PKG_VERSION"));

/// Speaks HTTP. Cheap to make and to clone; clones share their connections.
#[derive(Clone)]
pub struct Http {
    inner: Arc<Inner>,
}

struct Inner {
    connect_timeout: Duration,
    clients: Mutex<HashMap<Route, reqwest::Client>>,
}

/// What one reqwest client is fixed to when it is built.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Route {
    /// Never proxied: a proxy cannot reach our own loopback.
    Loopback(Security),
    Network(Security),
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Security {
    Plain,
    Tls { ca_file: Option<PathBuf> },
}

/// One request, and how far to go for it.
pub struct Request<'a> {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Vec<u8>>,
    /// A PEM file with certificate authorities to trust beside the system's.
    pub ca_file: Option<&'a Path>,
    /// Time for the head of the answer; None waits for as long as the connection stands. Connecting has a limit of its own,
    /// inside this one unless it is the longer.
    pub answer_within: Option<Duration>,
}

impl Http {
    pub fn new(connect_timeout: Duration) -> Self {
        Self { inner: Arc::new(Inner { connect_timeout, clients: Mutex::default() }) }
    }

    /// Sends a request and returns with the head of the answer, whatever its status. Follows no redirect.
    pub async fn send(&self, request: Request<'_>) -> Result<Response, NetError> {
        let Request { method, url, headers, body, ca_file, answer_within } = request;
        let client = self.client(&url, ca_file)?;
        let mut sent = client.request(method, url.clone()).headers(headers);
        if let Some(body) = body {
            sent = sent.body(body);
        }
        let sent = match answer_within {
            None => sent.send().await,
            Some(limit) => match timeout(limit.max(self.inner.connect_timeout), sent.send()).await {
                Ok(sent) => sent,
                Err(_) => return Err(NetError::NoAnswer { after: limit }),
            },
        };
        sent.map(Response::new).map_err(|error| self.not_sent(&url, &error))
    }

    fn client(&self, url: &Url, ca_file: Option<&Path>) -> Result<reqwest::Client, NetError> {
        let route = Route::to(url, ca_file);
        let mut clients = self.inner.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&route) {
            return Ok(client.clone());
        }
        let client = build(&route, self.inner.connect_timeout)?;
        clients.insert(route, client.clone());
        Ok(client)
    }

    fn not_sent(&self, url: &Url, error: &reqwest::Error) -> NetError {
        if error.is_timeout() && error.is_connect() {
            return NetError::NoConnection { after: self.inner.connect_timeout };
        }
        let origin = url.origin().ascii_serialization();
        match root_cause(error) {
            why if why.contains("refused") => {
                NetError::Unreachable { origin, why: "connection refused; is the server running?".to_owned() }
            }
            why if why.contains("certificate") => NetError::Untrusted { origin, why },
            why => NetError::Unreachable { origin, why },
        }
    }
}

impl Route {
    fn to(url: &Url, ca_file: Option<&Path>) -> Self {
        let security = match url.scheme() {
            "https" => Security::Tls { ca_file: ca_file.map(Path::to_owned) },
            _ => Security::Plain,
        };
        let here = url.host_str().is_some_and(dns::is_loopback);
        if here { Self::Loopback(security) } else { Self::Network(security) }
    }
}

fn build(route: &Route, connect_timeout: Duration) -> Result<reqwest::Client, NetError> {
    let (Route::Loopback(security) | Route::Network(security)) = route;
    let tls = match security {
        Security::Plain => tls::unused()?,
        Security::Tls { ca_file } => tls::trusting(ca_file.as_deref())?,
    };
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .tls_backend_preconfigured(tls)
        .dns_resolver(dns::Resolver::default())
        .connect_timeout(connect_timeout)
        .tcp_nodelay(true)
        // A redirect could carry a key to another host.
        .redirect(reqwest::redirect::Policy::none())
        // Whether to ask again is the caller's to decide.
        .retry(reqwest::retry::never());
    if matches!(route, Route::Loopback(_)) {
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|e| NetError::Setup(format!("the HTTP client cannot be built: {}", root_cause(&e))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_read_for_https_alone() {
        let connect = Duration::from_secs(1);
        build(&Route::Loopback(Security::Plain), connect).unwrap();
        build(&Route::Network(Security::Plain), connect).unwrap();
        assert_eq!(tls::SYSTEM_READS.get(), 0);
        let _ = build(&Route::Network(Security::Tls { ca_file: None }), connect);
        assert_eq!(tls::SYSTEM_READS.get(), 1);
    }

    #[test]
    fn an_address_decides_the_route() {
        let ca = Some(Path::new("/ca.pem"));
        let route = |url: &str| Route::to(&Url::parse(url).unwrap(), ca);
        let tls = Security::Tls { ca_file: ca.map(Path::to_owned) };
        // A file of certificates means nothing to plain http: both kinds of caller share the client.
        assert!(route("http://127.0.0.1:8000/v1") == Route::Loopback(Security::Plain));
        assert!(route("http://LOCALHOST/") == Route::Loopback(Security::Plain));
        assert!(route("https://[::1]:8443/") == Route::Loopback(tls.clone()));
        assert!(route("http://lab.corp/") == Route::Network(Security::Plain));
        assert!(route("https://lab.corp/") == Route::Network(tls));
    }

    #[test]
    fn nothing_is_built_before_the_first_request() {
        let http = Http::new(Duration::from_secs(1));
        assert!(http.inner.clients.lock().unwrap().is_empty());
        http.client(&Url::parse("http://127.0.0.1/").unwrap(), Some(Path::new("/nowhere/ca.pem"))).unwrap();
        assert_eq!(http.inner.clients.lock().unwrap().len(), 1);
    }
}
