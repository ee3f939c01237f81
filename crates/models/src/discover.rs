//! The first run: looks whether a model server answers on this machine. Asks nothing but loopback, and sends no key.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures_util::stream::{FuturesOrdered, StreamExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::listing::{ModelInfo, list_models};
use crate::wire::Wire;
use crate::{Client, Endpoint, ModelError};

/// Nobody listens on a loopback port that takes longer to say so.
const CONNECT: Duration = Duration::from_millis(150);
/// Somebody listens: so long may the list of models take, connecting included.
const ANSWER: Duration = Duration::from_millis(500);

/// Where local servers listen by default, in the order of preference.
pub const LOCAL_SERVERS: [(&str, u16); 4] =
    [("vllm", 8000), ("llamacpp", 8080), ("ollama", 11434), ("lmstudio", 1234)];

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
pub async fn discover(client: &Client, servers: &[(&str, u16)]) -> Discovery {
    let mut probes: FuturesOrdered<_> =
        servers.iter().map(|(provider, port)| probe(client, provider, *port)).collect();
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

async fn probe(client: &Client, provider: &str, port: u16) -> Option<Discovery> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listing = async {
        // A bare connection first: it is the quickest way to learn that nobody is there.
        drop(timeout(CONNECT, TcpStream::connect(address)).await.ok()?.ok()?);
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
    timeout(ANSWER, listing).await.ok().flatten()
}

/// Local servers list models that cannot hold a conversation beside those that can.
fn talks(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    !["embed", "rerank", "whisper", "bge-"].iter().any(|other| id.contains(other))
}
