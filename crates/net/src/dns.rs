//! Names to addresses without libc: a static binary has no NSS. Asks the hosts file and the system's own
//! nameservers, and nobody else: there is no public fallback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hickory_resolver::TokioResolver;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

#[derive(Clone)]
pub(crate) struct Resolver {
    hosts: Arc<Path>,
}

impl Default for Resolver {
    fn default() -> Self {
        Self { hosts: PathBuf::from("/etc/hosts").into() }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.lookup(name.as_str()).await?;
            // Port 0: the connector puts the URL's own in.
            Ok(Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

impl Resolver {
    async fn lookup(&self, name: &str) -> Result<Vec<IpAddr>, String> {
        if let Some(found) = self.lookup_here(name) {
            return Ok(found);
        }
        // Made anew each time: connections are kept, lookups are rare, and a laptop changes networks.
        let resolver =
            TokioResolver::builder_tokio().and_then(|builder| builder.build()).map_err(|error| {
                format!(
                    "cannot look up {name}: this system names no nameserver in /etc/resolv.conf ({error})"
                )
            })?;
        let answer = resolver.lookup_ip(name).await.map_err(|error| {
            if error.is_no_records_found() {
                format!("there is no host named {name}")
            } else {
                format!("cannot look up {name}: {error}")
            }
        })?;
        Ok(answer.iter().collect())
    }

    /// What needs no server: literals, localhost, the hosts file.
    fn lookup_here(&self, name: &str) -> Option<Vec<IpAddr>> {
        let name = name.trim_end_matches('.');
        if let Ok(ip) = name.trim_start_matches('[').trim_end_matches(']').parse() {
            return Some(vec![ip]);
        }
        if is_localhost(name) {
            return Some(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        // A few kilobytes from the page cache: not worth another thread.
        let text = std::fs::read_to_string(&self.hosts).unwrap_or_default();
        let found = in_hosts(&text, name);
        (!found.is_empty()).then_some(found)
    }
}

fn in_hosts(text: &str, name: &str) -> Vec<IpAddr> {
    let address = |line: &str| {
        let mut words = line.split('#').next()?.split_whitespace();
        let ip = words.next()?.parse().ok()?;
        words.any(|word| word.eq_ignore_ascii_case(name)).then_some(ip)
    };
    text.lines().filter_map(address).collect()
}

fn is_localhost(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Hosts that are this machine: proxies must not catch them.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    is_localhost(bare) || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether a host is this machine or one of a private network, by its address or by a name that no public one has.
pub fn is_private(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
    match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => is_private_v4(ip),
        Ok(IpAddr::V6(ip)) => {
            let mapped = ip.to_ipv4_mapped().is_some_and(is_private_v4);
            mapped || ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local()
        }
        Err(_) => {
            let of_a_network = [".local", ".lan", ".internal", ".home.arpa", ".localhost"];
            !bare.is_empty() && (!bare.contains('.') || of_a_network.iter().any(|end| bare.ends_with(end)))
        }
    }
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    // Shared by a provider's customers, and by overlay networks.
    let is_shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
    ip.is_loopback() || ip.is_private() || ip.is_link_local() || is_shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_networks_are_told_from_the_internet() {
        for host in [
            "127.0.0.1",
            "[::1]",
            "localhost",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.9.9",
            "192.168.0.7",
            "169.254.1.1",
            "100.64.0.1",
            "100.127.0.1",
            "[fd00::1]",
            "[fe80::1]",
            "[::ffff:10.0.0.1]",
            "gpu-box",
            "lab.local",
            "Lab.LAN",
            "model.internal.",
            "nas.home.arpa",
        ] {
            assert!(is_private(host), "{host}");
        }
        for host in [
            "8.8.8.8",
            "172.32.0.1",
            "172.15.0.1",
            "100.128.0.1",
            "100.63.0.1",
            "[2001:db8::1]",
            "api.example.org",
            "local.example",
            "",
        ] {
            assert!(!is_private(host), "{host}");
        }
    }

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[tokio::test]
    async fn what_is_known_here_asks_nobody() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "# comment\n10.1.2.3 lab lab.corp # the lab\n\nfe80::1\tlab\nnonsense lab\n",
        )
        .unwrap();
        let resolver = Resolver { hosts: file.path().into() };
        assert_eq!(resolver.lookup("Lab").await, Ok(ips(&["10.1.2.3", "fe80::1"])));
        assert_eq!(resolver.lookup("lab.corp.").await, Ok(ips(&["10.1.2.3"])));
        assert_eq!(resolver.lookup("192.0.2.7").await, Ok(ips(&["192.0.2.7"])));
        assert_eq!(resolver.lookup("localhost").await, Ok(ips(&["127.0.0.1", "::1"])));
        assert_eq!(resolver.lookup_here("lab.other"), None);
    }

    #[test]
    fn loopback_is_known_in_every_spelling() {
        for host in ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "::1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example", "10.0.0.1", "example.org", "[::2]", ""] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
