//! The first run: looks whether a model server answers on this machine. Asks nothing but loopback, and sends no key.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::stream::{FuturesOrdered, StreamExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::listing::{ModelInfo, list_models};
use crate::wire::Wire;
use crate::{Client, Endpoint, ModelError};

/// Limits of the look at one port.
#[derive(Clone, Copy, Debug)]
pub struct ProbeLimits {
    /// Nobody listens on a loopback port that takes longer to say so.
    pub connect: Duration,
    /// For the list of models, connecting included.
    pub answer: Duration,
}

impl ProbeLimits {
    /// A person waits for the first start.
    pub const QUICK: Self = Self { connect: Duration::from_millis(150), answer: Duration::from_millis(500) };
}

/// Where local servers listen by default, in the order of preference.
pub const LOCAL_SERVERS: [(&str, u16); 5] =
    [("vllm", 8000), ("llamacpp", 8080), ("llama-server", 9931), ("ollama", 11434), ("lmstudio", 1234)];

/// A server that answered, and the model it offers first.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovered {
    pub endpoint: Endpoint,
    pub context_limit: Option<u64>,
}

/// What is on this machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Discovery {
    Found(Discovered),
    /// Somebody answers who wants a key, which is not shown unasked.
    WantsKey {
        provider: String,
        port: u16,
    },
    Nobody,
}

/// Asks all ports at once and returns the first server, in the order given, that offers a model; else the first that
/// might, if it were shown a key.
pub async fn discover(client: &Client, servers: &[(&str, u16)], limits: ProbeLimits) -> Discovery {
    let probes = servers.iter().map(|(provider, port)| probe(client, provider, *port, limits));
    choose(probes).await
}

async fn choose(probes: impl Iterator<Item = impl Future<Output = Option<Discovery>>>) -> Discovery {
    let mut probes: FuturesOrdered<_> = probes.collect();
    let mut locked = Discovery::Nobody;
    while let Some(found) = probes.next().await {
        match found {
            Some(found @ Discovery::Found(_)) => return found,
            Some(found) if locked == Discovery::Nobody => locked = found,
            Some(_) | None => {}
        }
    }
    locked
}

async fn probe(client: &Client, provider: &str, port: u16, limits: ProbeLimits) -> Option<Discovery> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listing = async {
        // A bare connection first: it is the quickest way to learn that nobody is there.
        drop(timeout(limits.connect, TcpStream::connect(address)).await.ok()?.ok()?);
        let mut endpoint = Endpoint::new(provider, Wire::OpenaiChat, &format!("http://{address}/v1"), "");
        let models = match list_models(client, &endpoint).await {
            Err(ModelError::Status { status: 401 | 403, .. }) => {
                return Some(Discovery::WantsKey { provider: provider.to_owned(), port });
            }
            listed => listed.ok()?,
        };
        let ModelInfo { id, context_limit } = models.into_iter().find(|model| talks(&model.id))?;
        endpoint.model = id;
        Some(Discovery::Found(Discovered { endpoint, context_limit }))
    };
    in_time(limits, listing).await
}

async fn in_time(limits: ProbeLimits, probe: impl Future<Output = Option<Discovery>>) -> Option<Discovery> {
    timeout(limits.answer, probe).await.ok().flatten()
}

/// Local servers list models that cannot hold a conversation beside those that can.
fn talks(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    !["embed", "rerank", "whisper", "bge-"].iter().any(|other| id.contains(other))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::future::FutureExt;
    use tokio::time::Instant;

    use super::*;

    fn offer(model: &str) -> Option<Discovery> {
        let endpoint = Endpoint::new("lab", Wire::OpenaiChat, "http://h", model);
        Some(Discovery::Found(Discovered { endpoint, context_limit: None }))
    }

    /// The clock of this runtime stands still until nothing else is left to do.
    #[test]
    fn servers_are_looked_for_where_their_provider_says() {
        let catalogue = crate::Catalogue::with(&std::collections::BTreeMap::new()).unwrap();
        for (name, port) in LOCAL_SERVERS {
            let base_url = catalogue.provider(name).and_then(|entry| entry.base_url.as_deref());
            assert_eq!(base_url, Some(format!("http://127.0.0.1:{port}/v1").as_str()), "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_costs_its_limit_once_and_no_more() {
        let limits = ProbeLimits::QUICK;
        let started = Instant::now();
        let silent = || in_time(limits, pending()).boxed();
        let probes = [silent(), silent(), in_time(limits, ready(offer("a"))).boxed(), silent()];
        let found = choose(probes.into_iter()).await;
        assert_eq!((Some(found), started.elapsed()), (offer("a"), limits.answer));
    }
}
