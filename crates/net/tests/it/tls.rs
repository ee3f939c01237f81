//! https against a server with a certificate of its own: trusted by `ca_file`, and by nothing else.

use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use zdx_net::{Http, NetError};

use crate::talk::{PATIENT, post, said};

/// Answers every connection with the same words.
async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nin private";
    while let Ok((tcp, _)) = listener.accept().await {
        let Ok(mut tls) = acceptor.accept(tcp).await else { continue };
        let mut request = vec![0; 64 * 1024];
        let _ = tls.read(&mut request).await;
        let _ = tls.write_all(answer).await;
        let _ = tls.shutdown().await;
    }
}

#[tokio::test]
async fn a_certificate_of_ones_own_is_trusted_by_ca_file_alone() {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config))));

    let ca_file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ca_file.path(), cert.pem()).unwrap();
    let http = Http::new(PATIENT);
    let url = format!("https://localhost:{port}/v1");
    assert_eq!(said(&http, post(&url, Some(ca_file.path()))).await.unwrap(), "in private");

    // Without it: refused, unless no authority is known on this machine at all. The client that trusts the file is
    // another one, so what it trusts is not trusted by the way.
    match said(&http, post(&url, None)).await {
        Err(NetError::Untrusted { origin, .. }) => assert_eq!(origin, format!("https://localhost:{port}")),
        Err(NetError::NoAuthorities) => {}
        other => panic!("{other:?}"),
    }
    let nowhere = std::path::Path::new("/nowhere/ca.pem");
    let answer = said(&http, post(&url, Some(nowhere))).await;
    assert!(matches!(&answer, Err(NetError::CaFile { path, .. }) if path == nowhere), "{answer:?}");
    server.abort();
}
