//! What a TLS connection trusts. Built only when an https address is first asked: reading the system's
//! certificates takes milliseconds that plain http need not pay.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::NetError;

/// Trusts nobody: for clients that only speak plain http, where reqwest wants a configuration all the same.
pub(crate) fn unused() -> Result<ClientConfig, NetError> {
    config(RootCertStore::empty())
}

#[cfg(test)]
thread_local! {
    /// How often this thread has read the system's certificates.
    pub(crate) static SYSTEM_READS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Trusts the system's authorities and those in `ca_file`.
pub(crate) fn trusting(ca_file: Option<&Path>) -> Result<ClientConfig, NetError> {
    #[cfg(test)]
    SYSTEM_READS.set(SYSTEM_READS.get() + 1);
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        add_file(&mut roots, path)?;
    }
    if roots.is_empty() {
        return Err(NetError::NoAuthorities);
    }
    config(roots)
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), NetError> {
    let bad = |why: String| NetError::CaFile { path: path.to_owned(), why };
    let pem = std::fs::read(path).map_err(|e| bad(e.to_string()))?;
    let mut added = 0;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|e| bad(format!("not readable as PEM: {e}")))?;
        roots.add(certificate).map_err(|e| bad(e.to_string()))?;
        added += 1;
    }
    if added == 0 {
        return Err(bad("holds no certificate in PEM form".to_owned()));
    }
    Ok(())
}

fn config(roots: RootCertStore) -> Result<ClientConfig, NetError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| NetError::Setup(format!("TLS cannot be set up: {e}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_file_that_is_none_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for content in ["", "no pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            std::fs::write(file.path(), content).unwrap();
            let error = trusting(Some(file.path())).unwrap_err().to_string();
            assert!(error.contains(&file.path().display().to_string()), "{content:?}: {error}");
        }
        assert!(trusting(Some(Path::new("/nowhere/ca.pem"))).is_err());
    }
}
